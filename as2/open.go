package as2

import (
	"bufio"
	"bytes"
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
// transfer-decoded, to payload. Nothing written there may be used unless Open
// returns no error.
//
// Failures of the message are *[Error]; Opened then says how far Open came. A
// failing payload writer is reported as an error of no kind: it says nothing
// about the message. A message below the agreement's floor is opened for its
// MIC, but no payload is released.
func Open(h Header, body io.Reader, payload io.Writer, p Policy) (Opened, error) {
	source := &transport{r: body}
	o := &opener{header: h, policy: p, payload: payload}
	outer := newEntity(h.ContentType, h.TransferEncoding, h.ContentDisposition)
	outer.body = o.limit(source)
	err := o.open(outer, 0)
	if err == nil {
		// A base64 layer ends before the body does; the rest has to arrive too.
		_, err = io.Copy(io.Discard, outer.body)
	}
	if source.err != nil {
		return o.opened, refuse(KindRead, "The message could not be read to its end.", source.err)
	}
	if errors.Is(err, errTooLarge) {
		return o.opened, refuse(KindTooLarge, "The message is larger than agreed.", nil)
	}
	if err == nil && !o.opened.IsReceipt {
		err = o.checkReceiptRequest()
	}
	return o.opened, err
}

// opener is the state of one Open.
type opener struct {
	header  Header
	policy  Policy
	payload io.Writer
	opened  Opened
	// sealed is the content of the innermost envelope: what the MIC of an
	// encrypted, unsigned message covers.
	sealed []byte
	micErr error
}

// open takes off one layer, chosen by content.
func (o *opener) open(e *entity, depth int) error {
	if depth > maxDepth {
		return refuse(KindMalformed, "The message is nested too deeply.", nil)
	}
	if e.mayBeCMS() {
		body := bufio.NewReader(e.body)
		e.body = body
		if kind := smime.SniffCMS(body); o.isLayer(e, kind) {
			return o.openCMS(e, kind, body, depth)
		}
	}
	switch {
	case e.mediaType == "multipart/signed":
		return o.openSigned(e, depth)
	case mdn.IsReport(e.contentType):
		return o.openReceipt(e)
	}
	return o.deliver(e)
}

// isLayer decides whether CMS content is a layer of the message. SignedData is
// one only if it says so and nothing else has signed: signed documents
// ("invoice.xml.p7m") are payloads like any other.
func (o *opener) isLayer(e *entity, kind smime.ContentKind) bool {
	switch kind {
	case smime.Enveloped, smime.AuthEnveloped, smime.Compressed:
		return true
	case smime.Signed:
		return e.mustBeCMS() && !o.opened.Signed
	}
	return e.mustBeCMS()
}

func (o *opener) openCMS(e *entity, kind smime.ContentKind, body *bufio.Reader, depth int) error {
	switch kind {
	case smime.Enveloped, smime.AuthEnveloped:
		return o.openEnvelope(smime.BinaryCMS(body), depth)
	case smime.Compressed:
		return refuse(KindDecompression, "Compressed messages are not supported.", nil)
	case smime.Signed:
		return refuse(KindAuthentication, "Only signatures in multipart/signed are supported.", nil)
	}
	if _, err := body.Peek(1); err != nil {
		return refuse(KindMalformed, "The message has no body.", err)
	}
	if e.params["smime-type"] == "compressed-data" {
		return refuse(KindDecompression, "The compressed content cannot be read.", nil)
	}
	o.opened.Encrypted = true
	return refuse(KindDecryption, decryptionDetail, errors.New("not a CMS object"))
}

// decryptionDetail is the same for every cause (RFC 3218 §2.3).
const decryptionDetail = "The message could not be decrypted."

func (o *opener) openEnvelope(binary io.Reader, depth int) error {
	o.opened.Encrypted = true
	var plain bytes.Buffer
	cipher, err := smime.Decrypt(&plain, binary, o.policy.Keys)
	if weaker := o.opened.Cipher; weaker == "" || o.policy.allowsCipher(weaker) {
		o.opened.Cipher = cipher
	}
	if errors.Is(err, smime.ErrDecrypt) {
		return refuse(KindDecryption, decryptionDetail, err)
	}
	if err != nil {
		return err // the transport's, or too large
	}
	o.sealed = plain.Bytes()
	return o.open(parseEntity(o.sealed), depth+1)
}

func (o *opener) openReceipt(e *entity) error {
	body, err := e.octets()
	if err != nil {
		return err
	}
	return o.setReceipt(e.contentType, body)
}

func (o *opener) setReceipt(contentType string, body []byte) error {
	o.opened.IsReceipt = true
	o.opened.MIC = mdn.MIC{}
	var err error
	if o.opened.Receipt, err = mdn.Parse(contentType, body); err != nil {
		return refuse(KindMalformed, "The receipt cannot be read.", err)
	}
	return nil
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

func (o *opener) setMIC(content []byte) {
	h, spelling := o.chooseMIC()
	sum := h.New()
	sum.Write(content)
	o.opened.MIC = mdn.MIC{Digest: sum.Sum(nil), Algorithm: spelling}
}
