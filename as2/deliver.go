package as2

import (
	"errors"
	"hash"
	"io"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// deliver hands the innermost entity's content on as the payload.
func (o *opener) deliver(e *entity) error {
	o.opened.ContentType = e.contentType
	o.opened.FileName = fileName(e, o.header.ContentDisposition)
	sink := o.payload
	floorErr := o.policy.floor(&o.opened)
	if floorErr != nil {
		sink = io.Discard
	}
	plain := !o.opened.Signed && !o.opened.Encrypted
	if !plain && o.opened.MIC.IsZero() {
		o.setMIC(o.sealed)
	}
	var err error
	if plain {
		err = o.deliverPlain(e, sink)
	} else {
		_, err = o.copyDecoded(e.body, e.encoding, sink)
	}
	if err != nil {
		return err
	}
	return floorErr
}

// deliverPlain passes a bare message through. Its MIC covers the body as
// received, without any header (RFC 4130 §7.3.1).
func (o *opener) deliverPlain(e *entity, sink io.Writer) error {
	h, spelling := o.chooseMIC()
	sum := &countingHash{Hash: h.New()}
	received := io.TeeReader(e.body, sum)
	if _, err := o.copyDecoded(received, e.encoding, sink); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, received); err != nil { // behind the end of base64
		return err
	}
	if sum.n == 0 {
		return refuse(KindMalformed, "The message has no body.", nil)
	}
	o.opened.MIC = mdn.MIC{Digest: sum.Sum(nil), Algorithm: spelling}
	return nil
}

// copyDecoded writes the transfer-decoded content, up to the agreed size.
func (o *opener) copyDecoded(body io.Reader, encoding string, sink io.Writer) (int64, error) {
	limit := o.policy.MaxPayload
	n, err := io.Copy(&payloadWriter{sink, limit > 0, limit}, smime.DecodeTransfer(body, encoding))
	var failed *writeError
	if err == nil || errors.As(err, &failed) || errors.Is(err, errTooLarge) {
		return n, err
	}
	return n, refuse(KindMalformed, "The payload's transfer encoding is damaged.", err)
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
