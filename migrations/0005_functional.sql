-- Functional acknowledgements: what interchanges were answered with, and how it went out.

-- Our control numbers, counted for each pair of parties by their EDI identities, since that is where a number must not come
-- twice: two agreements may lead to one identity. A number that is drawn and not used leaves a gap. No sequences: there is
-- one counter for each pair, and pairs come with the first interchange.
CREATE TABLE acknowledgement_number (
    standard  text COLLATE "C" NOT NULL, -- edifact: 0020; x12: ISA13 and GS06
    sender    text COLLATE "C" NOT NULL, -- our identity, with its qualifier
    recipient text COLLATE "C" NOT NULL,
    last      bigint           NOT NULL, -- the last one drawn, before it is cut to the length of its element
    CONSTRAINT acknowledgement_number_pkey PRIMARY KEY (standard, sender, recipient)
);

-- One row for each kind that an interchange is answered with, by the document that the interchange is: whatever copy of it
-- comes, it is answered with the octets of the first one's.
CREATE TABLE acknowledgement (
    acknowledgement_id uuid             NOT NULL CONSTRAINT acknowledgement_pkey PRIMARY KEY,
    document_id        uuid             NOT NULL,
    kind               text             NOT NULL,
    delivery_id        uuid             NOT NULL CONSTRAINT acknowledgement_delivery_fkey REFERENCES delivery (delivery_id),
    ordinal            integer          NOT NULL, -- the interchange's place in the delivery's payload, from 1
    partner_id         bigint           NOT NULL,
    key_id             uuid             NOT NULL,
    epoch              integer          NOT NULL,
    control_reference  text COLLATE "C" NOT NULL, -- ours; empty without octets
    outcome            text             NOT NULL,
    code               text             NOT NULL, -- of the first error; empty without
    problem            text             NOT NULL, -- why none can be built; empty if one is
    octets             bytea,
    created_at         timestamptz      NOT NULL DEFAULT now(),
    CONSTRAINT acknowledgement_document_key UNIQUE (document_id, kind),
    CONSTRAINT acknowledgement_kind_check CHECK (kind IN ('contrl', 'ta1', '997', '999')),
    CONSTRAINT acknowledgement_outcome_check CHECK (outcome IN ('accepted', 'received', 'partial', 'rejected', 'impossible')),
    CONSTRAINT acknowledgement_octets_check CHECK ((octets IS NULL) = (outcome = 'impossible'))
);
CREATE INDEX acknowledgement_delivery_idx ON acknowledgement (delivery_id);

-- Each time that an acknowledgement is sent: for the first copy, and again for copies that come later.
CREATE TABLE acknowledgement_transmission (
    transmission_id    uuid        NOT NULL CONSTRAINT acknowledgement_transmission_pkey PRIMARY KEY,
    acknowledgement_id uuid        NOT NULL CONSTRAINT acknowledgement_transmission_fkey REFERENCES acknowledgement (acknowledgement_id),
    delivery_id        uuid        NOT NULL, -- that brought it about
    channel            text        NOT NULL, -- on which it goes
    state              text        NOT NULL DEFAULT 'pending',
    job_id             bigint      NOT NULL, -- the outbox job that carries it
    message_id         text        NOT NULL DEFAULT '', -- of the AS2 message
    message            bytea,                -- as it goes over the wire, built once: a retry has the same octets
    created_at         timestamptz NOT NULL DEFAULT now(),
    attempts           integer     NOT NULL DEFAULT 0,
    last_error         text        NOT NULL DEFAULT '',
    sent_to            text        NOT NULL DEFAULT '',
    sent_at            timestamptz,
    receipt            bytea,                -- what the partner answered with
    CONSTRAINT acknowledgement_transmission_state_check CHECK (state IN ('pending', 'sent', 'stuck')),
    CONSTRAINT acknowledgement_transmission_sent_check CHECK ((state = 'sent') = (sent_at IS NOT NULL))
);
CREATE INDEX acknowledgement_transmission_idx ON acknowledgement_transmission (acknowledgement_id);
-- At most one is under way, however many copies ask for one at the same moment.
CREATE UNIQUE INDEX acknowledgement_transmission_pending_key ON acknowledgement_transmission (acknowledgement_id) WHERE state = 'pending';
CREATE INDEX acknowledgement_transmission_delivery_idx ON acknowledgement_transmission (delivery_id);
CREATE INDEX acknowledgement_transmission_open_idx ON acknowledgement_transmission (state, created_at) WHERE state IN ('pending', 'stuck');
