package as2

import (
	"bytes"
	"io"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// maxReceipt bounds a receipt, which is held in memory.
const maxReceipt = 1 << 20

// openReceipt reads a receipt that was posted at the message URL.
func (o *opener) openReceipt(e *entity) error {
	body, err := receiptOctets(e.decoded())
	if err != nil {
		return err
	}
	return o.setReceipt(e.contentType, body)
}

func receiptOctets(body io.Reader) ([]byte, error) {
	octets, err := io.ReadAll(io.LimitReader(body, maxReceipt+1))
	if err == nil && len(octets) > maxReceipt {
		err = refuse(KindMalformed, "The receipt is too large.", nil)
	}
	return octets, err
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

// openSignedReceipt reads a signed receipt and verifies it.
func (o *opener) openSignedReceipt(e *entity, body io.Reader) error {
	octets, err := receiptOctets(body)
	if err != nil {
		return err
	}
	if err := o.setReceipt(e.contentType, octets); err != nil {
		return err
	}
	m, err := smime.NewMultipart(bytes.NewReader(octets), e.params["boundary"])
	if err == nil {
		err = m.First()
	}
	if err != nil {
		return twoParts(err)
	}
	p := &signedPart{body: m}
	o.digestsFor(p, hints(e.params["micalg"]))
	if err := smime.Drain(p.body); err != nil {
		return err
	}
	signature, err := o.readSignature(m)
	if err != nil {
		return err
	}
	return o.judge(p, signature)
}
