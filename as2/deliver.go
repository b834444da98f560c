package as2

import (
	"errors"
	"hash"
	"io"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// certificateExchange is the type of CEM messages (draft-meadors-certificate-
// exchange). They are about this connection and nobody's document.
const certificateExchange = "application/ediint-cert-exchange+xml"

// deliver hands the innermost entity's content on as the payload.
func (o *opener) deliver(e *entity, depth int) error {
	o.opened.ContentType = e.contentType
	o.opened.FileName = fileName(e, o.header.ContentDisposition)
	if o.signatures > 0 {
		return o.deliverContent(e, depth)
	}
	return o.deliverUnsigned(e, depth)
}

// deliverUnsigned computes the MIC, too. It covers the entity with its header
// where there was a layer around it, and the body alone of a bare message
// (RFC 4130 §7.3.1, RFC 5402 §4.2 and §4.3).
func (o *opener) deliverUnsigned(e *entity, depth int) error {
	h, spelling := o.chooseMIC()
	sum := &countingHash{Hash: h.New()}
	bare := !o.opened.Encrypted && !o.opened.Compressed
	if !bare {
		sum.Write(e.block)
	}
	received := io.TeeReader(e.body, sum)
	e.body = received
	if err := o.deliverContent(e, depth); err != nil {
		return err
	}
	if err := smime.Drain(received); err != nil { // behind the end of base64
		return err
	}
	if bare && sum.n == 0 {
		return refuse(KindMalformed, "The message has no body.", nil)
	}
	o.opened.MIC = mdn.MIC{Digest: sum.Sum(nil), Algorithm: spelling}
	return nil
}

func (o *opener) deliverContent(e *entity, depth int) error {
	if e.hasParts() {
		return o.deliverParts(e, depth)
	}
	return o.attach(e, fileName(e, o.header.ContentDisposition))
}

// maxAttachments bounds the parts of a multipart payload.
const maxAttachments = 1000

// deliverParts hands on the parts of a multipart payload one by one (RFC 6362).
// What nothing closes may have lost parts, and is refused.
func (o *opener) deliverParts(e *entity, depth int) error {
	if depth >= maxDepth {
		return refuse(KindMalformed, "The message is nested too deeply.", nil)
	}
	m, err := smime.NewMultipart(e.decoded(), e.params["boundary"])
	if err == nil {
		err = m.First()
	}
	for ; err == nil; err = m.Next() {
		part, err := readEntity(smime.NewSource(m))
		if err != nil {
			return err
		}
		if part.hasParts() {
			err = o.deliverParts(part, depth+1)
		} else {
			err = o.attach(part, fileName(part, ""))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case err == io.EOF && m.Closed():
		return m.End()
	case err == io.EOF, errors.Is(err, smime.ErrMultipart):
		return refuse(KindMalformed, "The multipart payload is incomplete.", err)
	}
	return err
}

// attach writes one document, transfer-decoded, up to the agreed size.
func (o *opener) attach(e *entity, name string) error {
	if e.mediaType == certificateExchange {
		return refuse(KindMalformed, "Certificates are not exchanged by message here.", nil)
	}
	if len(o.opened.Attachments) == maxAttachments {
		return refuse(KindMalformed, "The message has too many parts.", nil)
	}
	start := o.payload.count
	_, err := io.Copy(o.payload, smime.NewSource(smime.DecodeTransfer(e.body, e.encoding)))
	if err != nil {
		return err
	}
	o.opened.Attachments = append(o.opened.Attachments,
		Attachment{FileName: name, ContentType: e.contentType, Start: start, End: o.payload.count})
	return nil
}

// countingHash tells no content from empty content.
type countingHash struct {
	hash.Hash
	n int64
}

func (c *countingHash) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}
