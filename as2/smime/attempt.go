package smime

import "crypto/cipher"

// maxAttempts bounds the private-key operations spent on one message, which
// anyone can post with as many recipients as fit.
const maxAttempts = 16

// probeSize is how much of the content is decrypted to tell the right key, in
// octets; a multiple of every block size.
const probeSize = 64

// attempt is one pair of a recipient and a key of ours.
type attempt struct {
	recipient recipient
	key       Key
	trial     bool // the identifiers do not match
}

// attempts lists the pairs worth trying: those whose identifiers match or,
// failing that, all of them, equal serial numbers first.
func (e *Envelope) attempts(keys []Key) []attempt {
	var named, serial, other []attempt
	for _, r := range e.recipients {
		for _, k := range keys {
			switch {
			case len(named)+len(serial) >= maxAttempts:
			case r.id.names(k.Certificate):
				named = append(named, attempt{r, k, false})
			case r.id.sameSerial(k.Certificate):
				serial = append(serial, attempt{r, k, true})
			case len(other) < maxAttempts:
				other = append(other, attempt{r, k, true})
			}
		}
	}
	list := named
	if len(list) == 0 {
		list = append(serial, other...)
	}
	return list[:min(len(list), maxAttempts)]
}

// choose finds the key that the content was encrypted with, by how its start
// decrypts. RSAES-PKCS1-v1_5 yields a key even where it fails, see
// [recipient.unwrap], so that this is all there is to go by. Where several
// recipients are named as ours and none decrypts to a MIME entity, the first
// one's key is the right one, or none is. The result is nil if none can be.
func (e *Envelope) choose(keys []Key, start []byte) cipher.Block {
	var first cipher.Block
	for _, a := range e.attempts(keys) {
		key, ok := a.recipient.unwrap(a.key, e.suite.key)
		if !ok {
			continue
		}
		block, err := e.suite.block(key)
		if err != nil {
			continue
		}
		if first == nil && !a.trial {
			first = block
		}
		if PlausibleEntity(e.probe(block, start)) {
			return block
		}
	}
	return first
}

// probe decrypts the start of the content.
func (e *Envelope) probe(block cipher.Block, start []byte) []byte {
	if e.suite.gcm {
		opener, err := newGCMOpener(block, e.iv)
		if err != nil {
			return nil
		}
		plain := make([]byte, len(start))
		newGCMStream(block, opener.first).XORKeyStream(plain, start)
		return plain
	}
	size := block.BlockSize()
	if len(e.iv) != size {
		return nil
	}
	plain := make([]byte, len(start)/size*size)
	cipher.NewCBCDecrypter(block, e.iv).CryptBlocks(plain, start[:len(plain)])
	return plain
}

// PlausibleEntity tells the beginning of a MIME entity, of which 64 octets are
// enough, from noise: it has a field name first, and no octet in its first line
// that text would not have.
func PlausibleEntity(b []byte) bool {
	line, _ := cutLine(b[:min(len(b), 64)])
	for _, c := range line {
		if c >= 0x7f || c < ' ' && c != '\t' {
			return false
		}
	}
	for i, c := range line {
		if !isFieldNameByte(c) {
			return c == ':' && i > 3
		}
	}
	return false
}
