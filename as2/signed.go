package as2

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"strings"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// signedPart is content that a signature covers, on its way.
type signedPart struct {
	block   []byte // its header block
	body    io.Reader
	digests *smime.Digests
	start   int64 // where its payload begins among what has been written
	// leaf says that the part's body is the payload, octet for octet, and can
	// be read again.
	leaf bool
}

// digestsFor chooses what the part is digested by. The signature, which says,
// stands behind the part, so that only its label can be gone by (RFC 1847 §2.1,
// "micalg"), and that may be missing or wrong. A leaf that turns out to want
// another digest, or canonical line ends, is read again; other parts are
// digested by every algorithm and in every form.
func (o *opener) digestsFor(p *signedPart, hints []crypto.Hash) {
	hashes := hints
	if len(hints) == 0 || !p.leaf {
		hashes = append(hashes, crypto.SHA256, crypto.SHA1)
	}
	if !p.leaf {
		hashes = append(hashes, crypto.SHA224, crypto.SHA384, crypto.SHA512)
		if o.policy.allowsDigest(crypto.MD5) {
			hashes = append(hashes, crypto.MD5)
		}
	}
	if o.signatures == 0 {
		hashes = append(hashes, o.requestedMIC())
	}
	p.digests = smime.NewDigests(hashes, len(p.block), !p.leaf)
	p.digests.Write(p.block)
	p.body = io.TeeReader(p.body, p.digests)
}

// hints reads a micalg parameter, which may be a list.
func hints(micalg string) (list []crypto.Hash) {
	for name := range strings.SplitSeq(micalg, ",") {
		if h, ok := mdn.HashByName(name); ok {
			list = append(list, h)
		}
	}
	return list
}

// openSigned reads a multipart/signed (RFC 1847 §2.1): the part that was signed
// is gone on with while it is digested, and the signature is verified behind
// it.
func (o *opener) openSigned(e *entity, depth int) error {
	body := e.decoded()
	if isSignedReport(body, e.params["boundary"]) {
		return o.openSignedReceipt(e, body)
	}
	m, err := smime.NewMultipart(body, e.params["boundary"])
	if err == nil {
		err = m.First()
	}
	if err != nil {
		return twoParts(err)
	}
	part := smime.NewSource(m)
	header, block, err := smime.ReadHeader(part)
	if err != nil {
		return err
	}
	inner := entityOf(header, block)
	if isSignatureType(inner.mediaType) {
		return refuse(KindMalformed, "The signature stands before the content it signs.", nil)
	}
	p := &signedPart{block: block, body: part, start: o.payload.count, leaf: o.isLeaf(inner, part)}
	o.digestsFor(p, hints(e.params["micalg"]))
	inner.body = p.body
	innerErr := o.within(p, inner, depth)
	if innerErr != nil && o.fatal(innerErr) {
		return innerErr
	}
	if err := smime.Drain(p.body); err != nil {
		return err
	}
	signature, err := o.readSignature(m)
	if err != nil && !errors.Is(err, smime.ErrNoSigner) {
		return err
	}
	if err := o.judge(p, signature); err != nil {
		return err
	}
	return innerErr
}

// twoParts is what is said of a multipart/signed that lacks its structure.
func twoParts(err error) error {
	if err == io.EOF || errors.Is(err, smime.ErrMultipart) {
		return refuse(KindMalformed, "The multipart/signed does not have exactly two parts.", smime.ErrMultipart)
	}
	return err
}

// within goes on with signed content.
func (o *opener) within(p *signedPart, inner *entity, depth int) error {
	o.signatures++
	err := o.open(inner, depth+1)
	o.signatures--
	p.leaf = p.leaf && err == nil
	return err
}

// isLeaf says whether a part's body is going to be written to the payload as it
// is, and can be read again from there.
func (o *opener) isLeaf(inner *entity, body *smime.Source) bool {
	if !o.payload.rereadable() || inner.encodes() || strings.HasPrefix(inner.mediaType, "multipart/") {
		return false
	}
	o.signatures++
	_, cms := o.layer(inner, body)
	o.signatures--
	return !cms
}

// readSignature reads the second part, to the end of the multipart. It is nil
// if there is no signature in it that could be read.
func (o *opener) readSignature(m *smime.Multipart) (*smime.SignedData, error) {
	if err := m.Next(); err != nil {
		return nil, twoParts(err)
	}
	part := smime.NewSource(m)
	if _, _, err := smime.ReadHeader(part); err != nil {
		return nil, err
	}
	var signature *smime.SignedData
	if smime.SniffCMS(part) == smime.Signed {
		d, err := smime.OpenSigned(smime.BinaryCMS(part))
		if err == nil {
			err = smime.Drain(d)
		}
		switch {
		case err == nil:
			signature = d
		case !errors.Is(err, smime.ErrNoSigner):
			return nil, err
		}
	}
	if err := m.End(); err != nil {
		return nil, twoParts(err)
	}
	return signature, nil
}

func isSignatureType(mediaType string) bool {
	return mediaType == "application/pkcs7-signature" || mediaType == "application/x-pkcs7-signature"
}

// openOpaque reads a SignedData with its content (RFC 8551 §3.5.2).
func (o *opener) openOpaque(binary io.Reader, depth int) error {
	d, err := smime.OpenSigned(binary)
	if err != nil {
		return err
	}
	if d.Detached() {
		return refuse(KindAuthentication, "The signed message has no content.", nil)
	}
	content := smime.NewSource(d)
	header, block, err := smime.ReadHeader(content)
	if err != nil {
		return err
	}
	inner := entityOf(header, block)
	p := &signedPart{block: block, body: content, start: o.payload.count}
	o.digestsFor(p, d.Declared())
	inner.body = p.body
	innerErr := o.within(p, inner, depth)
	if innerErr != nil && o.fatal(innerErr) {
		return innerErr
	}
	if err := smime.Drain(p.body); err != nil && !errors.Is(err, smime.ErrNoSigner) {
		return err
	}
	if err := o.judge(p, d); err != nil {
		return err
	}
	return innerErr
}

// judge verifies the signature over the part and settles the MIC, which covers
// the part as it was signed (RFC 4130 §7.3.1); with signatures inside
// signatures, the outermost counts.
func (o *opener) judge(p *signedPart, d *smime.SignedData) error {
	s, err := o.verify(p, d)
	if err == nil {
		o.accept(s)
	} else { // whatever a signature inside proved, this message is not proved
		o.opened.Signed, o.opened.Signer, o.opened.Digest = false, s.Signer, s.Digest
	}
	if o.signatures == 0 && !o.opened.IsReceipt {
		o.setMIC(p, s.Form)
	}
	switch {
	case err == nil:
		return nil
	case d == nil:
		return refuse(KindAuthentication, "The signature cannot be read.", err)
	case !p.digests.Has(d.Digests()...):
		return refuse(KindInsufficientSecurity, digestDetail, err)
	case errors.Is(err, smime.ErrDigest):
		return refuse(KindIntegrity, "The content differs from the content that was signed.", err)
	}
	return refuse(KindAuthentication, "The signature was not made with a certificate agreed for this partner.", err)
}

func (o *opener) verify(p *signedPart, d *smime.SignedData) (smime.Signature, error) {
	if d == nil {
		return smime.Signature{}, smime.ErrNoSigner
	}
	s, err := d.Verify(p.digests, o.policy.Signers)
	if err == nil || p.digests.Has(d.Digests()...) && !p.digests.BareLF() {
		return s, err
	}
	if !p.leaf {
		return s, err
	}
	if err := o.again(p, d.Digests()); err != nil {
		return smime.Signature{}, err
	}
	return d.Verify(p.digests, o.policy.Signers)
}

// again digests a leaf once more, in every form.
func (o *opener) again(p *signedPart, hashes []crypto.Hash) error {
	h, _ := o.chooseMIC()
	p.digests = smime.NewDigests(append(hashes, h, o.requestedMIC()), len(p.block), true)
	p.digests.Write(p.block)
	_, err := io.Copy(p.digests, o.payload.section(p.start))
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// accept records a verified signature, of several the outermost one, which is
// the last to be verified, unless an earlier one falls below the floor.
func (o *opener) accept(s smime.Signature) {
	if !o.opened.Signed || o.policy.allowsDigest(o.opened.Digest) {
		o.opened.Signer, o.opened.Digest = s.Signer, s.Digest
	}
	o.opened.Signed = true
	o.verified++
}

// setMIC takes the MIC from the digests of the part.
func (o *opener) setMIC(p *signedPart, form smime.Form) {
	h, spelling := o.chooseMIC()
	if !p.digests.Has(h) && p.leaf {
		if err := o.again(p, []crypto.Hash{h}); err != nil {
			return
		}
	}
	o.opened.MIC = mdn.MIC{Digest: p.digests.Sum(form, h), Algorithm: spelling}
	if o.opened.MIC.Digest == nil {
		o.opened.MIC = mdn.MIC{}
	}
}

// isSignedReport looks ahead whether a multipart/signed holds a receipt.
func isSignedReport(body *smime.Source, boundary string) bool {
	prefix, _ := body.Peek(4 << 10)
	m, err := smime.NewMultipart(bytes.NewReader(prefix), boundary)
	if err != nil || m.First() != nil {
		return false
	}
	header, _, err := smime.ReadHeader(smime.NewSource(m))
	return err == nil && mdn.IsReport(header.Get("Content-Type"))
}
