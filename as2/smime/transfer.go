package smime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"
)

// peekSize is how far ahead an encoding's label is checked against the octets.
const peekSize = 4 << 10

// DecodeTransfer undoes a Content-Transfer-Encoding (RFC 2045 §6). Binary,
// 7bit, 8bit, absent and unknown ones leave the octets alone (in AS2 absence
// means binary, RFC 4130 §5.2.1). Base64 is read leniently, but content that
// does not begin like base64 is mislabelled and passed through.
func DecodeTransfer(r io.Reader, encoding string) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		src := NewSource(r)
		if prefix, _ := src.Peek(peekSize); !looksLikeBase64(prefix) {
			return src
		}
		return &base64Reader{src: src}
	case "quoted-printable":
		src := NewSource(r)
		return &quotedReader{src, quotedprintable.NewReader(src)}
	}
	return r
}

// ErrTransfer says that a transfer encoding is damaged.
var ErrTransfer = errors.New("smime: the transfer encoding is damaged")

// quotedReader tells the decoder's errors from those of what it reads.
type quotedReader struct {
	src *Source
	dec io.Reader
}

func (r *quotedReader) Read(p []byte) (int, error) {
	n, err := r.dec.Read(p)
	if err != nil && err != io.EOF && (r.src.err == nil || r.src.err == io.EOF) {
		err = fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	return n, err
}

func looksLikeBase64(prefix []byte) bool {
	for _, c := range prefix {
		if sextets[c] == notBase64 && !isBlank(c) && c != '=' {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

const pemBegin = "-----BEGIN "

// SniffCMS tells the kind of the CMS object that r is about to deliver, in
// binary, base64 or PEM, and consumes nothing. The octets alone decide: labels
// are missing and wrong in every combination, but a CMS object of more than 127
// octets begins with 0x30 0x8x, and in base64 with "MI".
func SniffCMS(r *Source) ContentKind {
	kind, _, _ := sniff(r)
	return kind
}

// BinaryCMS returns the binary form of the CMS object that r delivers. What
// [SniffCMS] does not know is passed through.
func BinaryCMS(r *Source) io.Reader {
	_, lead, encoded := sniff(r)
	r.skip(lead)
	if encoded {
		return &base64Reader{src: r}
	}
	return r
}

// sniffSize is how far ahead a CMS object is looked for.
const sniffSize = 256

// sniff returns with the kind how many octets stand before the object and
// whether it is in base64.
func sniff(r *Source) (kind ContentKind, lead int, encoded bool) {
	prefix, _ := r.Peek(sniffSize) // less at the end, or when the reader breaks off
	return SniffOctets(prefix)
}

// SniffOctets is [SniffCMS] for the first 256 octets of something. lead is how
// many of them stand before the object; encoded says that it is in base64.
func SniffOctets(prefix []byte) (kind ContentKind, lead int, encoded bool) {
	text := bytes.TrimLeft(prefix, " \t\r\n")
	if kind = Kind(text); kind != Unknown {
		return kind, len(prefix) - len(text), false
	}
	if bytes.HasPrefix(text, []byte(pemBegin)) {
		_, text = cutLine(text)
		text = bytes.TrimLeft(text, " \t\r\n")
	}
	if !bytes.HasPrefix(text, []byte("MI")) {
		return Unknown, 0, false
	}
	var head [48]byte
	n, _ := io.ReadFull(&base64Reader{src: NewSource(bytes.NewReader(text))}, head[:])
	if kind = Kind(head[:n]); kind == Unknown {
		return Unknown, 0, false
	}
	return kind, len(prefix) - len(text), true
}
