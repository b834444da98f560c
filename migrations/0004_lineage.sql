-- Documents beyond their interchanges: which replaces, changes or cancels which, in what order, and what came too late.

-- How a document's interchange relates to what came before; null where it does not.
ALTER TABLE document ADD COLUMN lineage jsonb;

-- One row for each time that a document number was used, by the document itself or by one that replaces, changes or cancels
-- it under a number of its own. Rows are never purged with their reference: an old replay must not look new.
-- Row 1 of a number is what transactions lock; where nothing of the number was known when it was locked, it is reserved and
-- holds nothing. The number leads the primary key, so that an administrator's search for one uses the same index.
CREATE TABLE document_lineage (
    number           text COLLATE "C" NOT NULL,
    partner_id       bigint           NOT NULL,
    standard         text COLLATE "C" NOT NULL,
    family           text COLLATE "C" NOT NULL, -- kind of document: an order and its changes are one
    sender           text COLLATE "C" NOT NULL, -- whoever gave the number
    recipient        text COLLATE "C" NOT NULL, -- some number by recipient
    test             boolean          NOT NULL,
    seq              integer          NOT NULL, -- order of arrival
    relation         text             NOT NULL, -- what it was to those before it
    rank             integer,                   -- n: it became the n-th newest; 0: forwarded, but never the newest; null: not forwarded
    by_number        text COLLATE "C" NOT NULL, -- of the document that says this of number; empty if that is number itself
    effect           text             NOT NULL,
    function         text             NOT NULL,
    revision         text             NOT NULL, -- as written
    document_date    text COLLATE "C" NOT NULL, -- digits, YYYYMMDD and as much of HHMMSS as there was
    interchange_time text COLLATE "C" NOT NULL, -- likewise
    digest           bytea,
    document_id      uuid,
    place            integer          NOT NULL, -- of the message in its interchange, from 1
    seen_at          timestamptz      NOT NULL,
    CONSTRAINT document_lineage_pkey PRIMARY KEY (number, partner_id, standard, family, sender, recipient, test, seq)
);
CREATE INDEX document_lineage_document_idx ON document_lineage (document_id, place);

-- A document number with all that it is unique within, below a partner.
CREATE TYPE lineage_name AS (number text COLLATE "C", standard text COLLATE "C", family text COLLATE "C", sender text COLLATE "C",
    recipient text COLLATE "C", test boolean);

-- lineage_compare orders two documents: 1 if a is newer than b, -1 if it is older, 0 if nothing tells. Declared versions come
-- first, where both are numbers (1056 is free text), then the documents' dates, then their interchanges' times; what one of
-- two dates lacks in precision is not compared.
CREATE FUNCTION lineage_compare(a_revision text, a_date text, a_time text, b_revision text, b_date text, b_time text)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        nullif(CASE WHEN a_revision ~ '^[0-9]{1,18}$' AND b_revision ~ '^[0-9]{1,18}$'
               THEN sign(a_revision::bigint - b_revision::bigint)::integer END, 0),
        nullif(CASE WHEN a_date <> '' AND b_date <> '' THEN
            (left(a_date, least(length(a_date), length(b_date))) > left(b_date, least(length(a_date), length(b_date))))::integer
          - (left(a_date, least(length(a_date), length(b_date))) < left(b_date, least(length(a_date), length(b_date))))::integer END, 0),
        CASE WHEN a_time <> '' AND b_time <> '' THEN
            (left(a_time, least(length(a_time), length(b_time))) > left(b_time, least(length(a_time), length(b_time))))::integer
          - (left(a_time, least(length(a_time), length(b_time))) < left(b_time, least(length(a_time), length(b_time))))::integer END,
        0)
$$;

-- lineage_lock locks document numbers until the transaction ends, known or not: first it reserves those that are unknown,
-- then it locks those that are there, each in one order for everybody. Nobody inserts while it holds a lock of the second
-- kind, so transactions that lock all they need at once cannot wait for one another in a circle.
CREATE FUNCTION lineage_lock(p_partner bigint, p_names lineage_name[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_name lineage_name;
BEGIN
    INSERT INTO document_lineage (number, partner_id, standard, family, sender, recipient, test, seq, relation, by_number, effect,
        function, revision, document_date, interchange_time, place, seen_at)
    SELECT (n.name).number, p_partner, (n.name).standard, (n.name).family, (n.name).sender, (n.name).recipient, (n.name).test, 1, 'reserved',
        '', '', '', '', '', '', 0, now()
    FROM (SELECT DISTINCT unnest(p_names) AS name) n ORDER BY n.name
    ON CONFLICT ON CONSTRAINT document_lineage_pkey DO NOTHING;
    FOR v_name IN SELECT (n.name).* FROM (SELECT DISTINCT unnest(p_names) AS name) n ORDER BY n.name LOOP
        PERFORM FROM document_lineage x
        WHERE x.number = v_name.number AND x.partner_id = p_partner AND x.standard = v_name.standard AND x.family = v_name.family
          AND x.sender = v_name.sender AND x.recipient = v_name.recipient AND x.test = v_name.test AND x.seq = 1 FOR UPDATE;
    END LOOP;
END $$;

-- lineage_of lists what is known of a number, the last thousand: one that is used more often is none.
CREATE FUNCTION lineage_of(p_partner bigint, p_name lineage_name) RETURNS SETOF document_lineage LANGUAGE sql STABLE AS $$
    SELECT * FROM document_lineage x
    WHERE x.number = p_name.number AND x.partner_id = p_partner AND x.standard = p_name.standard AND x.family = p_name.family
      AND x.sender = p_name.sender AND x.recipient = p_name.recipient AND x.test = p_name.test
    ORDER BY x.seq DESC LIMIT 1000
$$;

-- lineage_about lists the numbers that a document is about: its own first, those that it names, and those that the documents of
-- any of these have named in turn (remote), so that whatever comes late finds the end of its chain. It looks each of them up by
-- itself: as one statement with joins it could be planned to read the whole table.
CREATE FUNCTION lineage_about(p_partner bigint, p_own lineage_name, p_targets jsonb)
RETURNS TABLE (name lineage_name, remote boolean) LANGUAGE plpgsql AS $$
DECLARE
    v_named lineage_name[] := ARRAY[p_own];
    v_all   lineage_name[];
    n       lineage_name;
    t       jsonb;
    x       record;
    y       record;
BEGIN
    name := p_own; remote := false;
    RETURN NEXT;
    IF p_targets IS NULL THEN
        RETURN;
    END IF;
    FOR t IN SELECT * FROM jsonb_array_elements(p_targets) LOOP
        name := (t->>'number', p_own.standard, t->>'family', p_own.sender, p_own.recipient, p_own.test);
        IF name <> ALL (v_named) THEN
            v_named := array_append(v_named, name);
            RETURN NEXT;
        END IF;
    END LOOP;
    v_all := v_named; remote := true;
    FOREACH n IN ARRAY v_named LOOP
        FOR x IN SELECT o.document_id, o.place FROM lineage_of(p_partner, n) o WHERE o.by_number = '' AND o.document_id IS NOT NULL LOOP
            FOR y IN SELECT * FROM document_lineage l WHERE l.document_id = x.document_id AND l.place = x.place AND l.by_number <> '' LOOP
                name := (y.number, y.standard, y.family, y.sender, y.recipient, y.test);
                IF name <> ALL (v_all) THEN
                    v_all := array_append(v_all, name);
                    RETURN NEXT;
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

-- lineage_names lists the numbers that all documents of an interchange are about.
CREATE FUNCTION lineage_names(p_partner bigint, p_standard text, p_sender text, p_recipient text, p_test boolean, p_lineage jsonb)
RETURNS lineage_name[] LANGUAGE plpgsql AS $$
DECLARE
    v_names lineage_name[] := '{}';
    d       jsonb;
    a       record;
BEGIN
    FOR d IN SELECT * FROM jsonb_array_elements(p_lineage->'documents') LOOP
        FOR a IN SELECT * FROM lineage_about(p_partner, (d->>'number', p_standard, d->>'family', p_sender, p_recipient, p_test)::lineage_name,
            CASE WHEN d->>'effect' IN ('supersede', 'delta', 'cancel') THEN coalesce(d->'targets', '[]') END)
        LOOP
            v_names := array_append(v_names, a.name);
        END LOOP;
    END LOOP;
    RETURN v_names;
END $$;

-- lineage_weigh does what lineage_judge is for, where there is something to weigh; so many rows are written already. It takes
-- half a millisecond a document, so of a larger interchange a thousand are weighed, and the flag not_compared tells of the rest.
CREATE FUNCTION lineage_weigh(p_partner bigint, p_standard text, p_sender text, p_recipient text, p_test boolean, p_document uuid,
    p_lineage jsonb, p_written integer) RETURNS jsonb LANGUAGE plpgsql
SET enable_seqscan = off -- plans are kept, and one that was made for a small table must not be
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sent     text := p_lineage->>'sent';
    v_flags    text[] := ARRAY(SELECT jsonb_array_elements_text(p_lineage->'flags'));
    v_weighed  jsonb; -- the documents that are
    v_names    lineage_name[];
    v_locked   jsonb; -- the names' texts
    v_told     jsonb := '[]'; -- of the documents that are not plain originals
    v_heads    jsonb[]; -- what is superseded, of all documents
    v_stale    text[];
    n_stale    integer := 0; n_same integer := 0; n_copy integer := 0; n_amends integer := 0; n_claims integer := 0;
    m          record;
    v_own      lineage_name;
    v_name     lineage_name;
    v_digest   bytea;
    head       document_lineage%ROWTYPE;
    v_relation text;
    v_rank     boolean; -- it becomes the newest
    v_order    integer;
    v_about    jsonb;   -- the heads that this document supersedes
    v_known    boolean; -- there are some
    v_amended  boolean; v_before boolean; v_based boolean;
BEGIN
    v_weighed := (SELECT jsonb_agg(w.d) FROM (
        SELECT d FROM jsonb_array_elements(p_lineage->'documents') d
        WHERE p_written = 0 OR NOT EXISTS (SELECT FROM document_lineage x WHERE x.document_id = p_document AND x.place = (d->>'place')::integer)
        LIMIT 1000) w);
    IF jsonb_array_length(v_weighed) + p_written < jsonb_array_length(p_lineage->'documents') THEN
        v_flags := v_flags || 'not_compared'::text;
    END IF;
    v_names := lineage_names(p_partner, p_standard, p_sender, p_recipient, p_test, jsonb_build_object('documents', v_weighed));
    PERFORM lineage_lock(p_partner, v_names);
    v_locked := (SELECT jsonb_object_agg(n::text, true) FROM unnest(v_names) n);

    FOR m IN SELECT * FROM jsonb_to_recordset(v_weighed) AS d(number text, family text, revision text, date text,
        effect text, function text, digest text, place integer, targets jsonb) ORDER BY d.place
    LOOP
        v_own := (m.number, p_standard, m.family, p_sender, p_recipient, p_test);
        v_digest := decode(m.digest, 'hex');
        v_rank := true; v_known := false; v_about := '[]';
        SELECT * INTO head FROM lineage_of(p_partner, v_own) x WHERE x.rank IS NOT NULL ORDER BY x.rank DESC, x.seq DESC LIMIT 1;
        SELECT coalesce(bool_or(x.effect IN ('supersede', 'cancel')), false), coalesce(bool_or(x.digest = v_digest AND x.by_number = ''), false),
            coalesce(bool_or(x.effect <> 'delta'), false)
        INTO v_amended, v_before, v_based FROM lineage_of(p_partner, v_own) x WHERE x.rank IS NOT NULL;

        IF m.effect NOT IN ('supersede', 'delta', 'cancel') THEN
            -- An interchange that is built anew has a new time, so it makes no original newer.
            v_order := lineage_compare(m.revision, m.date, '', CASE head.by_number WHEN '' THEN head.revision ELSE '' END, head.document_date, '');
            v_relation := 'original';
            IF head.number IS NULL THEN
                NULL;
            ELSIF m.effect = 'none' THEN
                -- Numbers begin anew, so a copy is one of the same content, or of the same date; it says so itself of the rest.
                v_rank := false;
                IF v_before OR m.date <> '' AND EXISTS (
                    SELECT FROM lineage_of(p_partner, v_own) x
                    WHERE x.rank IS NOT NULL AND x.by_number = '' AND x.effect <> 'cancel' AND x.document_date <> ''
                      AND lineage_compare(m.revision, m.date, '', x.revision, x.document_date, '') = 0)
                THEN
                    v_relation := 'copy';
                ELSIF v_amended AND v_order <= 0 THEN
                    v_relation := 'stale';
                ELSE
                    v_rank := v_order > 0; -- flagged as a copy of what never came
                END IF;
            ELSIF head.digest = v_digest THEN
                v_relation := 'same'; v_rank := false;
            ELSIF m.effect = '' AND m.function <> '' AND NOT v_before THEN
                v_rank := v_order >= 0; -- a function that nobody knows: it is flagged, and never held for it
            ELSIF v_before OR v_amended AND v_order <= 0 THEN
                v_relation := 'stale'; v_rank := false; -- superseded on arrival
            ELSIF NOT v_based THEN
                v_rank := false; -- only changes to it are here yet
                v_flags := v_flags || 'out_of_order'::text;
            ELSIF m.effect <> 'response' THEN
                v_rank := v_order >= 0;
                v_flags := v_flags || 'number_reused'::text;
            END IF;
        ELSIF m.effect <> 'delta' AND head.digest = v_digest THEN
            v_relation := 'same'; v_rank := false;
        ELSIF m.effect <> 'delta' AND v_before THEN
            v_relation := 'stale'; v_rank := false;
        ELSE
            v_relation := CASE m.effect WHEN 'supersede' THEN 'supersedes' WHEN 'delta' THEN 'changes' ELSE 'cancels' END;
            FOR v_name IN SELECT (a.name).* FROM lineage_about(p_partner, v_own, coalesce(m.targets, '[]')) a
                WHERE NOT a.remote OR v_locked ? a.name::text
            LOOP
                SELECT * INTO head FROM lineage_of(p_partner, v_name) x WHERE x.rank IS NOT NULL
                ORDER BY m.effect = 'delta' AND x.effect IN ('supersede', 'cancel') DESC, x.rank DESC, x.seq DESC LIMIT 1;
                CONTINUE WHEN NOT FOUND;
                v_known := true;
                -- A revision counts the versions of one number.
                v_order := lineage_compare(
                    CASE WHEN coalesce(nullif(head.by_number, ''), head.number) = m.number THEN m.revision ELSE '' END, m.date, v_sent,
                    head.revision, head.document_date, head.interchange_time);
                IF v_order < 0 AND m.effect = 'delta' AND head.effect NOT IN ('supersede', 'cancel') THEN
                    v_rank := false; -- changes are never dropped for their order
                    v_flags := v_flags || 'out_of_order'::text;
                ELSIF v_order < 0 THEN
                    v_relation := 'stale'; v_rank := false; v_about := '[]';
                    EXIT;
                END IF;
                IF head.effect = 'cancel' AND m.effect <> 'cancel' THEN
                    v_flags := v_flags || 'after_cancel'::text;
                END IF;
                IF head.document_id <> p_document THEN
                    v_about := v_about || jsonb_build_object('document_id', head.document_id,
                        'number', coalesce(nullif(head.by_number, ''), head.number));
                END IF;
            END LOOP;
        END IF;

        FOR v_name IN SELECT (a.name).* FROM lineage_about(p_partner, v_own,
            CASE WHEN m.effect IN ('supersede', 'delta', 'cancel') THEN coalesce(m.targets, '[]') END) a
            WHERE NOT a.remote OR v_locked ? a.name::text
        LOOP
            INSERT INTO document_lineage (number, partner_id, standard, family, sender, recipient, test, seq, relation, rank, by_number,
                effect, function, revision, document_date, interchange_time, digest, document_id, place, seen_at)
            SELECT v_name.number, p_partner, v_name.standard, v_name.family, v_name.sender, v_name.recipient, v_name.test, max(x.seq) + 1,
                v_relation, CASE WHEN v_rank THEN coalesce(max(x.rank), 0) + 1 ELSE 0 END, CASE v_name WHEN v_own THEN '' ELSE m.number END,
                m.effect, m.function, m.revision, m.date, v_sent, v_digest, p_document, m.place, now()
            FROM lineage_of(p_partner, v_name) x;
        END LOOP;

        CASE v_relation
        WHEN 'stale' THEN n_stale := n_stale + 1; v_stale := v_stale || m.number;
        WHEN 'same' THEN n_same := n_same + 1; v_flags := v_flags || 'same_document'::text;
        WHEN 'copy' THEN n_copy := n_copy + 1; v_flags := v_flags || 'copy'::text;
        WHEN 'original' THEN
            IF m.effect = 'none' THEN
                v_flags := v_flags || 'copy_of_unknown'::text;
            END IF;
        ELSE
            n_claims := n_claims + 1;
            IF NOT v_known THEN
                v_flags := v_flags || 'target_unknown'::text;
            ELSIF v_about <> '[]' THEN
                n_amends := n_amends + 1;
                v_heads := v_heads || ARRAY(SELECT jsonb_array_elements(v_about));
            END IF;
        END CASE;
        IF v_relation <> 'original' AND jsonb_array_length(v_told) < 100 THEN
            v_told := v_told || jsonb_strip_nulls(jsonb_build_object('number', m.number, 'relation', v_relation, 'function', nullif(m.function, ''),
                'supersedes', nullif(v_about, '[]')));
        END IF;
    END LOOP;

    RETURN jsonb_build_object('documents', v_told, 'stale', to_jsonb(coalesce(v_stale, '{}')),
        'supersedes', (SELECT coalesce(jsonb_agg(h), '[]') FROM (SELECT DISTINCT unnest(v_heads) AS h LIMIT 1000) d),
        'flags', to_jsonb(ARRAY(SELECT DISTINCT unnest(v_flags) ORDER BY 1)),
        'counts', jsonb_build_object('stale', n_stale, 'same', n_same, 'copy', n_copy, 'amends', n_amends, 'claims', n_claims,
            'all', jsonb_array_length(p_lineage->'documents') + (p_lineage->>'others')::integer));
END $$;

-- lineage_judge tells what each document of an interchange is to those known before, and writes its rows as if the interchange
-- were forwarded; ledger_decide takes them back otherwise. p_lineage is what package dedup makes of the messages:
--   documents  number, family, revision, date, effect, function, digest, place, and targets: names of predecessors
--   plain      none of them supersedes, changes, cancels or repeats
--   others     how many messages take no part, having no number or no effect
--   sent       the interchange's time
--   flags      what is to be told whatever comes out
--   reserved   the payload has been given to lineage_reserve
-- It returns NULL for originals of which nothing is to be told, else what dedup.Lineage holds, and beside it counts.
--
-- Relations: original (nothing newer is known), supersedes, changes, cancels (of what is known, or flagged), same (the very
-- document that is the newest), copy (says so itself, of a known one), stale (older than what has been forwarded).
--
-- Originals of unknown numbers, by far the most, take one statement, and single ones a simple one.
CREATE FUNCTION lineage_judge(p_partner bigint, p_standard text, p_sender text, p_recipient text, p_test boolean, p_document uuid,
    p_lineage jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    d         jsonb := p_lineage#>'{documents,0}';
    v_all     integer := jsonb_array_length(p_lineage->'documents');
    v_written integer := 0;
BEGIN
    IF (p_lineage->>'plain')::boolean THEN
        IF p_lineage ? 'reserved' THEN
            NULL; -- lineage_reserve has written what could be
        ELSIF v_all = 1 THEN
            INSERT INTO document_lineage (number, partner_id, standard, family, sender, recipient, test, seq, relation, rank, by_number,
                effect, function, revision, document_date, interchange_time, digest, document_id, place, seen_at)
            VALUES (d->>'number', p_partner, p_standard, d->>'family', p_sender, p_recipient, p_test, 1, 'original', 1, '',
                d->>'effect', d->>'function', d->>'revision', d->>'date', p_lineage->>'sent', decode(d->>'digest', 'hex'), p_document,
                (d->>'place')::integer, now())
            ON CONFLICT ON CONSTRAINT document_lineage_pkey DO NOTHING;
        ELSE
            INSERT INTO document_lineage (number, partner_id, standard, family, sender, recipient, test, seq, relation, rank, by_number,
                effect, function, revision, document_date, interchange_time, digest, document_id, place, seen_at)
            SELECT DISTINCT ON (r.number, r.family) r.number, p_partner, p_standard, r.family, p_sender, p_recipient, p_test, 1, 'original',
                1, '', r.effect, r.function, r.revision, r.date, p_lineage->>'sent', decode(r.digest, 'hex'), p_document, r.place, now()
            FROM jsonb_to_recordset(p_lineage->'documents') AS r(number text COLLATE "C", family text COLLATE "C", revision text,
                date text, effect text, function text, digest text, place integer)
            ORDER BY r.number, r.family, r.place
            ON CONFLICT ON CONSTRAINT document_lineage_pkey DO NOTHING;
        END IF;
        GET DIAGNOSTICS v_written = ROW_COUNT;
        IF p_lineage ? 'reserved' THEN
            v_written := (SELECT count(*) FROM document_lineage x WHERE x.document_id = p_document);
        END IF;
        IF v_written = v_all THEN
            RETURN CASE WHEN p_lineage ? 'flags' THEN jsonb_build_object('flags', p_lineage->'flags') END;
        END IF;
    END IF;
    RETURN lineage_weigh(p_partner, p_standard, p_sender, p_recipient, p_test, p_document, p_lineage, v_written);
END $$;

-- lineage_verdict is what documents make of an interchange as a whole; NULL leaves it to the reference. One that brings anything
-- new is forwarded with all that is in it.
CREATE FUNCTION lineage_verdict(l jsonb, p_lineage jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    n_stale integer := l#>>'{counts,stale}';
    n_known integer := (l#>>'{counts,copy}')::integer + CASE WHEN p_lineage->>'same' = 'accepted' THEN 0 ELSE (l#>>'{counts,same}')::integer END;
BEGIN
    RETURN CASE
        WHEN l->'counts' IS NULL THEN NULL
        WHEN n_stale + n_known = (l#>>'{counts,all}')::integer THEN CASE WHEN n_stale > 0 THEN 'stale' ELSE 'duplicate' END
        WHEN (l#>>'{counts,amends}')::integer > 0 THEN 'amendment'
    END;
END $$;

-- lineage_state is what becomes of an interchange that is stale, or a duplicate by its documents. What says of itself that it
-- is a copy is nothing to decide about.
CREATE FUNCTION lineage_state(l jsonb, p_lineage jsonb, p_verdict text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_verdict = 'stale' THEN p_lineage->>'stale'
                WHEN (l#>>'{counts,same}')::integer > 0 THEN p_lineage->>'same' ELSE 'discarded' END
$$;

-- lineage_accept makes a document that was not forwarded the newest of its numbers: an administrator has released it.
CREATE FUNCTION lineage_accept(p_document uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l      record;
    v_name lineage_name;
BEGIN
    FOR l IN SELECT * FROM document_lineage x WHERE x.document_id = p_document AND x.rank IS NULL
        ORDER BY x.number COLLATE "C", x.standard, x.family, x.sender, x.recipient, x.test, x.seq
    LOOP
        v_name := (l.number, l.standard, l.family, l.sender, l.recipient, l.test);
        PERFORM lineage_lock(l.partner_id, ARRAY[v_name]);
        UPDATE document_lineage x SET rank = (SELECT coalesce(max(y.rank), 0) + 1 FROM lineage_of(l.partner_id, v_name) y)
        WHERE x.document_id = p_document AND x.seq = l.seq AND (x.number, x.standard, x.family, x.sender, x.recipient, x.test)::lineage_name = v_name;
    END LOOP;
END $$;

-- lineage_reserve locks what several interchanges are about, at once and before any of them is decided, so that payloads which
-- share some cannot wait for one another in a circle: their document numbers, and, since they are then decided in the order of
-- the payload, their references, in a few lots for each partner, which such payloads alone take. Copies of known content need
-- neither: they will be duplicates.
--
-- A plain original of a number that nothing else in the payload is about is written here as lineage_judge would write it, which
-- finds it: one statement for thousands. All numbers are inserted in one order, those that are written and those that are locked.
CREATE FUNCTION lineage_reserve(p_partner bigint, p_entries jsonb) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_plain jsonb[] := '{}';
    v_names lineage_name[] := '{}';
    v_lots  bigint[] := '{}';
    v_name  lineage_name;
    e       record;
BEGIN
    FOR e IN SELECT * FROM jsonb_to_recordset(p_entries) AS r(document uuid, control text, standard text, sender text, sender_qualifier text,
        recipient text, recipient_qualifier text, types text[], test boolean, discriminant text, raw text, content text, lineage jsonb)
    LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM dedup_key k
            WHERE k.control_reference = e.control AND k.partner_id = p_partner AND k.standard = e.standard AND k.sender = e.sender
              AND k.sender_qualifier = e.sender_qualifier AND k.recipient = e.recipient AND k.recipient_qualifier = e.recipient_qualifier
              AND k.message_types = e.types AND k.test = e.test AND k.discriminant = e.discriminant
              AND (k.raw_hash = decode(e.raw, 'hex') OR k.content_hash = decode(e.content, 'hex') OR EXISTS (
                SELECT FROM dedup_version v WHERE v.key_id = k.key_id
                AND (v.raw_hash = decode(e.raw, 'hex') OR v.content_hash = decode(e.content, 'hex')))));
        v_lots := array_append(v_lots, hashtextextended('reference', p_partner) + (hashtextextended(e.control, 0) & 31));
        IF (e.lineage->>'plain')::boolean THEN
            v_plain := array_append(v_plain, jsonb_build_object('document', e.document, 'standard', e.standard, 'sender', e.sender,
                'recipient', e.recipient, 'test', e.test, 'lineage', e.lineage));
        ELSE
            FOREACH v_name IN ARRAY lineage_names(p_partner, e.standard, e.sender, e.recipient, e.test, e.lineage) LOOP
                v_names := array_append(v_names, v_name);
            END LOOP;
        END IF;
    END LOOP;
    PERFORM pg_advisory_xact_lock(lot) FROM (SELECT DISTINCT unnest(v_lots) AS lot ORDER BY 1) l;

    WITH plain AS (
        SELECT (d.number, p->>'standard', d.family, p->>'sender', p->>'recipient', (p->>'test')::boolean)::lineage_name AS name,
            d.effect, d.function, d.revision, d.date, p#>>'{lineage,sent}' AS sent, d.digest, (p->>'document')::uuid AS document, d.place
        FROM unnest(v_plain) p, jsonb_to_recordset(p#>'{lineage,documents}') AS d(number text, family text, effect text, function text,
            revision text, date text, digest text, place integer)
    ), named AS (
        SELECT n.name, count(*) = 1 AND bool_and(n.plain) AS alone
        FROM (SELECT name, true AS plain FROM plain UNION ALL SELECT unnest(v_names), false) n GROUP BY n.name
    ), wanted AS (
        SELECT n.name, p.effect, p.function, p.revision, p.date, p.sent, p.digest, p.document, p.place
        FROM named n LEFT JOIN plain p ON p.name = n.name AND n.alone
    ), written AS (
        INSERT INTO document_lineage (number, partner_id, standard, family, sender, recipient, test, seq, relation, rank, by_number, effect,
            function, revision, document_date, interchange_time, digest, document_id, place, seen_at)
        SELECT (w.name).number, p_partner, (w.name).standard, (w.name).family, (w.name).sender, (w.name).recipient, (w.name).test, 1,
            CASE WHEN w.document IS NULL THEN 'reserved' ELSE 'original' END, CASE WHEN w.document IS NOT NULL THEN 1 END, '',
            coalesce(w.effect, ''), coalesce(w.function, ''), coalesce(w.revision, ''), coalesce(w.date, ''), coalesce(w.sent, ''),
            decode(w.digest, 'hex'), w.document, coalesce(w.place, 0), now()
        FROM wanted w ORDER BY w.name
        ON CONFLICT ON CONSTRAINT document_lineage_pkey DO NOTHING
        RETURNING (number, standard, family, sender, recipient, test)::lineage_name AS name
    )
    SELECT array_agg(n.name) INTO v_names FROM named n WHERE NOT EXISTS (SELECT FROM written w WHERE w.name = n.name);
    PERFORM lineage_lock(p_partner, v_names); -- those that are known
END $$;

-- ledger_decide decides one copy of an interchange, and writes its event. It is the whole of the ledger's logic:
--
--   first      the reference was unknown; it is armed until now + p_window
--   duplicate  this content, raw or canonical, has been seen under the reference, in whatever epoch
--   reuse      other content, after the window: armed anew, as the next epoch
--   drift      other content, inside the window; recorded as p_drift says
--
-- and, where an interchange has numbered documents (p_lineage, see lineage_judge):
--
--   amendment  the reference was unknown, or known with other content, and documents supersede, change or cancel what is known
--   stale      all its documents are older than what has been forwarded of theirs
--   duplicate  also: all its documents are known, or say that they are copies of what is known, and agreed not to be forwarded
--
-- A duplicate takes no row lock and writes nothing but its event, so a storm of them does not queue up. Where a race is
-- lost, somebody else has committed, and the loop's next statement, at READ COMMITTED, sees the winner's row. Document numbers
-- are locked before references, so that every transaction takes locks in one order; a known reference is looked at first.
--
-- It runs for every message, so its two common paths take two statements each. It returns NULL for a first copy of which
-- nothing is to be told, and else words: verdict, late, key, epoch, document, state of the document, and its lineage as JSON or
-- nothing. OUT parameters would be looked up in the catalogue at every call.
CREATE FUNCTION ledger_decide(
    p_partner bigint, p_delivery uuid, p_node text, p_drift text, p_content_version smallint, p_detail jsonb,
    p_control text, p_standard text, p_sender text, p_sender_qualifier text, p_recipient text, p_recipient_qualifier text,
    p_types text[], p_test boolean, p_discriminant text, p_raw bytea, p_content bytea, p_key uuid, p_document uuid, p_event uuid,
    p_window interval, p_seen boolean, p_lineage jsonb
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    seen       boolean := p_seen;
    judged     boolean := p_lineage IS NULL;
    l          jsonb;            -- what lineage_judge said
    ruled      text := NULL;     -- the verdict that documents make: stale, duplicate, amendment
    k          dedup_key%ROWTYPE;
    known      uuid;
    v_verdict  text;
    v_state    text := 'accepted';
    v_late     boolean := false;
    v_key      uuid := p_key;
    v_epoch    integer := 1;
    v_document uuid := p_document;
BEGIN
    IF NOT seen AND NOT judged THEN
        seen := EXISTS (
            SELECT FROM dedup_key x
            WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
              AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
              AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test
              AND x.discriminant = p_discriminant);
    END IF;
    LOOP
        IF NOT seen THEN
            IF NOT judged THEN
                l := lineage_judge(p_partner, p_standard, p_sender, p_recipient, p_test, p_document, p_lineage);
                ruled := CASE WHEN l IS NOT NULL THEN lineage_verdict(l, p_lineage) END;
                judged := true;
            END IF;
            INSERT INTO dedup_key (control_reference, partner_id, standard, sender, sender_qualifier, recipient,
                recipient_qualifier, message_types, test, discriminant, key_id, epoch, raw_hash, content_hash, content_version,
                document_id, first_seen_at, expires_at)
            VALUES (p_control, p_partner, p_standard, p_sender, p_sender_qualifier, p_recipient, p_recipient_qualifier, p_types,
                p_test, p_discriminant, p_key, 1, p_raw, p_content, p_content_version, p_document, now(),
                coalesce(now() + p_window, 'infinity'))
            ON CONFLICT ON CONSTRAINT dedup_key_pkey DO NOTHING;
            IF FOUND THEN
                v_verdict := coalesce(ruled, 'first');
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
          AND x.discriminant = p_discriminant AND (x.raw_hash = p_raw OR x.content_hash = p_content)
        RETURNING late, key_id, epoch, document_id INTO v_late, v_key, v_epoch, v_document;
        IF FOUND THEN
            IF p_lineage IS NOT NULL AND (judged OR p_lineage ? 'reserved') THEN -- a race was lost, and its winner's documents are these
                DELETE FROM document_lineage x WHERE x.document_id = p_document;
            END IF;
            RETURN concat_ws(' ', 'duplicate', v_late, v_key, v_epoch, v_document, 'accepted');
        END IF;

        v_late := false; v_key := p_key; v_epoch := 1; v_document := p_document; -- RETURNING nothing has cleared them
        SELECT * INTO k FROM dedup_key x
        WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
          AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
          AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test
          AND x.discriminant = p_discriminant;
        -- Purged in between, or the guess was wrong; or armed with this very content since the statement above looked.
        CONTINUE WHEN NOT FOUND OR k.raw_hash = p_raw OR k.content_hash = p_content;

        SELECT v.document_id INTO known FROM dedup_version v
        WHERE v.key_id = k.key_id AND (v.content_hash = p_content OR v.raw_hash = p_raw) ORDER BY v.seen_at LIMIT 1;
        IF FOUND THEN
            v_verdict := 'duplicate'; v_late := k.expires_at <= now(); v_key := k.key_id; v_epoch := k.epoch; v_document := known;
            IF p_lineage IS NOT NULL AND (judged OR p_lineage ? 'reserved') THEN
                DELETE FROM document_lineage x WHERE x.document_id = p_document;
                l := NULL; ruled := NULL;
            END IF;
            EXIT;
        END IF;

        IF NOT judged THEN
            l := lineage_judge(p_partner, p_standard, p_sender, p_recipient, p_test, p_document, p_lineage);
            ruled := CASE WHEN l IS NOT NULL THEN lineage_verdict(l, p_lineage) END;
            judged := true;
        END IF;

        IF k.expires_at <= now() THEN
            UPDATE dedup_key x SET epoch = k.epoch + 1, raw_hash = p_raw, content_hash = p_content,
                content_version = p_content_version, document_id = p_document, first_seen_at = now(),
                expires_at = coalesce(now() + p_window, 'infinity')
            WHERE x.control_reference = p_control AND x.partner_id = p_partner AND x.standard = p_standard AND x.sender = p_sender
              AND x.sender_qualifier = p_sender_qualifier AND x.recipient = p_recipient
              AND x.recipient_qualifier = p_recipient_qualifier AND x.message_types = p_types AND x.test = p_test
              AND x.discriminant = p_discriminant
              AND x.epoch = k.epoch; -- compare and swap: of several copies one arms the next epoch
            CONTINUE WHEN NOT FOUND;
            INSERT INTO dedup_version (key_id, content_hash, raw_hash, content_version, epoch, state, document_id, seen_at)
            VALUES (k.key_id, k.content_hash, k.raw_hash, k.content_version, k.epoch, 'accepted', k.document_id, k.first_seen_at)
            ON CONFLICT ON CONSTRAINT dedup_version_pkey DO NOTHING;
            v_verdict := coalesce(ruled, 'reuse'); v_key := k.key_id; v_epoch := k.epoch + 1;
            EXIT;
        END IF;

        -- A document that says it amends, under the reference of what it amends, needs no lineage to be believed.
        v_verdict := coalesce(ruled, CASE WHEN (l#>>'{counts,claims}')::integer > 0 THEN 'amendment' ELSE 'drift' END);
        v_state := CASE v_verdict WHEN 'drift' THEN p_drift WHEN 'amendment' THEN 'accepted' ELSE lineage_state(l, p_lineage, v_verdict) END;
        INSERT INTO dedup_version (key_id, content_hash, raw_hash, content_version, epoch, state, document_id, seen_at)
        VALUES (k.key_id, p_content, p_raw, p_content_version, k.epoch, v_state, p_document, now())
        ON CONFLICT ON CONSTRAINT dedup_version_pkey DO NOTHING;
        CONTINUE WHEN NOT FOUND; -- another copy of the same drift has just been recorded
        v_key := k.key_id; v_epoch := k.epoch;
        IF v_verdict = 'amendment' AND jsonb_array_length(l->'supersedes') = 0 THEN
            l := jsonb_set(l, '{supersedes}', jsonb_build_array(jsonb_build_object('document_id', k.document_id,
                'number', l#>>'{documents,0,number}')));
        END IF;
        EXIT;
    END LOOP;

    IF l IS NOT NULL THEN
        IF v_verdict IN ('stale', 'duplicate') THEN
            v_state := lineage_state(l, p_lineage, v_verdict);
        END IF;
        l := nullif(jsonb_strip_nulls(jsonb_build_object('documents', nullif(l->'documents', '[]'), 'supersedes', nullif(l->'supersedes', '[]'),
            'stale', nullif(l->'stale', '[]'), 'flags', nullif(l->'flags', '[]'))), '{}');
    END IF;
    IF p_lineage IS NOT NULL AND v_state <> 'accepted' THEN
        UPDATE document_lineage x SET rank = NULL WHERE x.document_id = p_document;
    END IF;
    INSERT INTO ledger_event (event_id, partner_id, kind, key_id, epoch, delivery_id, document_id, raw_hash, content_hash, late, node, detail)
    VALUES (p_event, p_partner, v_verdict, v_key, v_epoch, p_delivery, v_document, p_raw, p_content, v_late, p_node,
        CASE WHEN l IS NULL THEN p_detail ELSE p_detail || jsonb_build_object('lineage', l) END);
    IF v_verdict = 'first' AND l IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN concat_ws(' ', v_verdict, v_late, v_key, v_epoch, v_document, v_state, l);
END $$;
