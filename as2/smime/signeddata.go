package smime

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Bounds of a SignedData. The first is on the public-key operations that one
// message can cost.
const (
	maxSigners       = 16
	maxSignerInfos   = 256
	maxDigests       = 64
	maxSignedAttrs   = 128 << 10
	maxAttributes    = 256
	maxMessageDigest = 64
)

// SignedData reads a SignedData (RFC 5652 §5), detached or with its content.
type SignedData struct {
	stream   *stream
	declared []string // digest algorithm OIDs, before the content
	content  *octetReader
	signers  []signerInfo
	err      error // sticks; io.EOF once everything is read
}

// OpenSigned reads a SignedData from src, in binary, up to its content. Errors
// are [ErrNoSigner] or src's own.
func OpenSigned(src io.Reader) (*SignedData, error) {
	d := &SignedData{stream: newStream(src)}
	if err := d.readHead(); err != nil {
		return nil, noSigner(err)
	}
	return d, nil
}

// noSigner makes malformed structures a kind of [ErrNoSigner].
func noSigner(err error) error {
	if errors.Is(err, errBER) && !errors.Is(err, ErrNoSigner) {
		return fmt.Errorf("%w: %w", ErrNoSigner, err)
	}
	return err
}

// Declared are the digests that stand before the content, so that they can be
// computed while it passes. A signer may have used another one.
func (d *SignedData) Declared() []crypto.Hash {
	var list []crypto.Hash
	for _, oid := range d.declared {
		h := hashOf(oid)
		if h == 0 {
			h = hashOfSignature(oid)
		}
		if h != 0 && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}

// Read reads the content that the signature holds; a detached one has none.
// With io.EOF the signers are known.
func (d *SignedData) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.content != nil {
		n, err := d.content.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if err != io.EOF {
			d.err = noSigner(err)
			return 0, d.err
		}
	}
	if d.err = noSigner(d.readSigners()); d.err == nil {
		d.err = io.EOF
	}
	return 0, d.err
}

// Detached reports whether the content is elsewhere.
func (d *SignedData) Detached() bool { return d.content == nil }

// Digests are the digests by which the signers have digested the content.
func (d *SignedData) Digests() []crypto.Hash {
	var list []crypto.Hash
	for _, s := range d.signers {
		if !slices.Contains(list, s.digest) {
			list = append(list, s.digest)
		}
	}
	return list
}

func (d *SignedData) readHead() error {
	s := d.stream
	kind, err := s.contentInfo()
	if err != nil {
		return err
	}
	if kind != Signed {
		return fmt.Errorf("%w: not a CMS SignedData", ErrNoSigner)
	}
	if _, err := s.expect(tagInteger); err != nil {
		return err
	}
	if err := d.readDeclared(); err != nil {
		return err
	}
	if err := s.enter(tagSequence); err != nil { // encapContentInfo
		return err
	}
	if _, err := s.expect(tagOID); err != nil {
		return err
	}
	tag, err := s.peekTag()
	if err != nil || tag != tagContext0 {
		return err
	}
	if err := s.enter(tagContext0); err != nil {
		return err
	}
	d.content, err = s.octets(tagOctetString)
	return err
}

func (d *SignedData) readDeclared() error {
	s := d.stream
	if err := s.enter(tagSet); err != nil {
		return err
	}
	for {
		more, err := s.more()
		if err != nil {
			return err
		}
		if !more {
			return s.leave()
		}
		if len(d.declared) == maxDigests {
			return errBER
		}
		e, err := s.expect(tagSequence)
		if err != nil {
			return err
		}
		oid, _ := readAlgorithm(&cursor{rest: e.raw})
		d.declared = append(d.declared, oid)
	}
}

// readSigners reads what follows the content. Embedded certificates and
// revocation lists are passed over unread: they are never trusted, and many are
// malformed. Signers with unknown digests are left out.
func (d *SignedData) readSigners() error {
	s := d.stream
	for len(s.frames) > 3 { // back into the SignedData
		if err := s.leave(); err != nil {
			return err
		}
	}
	for {
		tag, err := s.peekTag()
		if err != nil {
			return err
		}
		if tag == tagSet {
			break
		}
		if tag != tagContext0 && tag != tagContext1 { // certificates, crls
			return errBER
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
	if err := s.enter(tagSet); err != nil {
		return err
	}
	for n := 0; ; n++ {
		more, err := s.more()
		if err != nil {
			return err
		}
		if !more {
			return s.finish()
		}
		if n == maxSignerInfos {
			return errBER
		}
		e, err := s.expect(tagSequence)
		if err != nil {
			return err
		}
		if si, ok := d.readSigner(e); ok && len(d.signers) < maxSigners {
			d.signers = append(d.signers, si)
		}
	}
}

// signerInfo is a SignerInfo (RFC 5652 §5.3), parsed but not verified.
type signerInfo struct {
	id        signerID
	digest    crypto.Hash
	attrs     []byte // signedAttrs contents as transmitted, nil if absent
	algorithm string // signature OID
	params    []byte
	signature []byte
}

func (d *SignedData) readSigner(e element) (signerInfo, bool) {
	c := &cursor{rest: e.body}
	c.expect(tagInteger)
	s := signerInfo{id: readID(c)}
	oid, _ := readAlgorithm(c)
	s.digest = d.digest(oid)
	if c.peek() == tagContext0 {
		s.attrs = c.next().body
		if s.attrs == nil {
			s.attrs = []byte{}
		}
	}
	s.algorithm, s.params = readAlgorithm(c)
	sig, err := octets(c.next())
	s.signature = sig
	return s, c.err == nil && err == nil && len(s.attrs) <= maxSignedAttrs && s.digest != 0 && s.digest.Available()
}

// digest finds a signer's digest algorithm. Some senders put the OID of a
// signature there, which RFC 5652 §10.1.1 does not allow; it is understood if
// the SignedData says the same at its beginning.
func (d *SignedData) digest(oid string) crypto.Hash {
	if h := hashOf(oid); h != 0 {
		return h
	}
	if slices.Contains(d.declared, oid) {
		return hashOfSignature(oid)
	}
	return 0
}

// attribute returns the value of a signed attribute, of which there has to be
// exactly one with one value (RFC 5652 §11). ok is false if there are more, or
// the attributes are malformed; the value of an absent one has no tag.
func (s *signerInfo) attribute(oid string) (value element, ok bool) {
	c := cursor{rest: s.attrs}
	for n := 0; c.more(); n++ {
		attr := c.enter(tagSequence)
		if n == maxAttributes {
			return element{}, false
		}
		if string(attr.expect(tagOID).body) != oid {
			if attr.err != nil {
				return element{}, false
			}
			continue
		}
		values := attr.enter(tagSet)
		v := values.next()
		if value.tag != 0 || values.err != nil || values.more() || v.tag == 0 {
			return element{}, false
		}
		value = v
	}
	return value, c.err == nil
}

// messageDigest returns the message-digest attribute (RFC 5652 §11.2).
func (s *signerInfo) messageDigest() ([]byte, bool) {
	value, ok := s.attribute(oidMessageDigest)
	if !ok || value.tag&^tagConstructed != tagOctetString {
		return nil, false
	}
	digest, err := octets(value)
	return digest, err == nil && len(digest) > 0 && len(digest) <= maxMessageDigest
}

// protected checks the CMSAlgorithmProtection attribute (RFC 6211 §3), where
// there is one: it repeats the algorithms outside the attributes, which nothing
// else signs.
func (s *signerInfo) protected() bool {
	value, ok := s.attribute(oidProtection)
	if !ok || value.tag == 0 {
		return ok
	}
	c := cursor{rest: value.raw}
	seq := c.enter(tagSequence)
	digest, _ := readAlgorithm(seq)
	if hashOf(digest) != s.digest && hashOfSignature(digest) != s.digest {
		return false
	}
	if seq.peek() != tagContext1 {
		return c.err == nil && seq.err == nil
	}
	implicit := cursor{rest: seq.next().body}
	oid := string(implicit.expect(tagOID).body)
	return seq.err == nil && implicit.err == nil && (oid == s.algorithm || family(oid) == family(s.algorithm))
}

// family is what an algorithm has in common with its other spellings: RSA
// PKCS #1 v1.5 may be named with its digest or without (RFC 3370 §3.2).
func family(oid string) string {
	if oid == oidRSA || hashOfSignature(oid) != 0 && oid[:len(oidECDSA)] != oidECDSA {
		return oidRSA
	}
	return oid
}

// signedOctets returns the encodings of the signed attributes that may have
// been signed: the DER order that RFC 5652 §5.4 demands, which the transmitted
// order usually is, and otherwise both, because signers exist that sign what
// they send. The same attributes are authenticated either way.
func (s *signerInfo) signedOctets() [][]byte {
	wire := derSet(s.attrs)
	sorted, err := sortedMembers(s.attrs)
	if err != nil || bytes.Equal(sorted, s.attrs) {
		return [][]byte{wire}
	}
	return [][]byte{derSet(sorted), wire}
}
