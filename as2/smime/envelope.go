package smime

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"io"
)

// Decryption is how envelopes are opened.
type Decryption struct {
	// Keys are ours; several may overlap.
	Keys []Key
	// NewSpool makes the place where the plaintext of authenticated ciphers
	// waits for its tag; nil keeps it in memory.
	NewSpool func() (Spool, error)
	// RC2 permits that cipher, which nothing does by default.
	RC2 bool
}

// Envelope reads the content of an EnvelopedData (RFC 5652 §6.1) or
// AuthEnvelopedData (RFC 5083 §2.1).
type Envelope struct {
	stream     *stream
	recipients []recipient
	suite      suite
	iv         []byte // CBC initialisation vector or GCM nonce
	tagSize    int    // GCM only
	ciphertext io.Reader
	inline     *tailReader // GCM's ciphertext with the tag behind it; nil where the tag has a field of its own
	cbc        *cbcReader
	spool      Spool
	plain      io.Reader
	err        error // sticks
}

// OpenEnvelope reads an envelope from src, in binary, up to its content.
//
// Recipients are found by issuer and serial or by key identifier. If none
// means one of our keys, every pair is tried, since issuer names get re-encoded
// on the way; the result then has to begin like a MIME entity, because nothing
// else would tell that the key is the right one.
//
// Every refusal, here and of Read, is [ErrDecrypt]; src and the spool report
// their own. The Envelope is never nil.
func OpenEnvelope(src io.Reader, d Decryption) (*Envelope, error) {
	e := &Envelope{stream: newStream(src)}
	if err := e.open(d); err != nil {
		e.err = e.refusal(err)
		return e, e.err
	}
	return e, nil
}

// Cipher names the content cipher, such as "aes-256-cbc"; "" if it could not be
// read.
func (e *Envelope) Cipher() string { return e.suite.name }

// Authenticated reports whether the cipher authenticates, so that whatever Read
// returns has been sealed by the sender as it is.
func (e *Envelope) Authenticated() bool { return e.suite.gcm }

// Damaged reports, once Read has returned io.EOF, that the padding of the last
// block is wrong: the content is somebody's alteration, or its end is lost.
// Read makes no error of it, so that what is done with the content, and
// answered, need not depend on it: a sender who can tell right padding from
// wrong can decrypt what it has intercepted. A signature inside the envelope
// tells as much without that. Content that nothing else authenticates must be
// refused.
func (e *Envelope) Damaged() bool { return e.cbc != nil && e.cbc.damaged }

// Close gives the spool back. It must be called when the content is done with.
func (e *Envelope) Close() error {
	if e.spool == nil {
		return nil
	}
	return e.spool.Close()
}

// Read reads the content. That of an authenticated cipher has been verified as
// a whole (RFC 5083 §3).
func (e *Envelope) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.plain.Read(p)
	if err == io.EOF {
		err = e.finish()
	}
	if err != nil {
		e.err = e.refusal(err)
	}
	if n > 0 {
		return n, nil
	}
	return 0, e.err
}

// finish reads what stands behind the content. That of AuthEnvelopedData has
// been read before the content was released.
func (e *Envelope) finish() error {
	if e.suite.gcm {
		return io.EOF
	}
	if err := e.stream.finish(); err != nil {
		return err
	}
	return io.EOF
}

// refusal makes failures of the envelope one.
func (e *Envelope) refusal(err error) error {
	if errors.Is(err, errBER) || errors.Is(err, errTag) {
		return ErrDecrypt
	}
	return err
}

func (e *Envelope) open(d Decryption) error {
	kind, err := e.readHead()
	if err != nil {
		return err
	}
	// GCM in an EnvelopedData has its tag behind the ciphertext: Bouncy Castle's S/MIME generator, and so phase2, puts it
	// there against RFC 5084 §1, as does PKI.js.
	right := kind == Enveloped || kind == AuthEnveloped && e.suite.gcm
	if !right || e.suite.name == "" || e.suite.name == "rc2-cbc" && !d.RC2 {
		return ErrDecrypt
	}
	if kind == Enveloped && e.suite.gcm {
		e.inline = &tailReader{from: e.ciphertext, size: e.tagSize}
		e.ciphertext = e.inline
	}
	start := make([]byte, probeSize)
	n, err := readFull(e.ciphertext, start)
	if err != nil && err != io.EOF {
		return err
	}
	start = start[:n]
	e.ciphertext = io.MultiReader(bytes.NewReader(start), e.ciphertext)
	block := e.choose(d.Keys, start)
	if block == nil {
		return ErrDecrypt
	}
	if e.suite.gcm {
		return e.openGCM(block, d.NewSpool)
	}
	if len(e.iv) != block.BlockSize() {
		return ErrDecrypt
	}
	e.cbc = newCBCReader(e.ciphertext, block, e.iv)
	e.plain = e.cbc
	return nil
}

// maxRecipients bounds what is kept of a message's recipient list; real ones
// name the receiver and perhaps the sender.
const maxRecipients = 256

// readHead reads up to the ciphertext.
func (e *Envelope) readHead() (ContentKind, error) {
	s := e.stream
	kind, err := s.contentInfo()
	if err != nil {
		return kind, err
	}
	if _, err := s.expect(tagInteger); err != nil { // the version says nothing the rest does not
		return kind, err
	}
	if tag, err := s.peekTag(); err != nil {
		return kind, err
	} else if tag == tagContext0 { // originatorInfo
		if err := s.skip(); err != nil {
			return kind, err
		}
	}
	if err := e.readRecipients(); err != nil {
		return kind, err
	}
	if err := s.enter(tagSequence); err != nil { // encryptedContentInfo
		return kind, err
	}
	if _, err := s.expect(tagOID); err != nil {
		return kind, err
	}
	algorithm, err := s.expect(tagSequence)
	if err != nil {
		return kind, err
	}
	e.readAlgorithm(algorithm)
	content, err := s.octets(tagImplicit0)
	e.ciphertext = content
	return kind, err
}

func (e *Envelope) readRecipients() error {
	s := e.stream
	if err := s.enter(tagSet); err != nil {
		return err
	}
	for {
		tag, err := s.peekTag()
		if err != nil {
			return err
		}
		if tag == 0 {
			return s.leave()
		}
		if tag != tagSequence || len(e.recipients) == maxRecipients { // another kind of recipient
			if err := s.skip(); err != nil {
				return err
			}
			continue
		}
		info, err := s.expect(tagSequence)
		if err != nil {
			return err
		}
		if r, ok := readRecipient(info); ok {
			e.recipients = append(e.recipients, r)
		}
	}
}

// readAlgorithm reads the content encryption algorithm with its parameters. On
// any fault it leaves the suite without a name.
func (e *Envelope) readAlgorithm(algorithm element) {
	oid, params := readAlgorithm(&cursor{rest: algorithm.raw})
	s := suiteOf(oid)
	p := cursor{rest: params}
	switch {
	case s.gcm && p.peek() != tagSequence: // PKI.js writes the nonce alone, and a tag of full length
		e.iv, e.tagSize = p.octetString(), blockSize
	case s.gcm: // GCMParameters, RFC 5084 §3.2
		seq := p.enter(tagSequence)
		e.iv = seq.octetString()
		e.tagSize = 12
		if seq.peek() == tagInteger {
			if v := seq.next().body; len(v) == 1 {
				e.tagSize = int(v[0])
			}
		}
		p.err = seq.err
	case s.name == "rc2-cbc": // RC2-CBC-Parameter, RFC 3370 §5.2
		seq := p.enter(tagSequence)
		s.key = rc2KeySize(seq.expect(tagInteger).body)
		e.iv = seq.octetString()
		if p.err = seq.err; s.key == 0 {
			p.err = errBER
		}
	default:
		e.iv = p.octetString()
	}
	if p.err == nil {
		e.suite = s
	}
}

// openGCM decrypts all of the content into a spool and releases it only if the
// tag, which comes last, verifies.
func (e *Envelope) openGCM(block cipher.Block, newSpool func() (Spool, error)) error {
	opener, err := newGCMOpener(block, e.iv)
	if err != nil {
		return err
	}
	if newSpool == nil {
		newSpool = NewMemorySpool
	}
	if e.spool, err = newSpool(); err != nil {
		return err
	}
	if err := opener.decrypt(e.spool, e.ciphertext); err != nil {
		return err
	}
	data, tag, err := e.readMAC()
	if err != nil {
		return err
	}
	if err := opener.verify(data, tag); err != nil {
		return err
	}
	e.plain, err = e.spool.Open()
	return err
}

// readMAC reads what follows the content of an AuthEnvelopedData, to the end:
// the authenticated attributes as they are authenticated (RFC 5083 §2.2), and
// the tag.
func (e *Envelope) readMAC() (data, tag []byte, err error) {
	s := e.stream
	if e.inline != nil {
		if tag = e.inline.tail(); len(tag) != e.tagSize {
			return nil, nil, errBER
		}
		return nil, tag, s.finish()
	}
	if err := s.leave(); err != nil { // encryptedContentInfo
		return nil, nil, err
	}
	next, err := s.peekTag()
	if err != nil {
		return nil, nil, err
	}
	if next == tagContext1 {
		attrs, err := s.expect(tagContext1)
		if err != nil {
			return nil, nil, err
		}
		data = derSet(attrs.body)
	}
	mac, err := s.element(maxElement)
	if err != nil {
		return nil, nil, err
	}
	if mac.tag&^tagConstructed != tagOctetString {
		return nil, nil, errBER
	}
	if tag, err = octets(mac); err != nil || len(tag) != e.tagSize {
		return nil, nil, errBER
	}
	return data, tag, s.finish()
}
