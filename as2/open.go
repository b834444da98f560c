package as2

import (
	"crypto"
	"errors"
	"io"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// maxDepth bounds the nesting of layers. RFC 4130 §4.2 needs three, with
// compression four.
const maxDepth = 6

// Open takes the layers off a message and writes the payload's octets,
// transfer-decoded, to payload, while it reads. What has been written may be
// used only if Open returns no error: a signature stands behind what it signs.
//
// Failures of the message are *[Error]; Opened then says how far Open came. A
// failing payload writer or spool is reported as an error of no kind: it says
// nothing about the message. A message below the agreement's floor is opened
// for its MIC, and then refused.
func Open(h Header, body io.Reader, payload io.Writer, p Policy) (Opened, error) {
	source := &transport{r: body}
	o := &opener{header: h, policy: p, payload: newPayloadWriter(payload, p.MaxPayload)}
	defer o.close()
	outer := newEntity(h.ContentType, h.TransferEncoding, h.ContentDisposition)
	limited := smime.NewSource(o.limit(source))
	outer.body = limited
	err := o.open(outer, 0)
	if err == nil {
		// A base64 layer ends before the body does; the rest has to arrive too.
		err = smime.Drain(limited)
	}
	if source.err != nil {
		return o.opened, refuse(KindRead, "The message could not be read to its end.", source.err)
	}
	if err == nil && !o.opened.IsReceipt {
		if err = o.policy.floor(&o.opened); err == nil {
			err = o.checkReceiptRequest()
		}
	}
	return o.opened, o.refusal(err)
}

// opener is the state of one Open.
type opener struct {
	header  Header
	policy  Policy
	payload *payloadWriter
	opened  Opened
	micErr  error
	// signatures counts those under way, verified those that hold.
	signatures, verified int
	envelopes            []*smime.Envelope
}

func (o *opener) close() {
	for _, e := range o.envelopes {
		_ = e.Close() // a spool that cannot be closed is no fault of the message
	}
}

// refusal translates what the layers report.
func (o *opener) refusal(err error) error {
	var refused *Error
	var failed *writeError
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &failed):
		return err
	case errors.Is(err, errTooLarge) && o.opened.Compressed:
		return refuse(KindDecompression, "The compressed content expands beyond the agreed size.", err)
	case errors.Is(err, errTooLarge):
		return refuse(KindTooLarge, "The message is larger than agreed.", nil)
	case errors.Is(err, smime.ErrDecrypt):
		return refuse(KindDecryption, decryptionDetail, err)
	case errors.Is(err, smime.ErrExpansion):
		return refuse(KindDecompression, "The compressed content expands too far.", err)
	case errors.Is(err, smime.ErrDecompress):
		return refuse(KindDecompression, "The compressed content cannot be read.", err)
	case errors.Is(err, smime.ErrNoSigner):
		return refuse(KindAuthentication, "The signature cannot be read.", err)
	case errors.Is(err, smime.ErrTransfer):
		return refuse(KindMalformed, "The payload's transfer encoding is damaged.", err)
	case errors.Is(err, smime.ErrMultipart):
		return refuse(KindMalformed, "The multipart is malformed.", err)
	}
	return err
}

// open takes off one layer, chosen by content.
func (o *opener) open(e *entity, depth int) error {
	if depth > maxDepth {
		return refuse(KindMalformed, "The message is nested too deeply.", nil)
	}
	body := smime.NewSource(e.body)
	e.body = body
	if kind, cms := o.layer(e, body); cms {
		return o.openCMS(e, kind, body, depth)
	}
	switch {
	case e.mediaType == "multipart/signed":
		return o.openSigned(e, depth)
	case mdn.IsReport(e.contentType):
		return o.openReceipt(e)
	}
	return o.deliver(e, depth)
}

// layer decides whether the content is a CMS layer of the message. SignedData
// is one only if it says so and nothing else signs: signed documents
// ("invoice.xml.p7m") are payloads like any other.
func (o *opener) layer(e *entity, body *smime.Source) (smime.ContentKind, bool) {
	if !e.mayBeCMS() {
		return smime.Unknown, false
	}
	kind := smime.SniffCMS(body)
	switch kind {
	case smime.Enveloped, smime.AuthEnveloped, smime.Compressed:
		return kind, true
	case smime.Signed:
		return kind, o.signatures == 0 && (e.mustBeCMS() || e.isSMIMEName())
	}
	return kind, e.mustBeCMS()
}

func (o *opener) openCMS(e *entity, kind smime.ContentKind, body *smime.Source, depth int) error {
	switch kind {
	case smime.Enveloped, smime.AuthEnveloped:
		return o.openEnvelope(smime.BinaryCMS(body), depth)
	case smime.Compressed:
		return o.openCompressed(smime.BinaryCMS(body), depth)
	case smime.Signed:
		return o.openOpaque(smime.BinaryCMS(body), depth)
	}
	if _, err := body.Peek(1); err != nil {
		if err != io.EOF {
			return err
		}
		return refuse(KindMalformed, "The message has no body.", err)
	}
	if e.params["smime-type"] == "compressed-data" {
		return refuse(KindDecompression, "The compressed content cannot be read.", nil)
	}
	o.opened.Encrypted = true
	return refuse(KindDecryption, decryptionDetail, errors.New("not a CMS object"))
}

// checkReceiptRequest refuses receipts that were asked for as "required" in a
// form we cannot make (RFC 4130 §7.3, §7.5.3). If it was optional, a receipt in
// another form is the right answer.
func (o *opener) checkReceiptRequest() error {
	r := o.header.Receipt
	switch {
	case !r.Required:
		return nil
	case r.Protocol != "" && r.Protocol != "pkcs7-signature":
		return refuse(KindUnsupportedFormat, "The receipt is required in an unsupported signature format.", nil)
	}
	return o.micErr
}

// requestedMIC is the digest that the receipt is to report, 0 if the message
// leaves it to its signature.
func (o *opener) requestedMIC() crypto.Hash {
	if h, _, ok := mdn.ChooseMIC(o.header.Receipt.MICAlgorithms, 0); ok && len(o.header.Receipt.MICAlgorithms) > 0 {
		return h
	}
	return 0
}

// chooseMIC settles the MIC's algorithm, once the signature's digest is known.
func (o *opener) chooseMIC() (crypto.Hash, string) {
	requested := o.header.Receipt.MICAlgorithms
	if len(requested) == 0 && o.opened.Digest == 0 && o.policy.DefaultMIC != "" {
		requested = []string{o.policy.DefaultMIC}
	}
	h, spelling, ok := mdn.ChooseMIC(requested, o.opened.Digest)
	if !ok {
		o.micErr = refuse(KindUnsupportedMIC, "None of the digest algorithms required for the receipt is supported.", nil)
	}
	return h, spelling
}
