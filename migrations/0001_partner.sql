-- Partners and what was agreed with them. Private keys and passwords are never here: agreements name files.

-- One row a partner. A removed partner keeps its row: the ledger and its account refer to partner_id for ever, and a
-- partner that comes back under its name gets its history back.
CREATE TABLE partner (
    partner_id bigint           NOT NULL GENERATED ALWAYS AS IDENTITY CONSTRAINT partner_pkey PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    as2_id     text COLLATE "C" NOT NULL, -- AS2-From
    station    text COLLATE "C" NOT NULL, -- AS2-To: one of ours
    agreement  jsonb            NOT NULL, -- all terms that have no column or table of their own
    revision   integer          NOT NULL DEFAULT 1,
    created_at timestamptz      NOT NULL DEFAULT now(),
    updated_at timestamptz      NOT NULL DEFAULT now(),
    removed_at timestamptz,
    CONSTRAINT partner_name_key UNIQUE (tenant, name),
    CONSTRAINT partner_tenant_check CHECK (octet_length(tenant) BETWEEN 1 AND 64),
    CONSTRAINT partner_name_check CHECK (octet_length(name) BETWEEN 1 AND 64),
    -- RFC 4130 §6.2: 1 to 128 characters of printable US-ASCII.
    CONSTRAINT partner_as2_id_check CHECK (as2_id ~ '^[ -~]{1,128}$'),
    CONSTRAINT partner_station_check CHECK (station ~ '^[ -~]{1,128}$'),
    CONSTRAINT partner_agreement_check CHECK (jsonb_typeof(agreement) = 'object'),
    CONSTRAINT partner_revision_check CHECK (revision >= 1)
);

-- A message names a pair and nothing else, so among live partners the pair must be one partner's, whatever the tenant.
CREATE UNIQUE INDEX partner_pair_key ON partner (as2_id, station) WHERE removed_at IS NULL;

-- The retry windows. Standard '' is the default of the partner; no seconds is infinity. Zero protects nothing.
CREATE TABLE partner_window (
    partner_id bigint           NOT NULL CONSTRAINT partner_window_partner_fkey REFERENCES partner (partner_id),
    standard   text COLLATE "C" NOT NULL,
    seconds    bigint,
    CONSTRAINT partner_window_pkey PRIMARY KEY (partner_id, standard),
    CONSTRAINT partner_window_standard_check CHECK (octet_length(standard) <= 32),
    CONSTRAINT partner_window_seconds_check CHECK (seconds > 0)
);

-- The pinned certificates. One that is no longer pinned stays, marked: it shows whose signature an old message bore.
CREATE TABLE partner_certificate (
    partner_id  bigint      NOT NULL CONSTRAINT partner_certificate_partner_fkey REFERENCES partner (partner_id),
    fingerprint bytea       NOT NULL, -- SHA-256 of certificate
    certificate bytea       NOT NULL, -- X.509, DER
    uses        text[]      NOT NULL,
    valid_from  timestamptz,          -- as agreed; null: as the certificate says
    valid_until timestamptz,          -- exclusive; null: not agreed, see package partners
    removed_at  timestamptz,
    CONSTRAINT partner_certificate_pkey PRIMARY KEY (partner_id, fingerprint),
    CONSTRAINT partner_certificate_fingerprint_check CHECK (fingerprint = sha256(certificate)),
    CONSTRAINT partner_certificate_size_check CHECK (octet_length(certificate) BETWEEN 1 AND 65536),
    CONSTRAINT partner_certificate_uses_check CHECK (uses <@ ARRAY['verify', 'encrypt'] AND cardinality(uses) > 0),
    CONSTRAINT partner_certificate_validity_check CHECK (valid_from < valid_until)
);

-- Who changed what, and when. The documents hold the whole agreement, certificates by fingerprint.
CREATE TABLE partner_change (
    change_id  bigint           NOT NULL GENERATED ALWAYS AS IDENTITY CONSTRAINT partner_change_pkey PRIMARY KEY,
    at         timestamptz      NOT NULL DEFAULT now(),
    who        text             NOT NULL,
    partner_id bigint           NOT NULL CONSTRAINT partner_change_partner_fkey REFERENCES partner (partner_id),
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    revision   integer          NOT NULL, -- the partner's, after the change
    action     text             NOT NULL,
    before     jsonb,                     -- null: there was none
    after      jsonb,                     -- null: there is none any more
    CONSTRAINT partner_change_who_check CHECK (octet_length(who) BETWEEN 1 AND 256),
    CONSTRAINT partner_change_action_check CHECK (action IN ('created', 'changed', 'removed', 'restored')),
    CONSTRAINT partner_change_documents_check CHECK (
        (before IS NULL) = (action IN ('created', 'restored')) AND (after IS NULL) = (action = 'removed'))
);
CREATE INDEX partner_change_partner_idx ON partner_change (partner_id, change_id);

-- Append-only, also for the owner of the table.
CREATE FUNCTION partner_change_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'partner_change is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER partner_change_append_only BEFORE UPDATE OR DELETE ON partner_change
    FOR EACH ROW EXECUTE FUNCTION partner_change_refuse();
CREATE TRIGGER partner_change_no_truncate BEFORE TRUNCATE ON partner_change
    FOR EACH STATEMENT EXECUTE FUNCTION partner_change_refuse();

-- Running nodes reload when told. By trigger, so that a correction by hand is followed too; the same text twice in a
-- transaction is one notification.
CREATE FUNCTION partner_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('firstcopy_partner', '');
    RETURN NULL;
END $$;
CREATE TRIGGER partner_notify AFTER INSERT OR UPDATE OR DELETE ON partner
    FOR EACH STATEMENT EXECUTE FUNCTION partner_notify();
CREATE TRIGGER partner_window_notify AFTER INSERT OR UPDATE OR DELETE ON partner_window
    FOR EACH STATEMENT EXECUTE FUNCTION partner_notify();
CREATE TRIGGER partner_certificate_notify AFTER INSERT OR UPDATE OR DELETE ON partner_certificate
    FOR EACH STATEMENT EXECUTE FUNCTION partner_notify();
