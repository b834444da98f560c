-- What arrived, what was answered, and what is to be forwarded.

-- One row a transport arrival that was accepted. Failures leave no row: only a committed success owns a Message-ID.
-- A repeat of the same octets under the same transport id finds this row; other octets under it are another delivery.
CREATE TABLE delivery (
    delivery_id        uuid             NOT NULL CONSTRAINT delivery_pkey PRIMARY KEY,
    partner_id         bigint           NOT NULL,
    channel            text             NOT NULL,
    transport_id       text COLLATE "C" NOT NULL, -- AS2: Message-ID, escaped where not printable; SFTP: the file's identity
    payload_hash       bytea            NOT NULL, -- SHA-256 of the decoded payload
    payload_size       bigint           NOT NULL,
    received_at        timestamptz      NOT NULL,
    node               text             NOT NULL,
    remote_address     text             NOT NULL,
    signer_fingerprint bytea,                     -- SHA-256 of the pinned certificate that verified; null when unsigned
    signature_digest   text             NOT NULL,
    cipher             text             NOT NULL, -- empty when not encrypted
    file_name          text             NOT NULL,
    content_type       text             NOT NULL,
    interchanges       integer          NOT NULL,
    reused_id          boolean          NOT NULL, -- the transport id had been used for other octets before
    CONSTRAINT delivery_transport_key UNIQUE (partner_id, channel, transport_id, payload_hash),
    CONSTRAINT delivery_channel_check CHECK (channel IN ('as2', 'sftp')),
    CONSTRAINT delivery_hash_check CHECK (octet_length(payload_hash) = 32),
    CONSTRAINT delivery_transport_check CHECK (octet_length(transport_id) BETWEEN 1 AND 4096)
);
CREATE INDEX delivery_payload_idx ON delivery (payload_hash);
CREATE INDEX delivery_transport_idx ON delivery (transport_id);
CREATE INDEX delivery_received_idx ON delivery (received_at);

-- The receipts of a delivery, byte for byte, one for each kind the partner asked for (signed or not, digest, where to).
CREATE TABLE receipt (
    delivery_id uuid        NOT NULL CONSTRAINT receipt_delivery_fkey REFERENCES delivery (delivery_id),
    kind        text        NOT NULL,
    message_id  text        NOT NULL,
    disposition text        NOT NULL,
    mic         text        NOT NULL,
    async_url   text        NOT NULL, -- empty: answered on the same connection
    octets      bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,         -- of an asynchronous receipt: when the partner took it
    CONSTRAINT receipt_pkey PRIMARY KEY (delivery_id, kind)
);
ALTER TABLE receipt ALTER COLUMN octets SET STORAGE EXTERNAL;

-- One row a forwardable interchange.
CREATE TABLE document (
    document_id         uuid             NOT NULL CONSTRAINT document_pkey PRIMARY KEY,
    delivery_id         uuid             NOT NULL CONSTRAINT document_delivery_fkey REFERENCES delivery (delivery_id),
    partner_id          bigint           NOT NULL,
    key_id              uuid             NOT NULL,
    epoch               integer          NOT NULL,
    ordinal             integer          NOT NULL, -- place in the payload, from 1
    verdict             text             NOT NULL,
    state               text             NOT NULL,
    standard            text             NOT NULL,
    version             text             NOT NULL,
    sender              text             NOT NULL, -- parties and reference as written in the envelope
    recipient           text             NOT NULL,
    control_reference   text COLLATE "C" NOT NULL,
    message_types       text[]           NOT NULL,
    functions           text[]           NOT NULL,
    test                boolean          NOT NULL,
    irregular           text[]           NOT NULL,
    raw_hash            bytea            NOT NULL,
    content_hash        bytea            NOT NULL,
    size                bigint           NOT NULL,
    file_name           text             NOT NULL,
    content_type        text             NOT NULL,
    created_at          timestamptz      NOT NULL DEFAULT now(),
    job_id              bigint,                    -- the outbox job that carries it
    attempts            integer          NOT NULL DEFAULT 0,
    last_error          text             NOT NULL DEFAULT '',
    forwarded_to        text             NOT NULL DEFAULT '',
    forwarded_at        timestamptz,
    CONSTRAINT document_state_check CHECK (state IN ('pending', 'forwarded', 'stuck', 'held', 'discarded')),
    CONSTRAINT document_job_check CHECK (state <> 'pending' OR job_id IS NOT NULL),
    CONSTRAINT document_forwarded_check CHECK (state <> 'forwarded' OR forwarded_at IS NOT NULL)
);
CREATE INDEX document_key_idx ON document (key_id);
CREATE INDEX document_raw_idx ON document (raw_hash);
CREATE INDEX document_delivery_idx ON document (delivery_id);
CREATE INDEX document_open_idx ON document (state, created_at) WHERE state IN ('pending', 'stuck', 'held');

-- A document's octets in pieces of 8000, so that a row fills a page: in TOAST the same octets take four times as many rows and
-- index entries, and a large payload took half as long again. Nothing is compressed: what is large often is already. A server
-- built with smaller pages stores the pieces out of line. No CHECK, as in 0002.
CREATE TABLE payload_chunk (
    document_id uuid    NOT NULL,
    seq         integer NOT NULL,
    octets      bytea   NOT NULL,
    CONSTRAINT payload_chunk_pkey PRIMARY KEY (document_id, seq)
) WITH (toast_tuple_target = 8160);
ALTER TABLE payload_chunk ALTER COLUMN octets SET STORAGE EXTERNAL;

-- Large payloads are staged before the ingest transaction; a stage that no document row made visible is swept.
CREATE TABLE payload_stage (
    document_id uuid        NOT NULL CONSTRAINT payload_stage_pkey PRIMARY KEY,
    staged_at   timestamptz NOT NULL DEFAULT now()
);

-- River's indexes for searching jobs by arguments and by metadata, which nobody does here: every insertion and every change of
-- a job's state would write both, and they are GIN.
DROP INDEX IF EXISTS river_job_args_index, river_job_metadata_index;
