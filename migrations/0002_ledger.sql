-- The dedup ledger: which references have been seen, with what content, and an append-only account of everything that became of them.

-- The two tables that every message writes, dedup_key and ledger_event, have no CHECK and no BRIN index: preparing those for
-- each statement took longer than inserting the row (measured: 120 µs of CPU with them, 47 without). Their only writer is
-- ledger_decide (0004) and the queries beside it.

-- One row a reference. Never partitioned: uniqueness cannot span partitions of a table that is cut by time.
-- The control reference leads the primary key, so that an administrator's search for one uses the same index.
-- Octets that are not printable UTF-8 are escaped by the reader, one to one, so text loses nothing.
-- No foreign key to partner, here and below: its check would lock, and so write, the partner's row for every message.
CREATE TABLE dedup_key (
    control_reference   text COLLATE "C" NOT NULL,
    partner_id          bigint           NOT NULL,
    standard            text COLLATE "C" NOT NULL,
    sender              text COLLATE "C" NOT NULL,
    sender_qualifier    text COLLATE "C" NOT NULL,
    recipient           text COLLATE "C" NOT NULL,
    recipient_qualifier text COLLATE "C" NOT NULL,
    message_types       text[] COLLATE "C" NOT NULL,
    test                boolean          NOT NULL,
    discriminant        text COLLATE "C" NOT NULL, -- by agreement: the interchange's date, or its content, for partners whose references are no keys
    key_id              uuid             NOT NULL, -- stays through every epoch; events and versions point here
    epoch               integer          NOT NULL, -- 1 at first sight, +1 each time the counter wrapped after the window
    raw_hash            bytea            NOT NULL,
    content_hash        bytea            NOT NULL,
    content_version     smallint         NOT NULL, -- of the canonical form behind content_hash
    document_id         uuid             NOT NULL, -- the first copy of this epoch
    first_seen_at       timestamptz      NOT NULL,
    expires_at          timestamptz      NOT NULL, -- copied when armed, never shortened in place; may be infinity
    CONSTRAINT dedup_key_pkey PRIMARY KEY (control_reference, partner_id, standard, sender, sender_qualifier,
        recipient, recipient_qualifier, message_types, test, discriminant)
);

-- Every further content seen under a reference, and what became of it. The content of the current epoch's first copy
-- stands in dedup_key itself, so that an ordinary first copy writes one row.
CREATE TABLE dedup_version (
    key_id          uuid        NOT NULL,
    content_hash    bytea       NOT NULL,
    raw_hash        bytea       NOT NULL,
    content_version smallint    NOT NULL,
    epoch           integer     NOT NULL,
    state           text        NOT NULL,
    document_id     uuid        NOT NULL,
    seen_at         timestamptz NOT NULL,
    CONSTRAINT dedup_version_pkey PRIMARY KEY (key_id, content_hash),
    CONSTRAINT dedup_version_state_check CHECK (state IN ('accepted', 'held', 'released', 'discarded'))
);

-- The account. No foreign key to dedup_key: the account outlives purged keys. No default partition: detaching a month
-- would then need an exclusive lock, so months are made ahead and a missing one is a readiness failure.
CREATE TABLE ledger_event (
    at           timestamptz NOT NULL DEFAULT now(),
    event_id     uuid        NOT NULL,
    partner_id   bigint      NOT NULL,
    kind         text        NOT NULL, -- a verdict, or what was done: repeat, forwarded, stuck, released, …
    key_id       uuid,
    epoch        integer,
    delivery_id  uuid,
    document_id  uuid,                 -- the document concerned: a repeat names the first copy's
    raw_hash     bytea,
    content_hash bytea,
    late         boolean     NOT NULL DEFAULT false, -- a duplicate that came after the window
    node         text        NOT NULL,
    detail       jsonb       NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);

CREATE INDEX ledger_event_key_idx ON ledger_event (key_id, at);
CREATE INDEX ledger_event_delivery_idx ON ledger_event (delivery_id);

-- Append-only, also for the owner of the table. Retention drops whole months.
CREATE FUNCTION ledger_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger_event is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

-- ledger_event_ensure makes the partitions of this month and the given number of months to come; it returns those made. Each
-- is made by itself and then attached, which reads and inserts may go on beside; CREATE … PARTITION OF would wait for every
-- reader, such as a backup, and have every insert wait behind it.
CREATE FUNCTION ledger_event_ensure(ahead integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    month date;
    name  text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ledger_event_ensure'));
    FOR month IN SELECT generate_series(date_trunc('month', now() AT TIME ZONE 'UTC'),
                                        date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead),
                                        interval '1 month')::date LOOP
        name := 'ledger_event_' || to_char(month, 'YYYYMM');
        IF to_regclass(name) IS NULL THEN
            EXECUTE format('CREATE TABLE %I (LIKE ledger_event INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name);
            EXECUTE format('ALTER TABLE ledger_event ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                name, month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
            -- A statement's trigger is not inherited.
            EXECUTE format('CREATE TRIGGER ledger_event_no_truncate BEFORE TRUNCATE ON %I
                FOR EACH STATEMENT EXECUTE FUNCTION ledger_event_refuse()', name);
            RETURN NEXT name;
        END IF;
    END LOOP;
END $$;

SELECT ledger_event_ensure(3);

CREATE TRIGGER ledger_event_append_only BEFORE UPDATE OR DELETE ON ledger_event
    FOR EACH ROW EXECUTE FUNCTION ledger_event_refuse();
CREATE TRIGGER ledger_event_no_truncate BEFORE TRUNCATE ON ledger_event
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_event_refuse();
REVOKE UPDATE, DELETE, TRUNCATE ON ledger_event FROM PUBLIC;
