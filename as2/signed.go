package as2

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// openSigned verifies a multipart/signed and goes on with the part that was
// signed. The MIC covers that part as it was signed (RFC 4130 §7.3.1); with
// signatures inside signatures, the outermost counts.
func (o *opener) openSigned(e *entity, depth int) error {
	body, err := e.octets()
	if err != nil {
		return err
	}
	part, sigPart, err := smime.SplitSigned(body, e.params["boundary"])
	if err != nil {
		return refuse(KindMalformed, "The multipart/signed does not have exactly two parts.", err)
	}
	inner := parseEntity(part)
	if isSignatureType(inner.mediaType) {
		return refuse(KindMalformed, "The signature stands before the content it signs.", nil)
	}
	verified, verifyErr := o.verify(part, sigPart)
	if mdn.IsReport(inner.contentType) {
		if err := o.setReceipt(e.contentType, body); err != nil {
			return err
		}
		return verifyErr
	}
	if len(o.opened.MIC.Digest) == 0 {
		o.setMIC(verified)
	}
	if verifyErr != nil {
		return verifyErr
	}
	return o.open(inner, depth+1)
}

func isSignatureType(mediaType string) bool {
	return mediaType == "application/pkcs7-signature" || mediaType == "application/x-pkcs7-signature"
}

// verify checks the signature over the part and returns the octets it holds
// for: those received or, failing that, a form of them with CRLF line ends.
// RFC 8551 §3.1.1 has senders sign text in that form, and some transmit another.
func (o *opener) verify(part, sigPart []byte) ([]byte, error) {
	_, encoded := smime.SplitHeader(sigPart)
	signature := bufio.NewReader(bytes.NewReader(encoded))
	if smime.SniffCMS(signature) != smime.Signed {
		return part, refuse(KindAuthentication, "The signature cannot be read.", nil)
	}
	der, err := io.ReadAll(smime.BinaryCMS(signature))
	if err != nil {
		return part, refuse(KindAuthentication, "The signature cannot be read.", err)
	}
	s, err := smime.Verify(bytes.NewReader(part), der, o.policy.Signers)
	if err == nil {
		o.accept(s)
		return part, nil
	}
	for _, form := range canonicalForms(part) {
		if s, err := smime.Verify(bytes.NewReader(form), der, o.policy.Signers); err == nil {
			o.accept(s)
			return form, nil
		}
	}
	if errors.Is(err, smime.ErrDigest) {
		o.opened.Signer, o.opened.Digest = s.Signer, s.Digest
		return part, refuse(KindIntegrity, "The content differs from the content that was signed.", err)
	}
	return part, refuse(KindAuthentication, "The signature was not made with a certificate agreed for this partner.", err)
}

// accept records a verified signature, of several the outermost one, unless a
// later one falls below the floor.
func (o *opener) accept(s smime.Signature) {
	if !o.opened.Signed || !o.policy.allowsDigest(s.Digest) {
		o.opened.Signer, o.opened.Digest = s.Signer, s.Digest
	}
	o.opened.Signed = true
}

// canonicalForms are the forms of a part with bare line feeds that may have
// been signed instead: every line end canonical, or the header's only.
func canonicalForms(part []byte) [][]byte {
	all := withCRLF(part)
	if len(all) == len(part) {
		return nil
	}
	_, body := smime.SplitHeader(part)
	head := withCRLF(part[:len(part)-len(body)])
	return [][]byte{all, append(head, body...)}
}

// withCRLF returns a copy of b in which every bare LF has become CRLF.
func withCRLF(b []byte) []byte {
	out := make([]byte, 0, len(b)+bytes.Count(b, []byte{'\n'}))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		if i == 0 || b[i-1] != '\r' {
			out = append(out, '\r')
		}
		out = append(out, '\n')
		b = b[i+1:]
	}
	return out
}
