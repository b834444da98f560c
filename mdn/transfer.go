package mdn

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"
)

// content is the entity's body with its transfer encoding undone. Names that
// RFC 2045 §6 does not know mean the octets as they are.
func (e entity) content() ([]byte, error) {
	switch strings.ToLower(unquote(e.header.get("Content-Transfer-Encoding"))) {
	case "base64":
		b, err := decodeBase64(e.body)
		if err != nil {
			return nil, fmt.Errorf("mdn: decoding part: %w", err)
		}
		return b, nil
	case "quoted-printable":
		b, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(e.body)))
		if err != nil {
			return nil, fmt.Errorf("mdn: decoding part: %w", err)
		}
		return b, nil
	}
	return e.body, nil
}

// signature is the DER or BER in a signature part. Products label base64 as
// binary and the other way round, so the octets decide: CMS begins with 0x30,
// its base64 form with "M".
func (e entity) signature() ([]byte, error) {
	text := bytes.TrimLeft(e.body, " \t\r\n")
	if len(text) > 0 && text[0] == 0x30 {
		return text, nil
	}
	der, err := decodeBase64(withoutArmour(text))
	if err != nil {
		return nil, fmt.Errorf("mdn: decoding signature: %w", err)
	}
	if len(der) == 0 || der[0] != 0x30 {
		return nil, errNoSignature
	}
	return der, nil
}

// withoutArmour drops PEM's BEGIN and END lines.
func withoutArmour(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("-----")) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if !bytes.HasPrefix(line, []byte("-----")) {
			out = append(out, line...)
		}
	}
	return out
}

// decodeBase64 ignores what is not of the alphabet, as RFC 2045 §6.8 has it, and
// does without padding. It ends at the first "=".
func decodeBase64(b []byte) ([]byte, error) {
	b, _, _ = bytes.Cut(b, []byte{'='})
	digits := bytes.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' {
			return c
		}
		return -1
	}, b)
	out, err := base64.RawStdEncoding.AppendDecode(nil, digits)
	if err != nil {
		return nil, fmt.Errorf("base64: %w", err)
	}
	return out, nil
}
