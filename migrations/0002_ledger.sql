-- The dedup ledger: which references have been seen, with what content, and an append-only account of everything that became of them.

-- The two tables that every message writes, dedup_key and ledger_event, have no CHECK and no BRIN index: preparing those for
-- each statement took longer than inserting the row (measured: 120 µs of CPU with them, 47 without). Their only writer is
-- ledger_register and the queries beside it.

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
    key_id              uuid             NOT NULL, -- stays through every epoch; events and versions point here
    epoch               integer          NOT NULL, -- 1 at first sight, +1 each time the counter wrapped after the window
    raw_hash            bytea            NOT NULL,
    content_hash        bytea            NOT NULL,
    content_version     smallint         NOT NULL, -- of the canonical form behind content_hash
    document_id         uuid             NOT NULL, -- the first copy of this epoch
    first_seen_at       timestamptz      NOT NULL,
    expires_at          timestamptz      NOT NULL, -- copied when armed, never shortened in place; may be infinity
    CONSTRAINT dedup_key_pkey PRIMARY KEY (control_reference, partner_id, standard, sender, sender_qualifier,
        recipient, recipient_qualifier, message_types, test)
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

-- ledger_register decides one copy of an interchange, and writes its event. It is the whole of the ledger's logic:
--
--   first      the reference was unknown; it is armed until now + p_window
--   duplicate  this content, raw or canonical, has been seen under the reference, in whatever epoch
--   reuse      other content, after the window: armed anew, as the next epoch
--   drift      other content, inside the window; recorded as p_drift says
--
-- A duplicate takes no row lock and writes nothing but its event, so a storm of them does not queue up. Where a race is
-- lost, somebody else has committed, and the loop's next statement, at READ COMMITTED, sees the winner's row.
--
-- It runs for every message, so its two common paths take two statements each. It returns NULL for a first copy, whose key
-- and document are the caller's own, and else a named type: OUT parameters would be looked up in the catalogue at every call.
CREATE TYPE ledger_decision AS (verdict text, late boolean, key_id uuid, epoch integer, document_id uuid);

CREATE FUNCTION ledger_register(
    p_partner bigint, p_delivery uuid, p_node text, p_drift text, p_content_version smallint, p_detail jsonb,
    p_control text, p_standard text, p_sender text, p_sender_qualifier text, p_recipient text, p_recipient_qualifier text,
    p_types text[], p_test boolean, p_raw bytea, p_content bytea, p_key uuid, p_document uuid, p_event uuid, p_window interval,
    p_seen boolean -- a guess, which decides nothing but what to try first
) RETURNS ledger_decision LANGUAGE plpgsql AS $$
DECLARE
    seen       boolean := p_seen;
    k          dedup_key%ROWTYPE;
    known      uuid;
    v_verdict  text;
    v_late     boolean := false;
    v_key      uuid := p_key;
    v_epoch    integer := 1;
    v_document uuid := p_document;
BEGIN
    LOOP
        IF NOT seen THEN
            INSERT INTO dedup_key (control_reference, partner_id, standard, sender, sender_qualifier, recipient,
                recipient_qualifier, message_types, test, key_id, epoch, raw_hash, content_hash, content_version, document_id,
                first_seen_at, expires_at)
            VALUES (p_control, p_partner, p_standard, p_sender, p_sender_qualifier, p_recipient, p_recipient_qualifier, p_types,
                p_test, p_key, 1, p_raw, p_content, p_content_version, p_document, now(), coalesce(now() + p_window, 'infinity'))
            ON CONFLICT ON CONSTRAINT dedup_key_pkey DO NOTHING;
            IF FOUND THEN
                v_verdict := 'first';
                EXIT;
            END IF;
        END IF;
        seen := false;

        -- The content of the current epoch again, by far the commonest repetition.
        INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, content_hash,
            late, node, detail)
        SELECT p_event, p_partner, 'duplicate', x.key_id, x.epoch, p_delivery, x.document_id, p_raw, p_content,
            x.expires_at <= now(), p_node, p_detail
        FROM dedup_key x
        WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
          AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
          AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test
          AND (x.raw_hash = p_raw OR x.content_hash = p_content)
        RETURNING late, key_id, epoch, document_id INTO v_late, v_key, v_epoch, v_document;
        IF FOUND THEN
            RETURN ('duplicate'::text, v_late, v_key, v_epoch, v_document);
        END IF;

        v_late := false; v_key := p_key; v_epoch := 1; v_document := p_document; -- RETURNING nothing has cleared them
        SELECT * INTO k FROM dedup_key x
        WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
          AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
          AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test;
        -- Purged in between, or the guess was wrong; or armed with this very content since the statement above looked.
        CONTINUE WHEN NOT FOUND OR k.raw_hash = p_raw OR k.content_hash = p_content;

        SELECT v.document_id INTO known FROM dedup_version v
        WHERE v.key_id = k.key_id AND (v.content_hash = p_content OR v.raw_hash = p_raw) ORDER BY v.seen_at LIMIT 1;
        IF FOUND THEN
            v_verdict := 'duplicate'; v_late := k.expires_at <= now(); v_key := k.key_id; v_epoch := k.epoch; v_document := known;
            EXIT;
        END IF;

        IF k.expires_at <= now() THEN
            UPDATE dedup_key x SET epoch = k.epoch + 1, raw_hash = p_raw, content_hash = p_content,
                content_version = p_content_version, document_id = p_document, first_seen_at = now(),
                expires_at = coalesce(now() + p_window, 'infinity')
            WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
              AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
              AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test
              AND x.epoch = k.epoch; -- compare and swap: of several copies one arms the next epoch
            CONTINUE WHEN NOT FOUND;
            INSERT INTO dedup_version (key_id, content_hash, raw_hash, content_version, epoch, state, document_id, seen_at)
            VALUES (k.key_id, k.content_hash, k.raw_hash, k.content_version, k.epoch, 'accepted', k.document_id, k.first_seen_at)
            ON CONFLICT ON CONSTRAINT dedup_version_pkey DO NOTHING;
            v_verdict := 'reuse'; v_key := k.key_id; v_epoch := k.epoch + 1;
            EXIT;
        END IF;

        INSERT INTO dedup_version (key_id, content_hash, raw_hash, content_version, epoch, state, document_id, seen_at)
        VALUES (k.key_id, p_content, p_raw, p_content_version, k.epoch, p_drift, p_document, now())
        ON CONFLICT ON CONSTRAINT dedup_version_pkey DO NOTHING;
        CONTINUE WHEN NOT FOUND; -- another copy of the same drift has just been recorded
        v_verdict := 'drift'; v_key := k.key_id; v_epoch := k.epoch;
        EXIT;
    END LOOP;

    INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, content_hash, late, node, detail)
    VALUES (p_event, p_partner, v_verdict, v_key, v_epoch, p_delivery, v_document, p_raw, p_content, v_late, p_node, p_detail);
    IF v_verdict = 'first' THEN
        RETURN NULL;
    END IF;
    RETURN (v_verdict, v_late, v_key, v_epoch, v_document);
END $$;
