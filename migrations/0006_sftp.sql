-- Files fetched from partners' SFTP servers.

-- A partner may have AS2, SFTP or both. One without AS2 has empty identifiers; a release that knows AS2 alone passes over it.
ALTER TABLE partner DROP CONSTRAINT partner_as2_id_check, DROP CONSTRAINT partner_station_check;
ALTER TABLE partner
    ADD CONSTRAINT partner_as2_id_check CHECK (as2_id ~ '^[ -~]{0,128}$'),
    ADD CONSTRAINT partner_station_check CHECK (station ~ '^[ -~]{0,128}$'),
    ADD CONSTRAINT partner_as2_check CHECK ((as2_id = '') = (station = ''));
DROP INDEX partner_pair_key;
CREATE UNIQUE INDEX partner_pair_key ON partner (as2_id, station) WHERE removed_at IS NULL AND as2_id <> '';

-- One row a polled partner: who polls it now, when it is due, and what the polls have found.
CREATE TABLE sftp_poll (
    partner_id      bigint      NOT NULL CONSTRAINT sftp_poll_pkey PRIMARY KEY CONSTRAINT sftp_poll_partner_fkey REFERENCES partner (partner_id),
    owner           text        NOT NULL DEFAULT '', -- the node that polled last, or polls now
    fence           bigint      NOT NULL DEFAULT 0,  -- counts leases: what an earlier holder still does is refused
    expires_at      timestamptz NOT NULL DEFAULT '-infinity',
    due_at          timestamptz NOT NULL DEFAULT now(),
    failures        integer     NOT NULL DEFAULT 0,  -- in a row
    last_poll_at    timestamptz,
    last_good_at    timestamptz,
    last_file_at    timestamptz,                     -- committed
    alarmed_on      date,                            -- the last day on which the expected file was missed
    error_kind      text        NOT NULL DEFAULT '', -- of the last poll; empty when it was good
    last_error      text        NOT NULL DEFAULT '',
    listed          integer     NOT NULL DEFAULT 0,  -- entries of the folder
    waiting         integer     NOT NULL DEFAULT 0,  -- of these: not ready yet, or left for the next poll
    oldest_at       timestamptz,                     -- when the oldest of them was first seen
    CONSTRAINT sftp_poll_failures_check CHECK (failures >= 0)
);
CREATE INDEX sftp_poll_due_idx ON sftp_poll (due_at);

-- One row a file version that is in work, or that must be remembered while it lies there. Names are octets.
--   claimed    a node reads it, under a lease
--   incomplete its envelope is not whole: it waits for the rest
--   taken      committed as a delivery; its post-action is due
--   kept       committed, and left in place by agreement
--   refused    never became whole, or is too large: the error folder is due
--   stuck      the server does not let us do what is due
-- A file that has been archived, deleted or put into the error folder has no row: delivery is its account.
CREATE TABLE sftp_file (
    partner_id  bigint      NOT NULL CONSTRAINT sftp_file_poll_fkey REFERENCES sftp_poll (partner_id),
    name        bytea       NOT NULL,
    size        bigint      NOT NULL,
    mtime       bigint      NOT NULL, -- seconds, as the server says
    state       text        NOT NULL,
    owner       text        NOT NULL,
    fence       bigint      NOT NULL, -- of the poll that claimed it
    expires_at  timestamptz NOT NULL, -- of the claim
    delivery_id uuid,
    digest      bytea,                -- SHA-256 of what was taken
    job_id      bigint,               -- the outbox job for what is due, of all files claimed with it
    seen_at     timestamptz NOT NULL DEFAULT now(), -- this version, for the first time
    moved_to    bytea       NOT NULL DEFAULT '',    -- where a post-action under way puts it
    attempts    integer     NOT NULL DEFAULT 0,
    reason      text        NOT NULL DEFAULT '',    -- of incomplete, refused and stuck
    CONSTRAINT sftp_file_pkey PRIMARY KEY (partner_id, name),
    CONSTRAINT sftp_file_name_check CHECK (octet_length(name) BETWEEN 1 AND 1024),
    CONSTRAINT sftp_file_state_check CHECK (state IN ('claimed', 'incomplete', 'taken', 'kept', 'refused', 'stuck')),
    CONSTRAINT sftp_file_delivery_check CHECK (state NOT IN ('taken', 'kept') OR delivery_id IS NOT NULL)
);
-- A job's files; those that are kept in place may be many, and no job asks for them.
CREATE INDEX sftp_file_job_idx ON sftp_file (partner_id, job_id) WHERE state <> 'kept';
