package smime

import (
	"bytes"
	"crypto/x509"
	"math/big"
)

// envelope is an EnvelopedData (RFC 5652 §6.1) or AuthEnvelopedData (RFC 5083
// §2.1), parsed but not opened.
type envelope struct {
	recipients []recipient
	suite      suite
	iv         []byte // CBC initialisation vector or GCM nonce
	tagSize    int    // GCM only
	ciphertext []byte // with the GCM tag behind it
	aad        []byte
}

// recipient is a KeyTransRecipientInfo (RFC 5652 §6.2.1).
type recipient struct {
	id        signerID
	algorithm string // key encryption OID
	params    []byte
	key       []byte // the encrypted content key
}

// signerID is a RecipientIdentifier or SignerIdentifier: issuer and serial, or
// a subject key identifier.
type signerID struct {
	issuer []byte // DER Name
	serial []byte // INTEGER contents
	keyID  []byte
}

func readID(c *cursor) (id signerID) {
	switch c.peek() {
	case tagSequence:
		seq := c.enter(tagSequence)
		id.issuer = seq.expect(tagSequence).raw
		id.serial = seq.expect(tagInteger).body
		if seq.err != nil {
			c.err = seq.err
		}
	case tagImplicit0:
		id.keyID = c.next().body
	default: // [0] wrapped explicitly by some old senders
		inner := c.enter(tagContext0)
		id.keyID = inner.expect(tagOctetString).body
		if inner.err != nil {
			c.err = inner.err
		}
	}
	return id
}

// names reports whether id means cert. A certificate without the subject key
// identifier extension matches no key identifier.
func (id signerID) names(cert *x509.Certificate) bool {
	if cert == nil {
		return false
	}
	if id.keyID != nil {
		return len(cert.SubjectKeyId) > 0 && bytes.Equal(id.keyID, cert.SubjectKeyId)
	}
	return bytes.Equal(id.issuer, cert.RawIssuer) && id.sameSerial(cert)
}

func (id signerID) sameSerial(cert *x509.Certificate) bool {
	return len(id.serial) > 0 && len(id.serial) <= 64 && cert != nil && cert.SerialNumber != nil &&
		new(big.Int).SetBytes(id.serial).Cmp(cert.SerialNumber) == 0
}

// maxRecipients bounds what is kept of a message's recipient list; real ones
// name the receiver and perhaps the sender.
const maxRecipients = 256

// parseEnvelope reads everything but the plaintext. What follows the outermost
// element is ignored: transports add line ends.
func parseEnvelope(b []byte) (*envelope, error) {
	top := cursor{rest: b}
	info := top.enter(tagSequence)
	kind := kindOf(string(info.expect(tagOID).body))
	data := info.enter(tagContext0).enter(tagSequence)
	data.expect(tagInteger) // version says nothing the rest does not
	data.skip(tagContext0)  // originatorInfo
	recipients := data.enter(tagSet)

	env := &envelope{}
	env.readContentInfo(data.enter(tagSequence))
	for recipients.more() && len(env.recipients) < maxRecipients {
		if r, ok := readRecipient(recipients.next()); ok {
			env.recipients = append(env.recipients, r)
		}
	}
	if data.err != nil || recipients.err != nil || env.suite.name == "" {
		return env, ErrDecrypt
	}
	switch {
	case kind == AuthEnveloped && env.suite.gcm:
		return env, env.readMAC(data)
	case kind == Enveloped:
		// GCM too, with the tag behind the ciphertext: Bouncy Castle's S/MIME
		// generator, and so phase2, puts it here against RFC 5084 §1, as does
		// PKI.js.
		return env, nil
	}
	return env, ErrDecrypt
}

// readRecipient reads a key transport recipient; other kinds are told apart by
// their context tags and skipped.
func readRecipient(e element) (recipient, bool) {
	if e.tag != tagSequence {
		return recipient{}, false
	}
	c := cursor{rest: e.body}
	c.expect(tagInteger)
	r := recipient{id: readID(&c)}
	r.algorithm, r.params = readAlgorithm(&c)
	r.key = c.expect(tagOctetString).body
	return r, c.err == nil
}

// readAlgorithm reads an AlgorithmIdentifier: its OID and the encoding of its
// parameters, if any.
func readAlgorithm(c *cursor) (oid string, params []byte) {
	seq := c.enter(tagSequence)
	oid = string(seq.expect(tagOID).body)
	if seq.more() {
		params = seq.next().raw
	}
	if seq.err != nil {
		c.err = seq.err
	}
	return oid, params
}

// readContentInfo reads an EncryptedContentInfo. On any fault it leaves the
// suite without a name.
func (env *envelope) readContentInfo(c *cursor) {
	c.expect(tagOID)
	oid, params := readAlgorithm(c)
	content := c.next()
	if c.err != nil || content.tag != tagImplicit0 && content.tag != tagContext0 {
		return
	}
	var err error
	if env.ciphertext, err = octets(content); err != nil {
		return
	}
	s := suiteOf(oid)
	p := cursor{rest: params}
	if s.gcm && p.peek() == tagSequence {
		env.readGCMParameters(&p)
	} else {
		// PKI.js, and so libas2, writes a bare nonce for GCM too, and a tag of
		// full length.
		env.iv, env.tagSize = p.expect(tagOctetString).body, 16
	}
	if p.err == nil {
		env.suite = s
	}
}

// readGCMParameters reads what RFC 5084 §3.2 defines.
func (env *envelope) readGCMParameters(p *cursor) {
	seq := p.enter(tagSequence)
	env.iv = seq.expect(tagOctetString).body
	env.tagSize = 12
	if seq.peek() == tagInteger {
		if v := seq.next().body; len(v) == 1 {
			env.tagSize = int(v[0])
		}
	}
	p.err = seq.err
}

// readMAC reads what follows the content of an AuthEnvelopedData and appends
// the tag to the ciphertext, where Go's AEADs look for it.
func (env *envelope) readMAC(c *cursor) error {
	if c.peek() == tagContext1 {
		env.aad = derSet(c.next().body)
	}
	mac, err := octets(c.expect(tagOctetString))
	if c.err != nil || err != nil || len(mac) != env.tagSize {
		return ErrDecrypt
	}
	// The capacity is cut so that appending cannot overwrite the input.
	env.ciphertext = append(env.ciphertext[:len(env.ciphertext):len(env.ciphertext)], mac...)
	return nil
}
