package smime

import (
	"bytes"
	"errors"
)

// ErrMultipart says that a body is not a multipart/signed of exactly two parts.
var ErrMultipart = errors.New("smime: not a multipart/signed of two parts")

// SplitSigned slices a multipart/signed body (RFC 1847 §2.1) into the part
// that was signed, header included, and the part that holds the signature.
// Both share body's memory: the first has to be verified as it was received.
//
// The line end before a delimiter belongs to the delimiter (RFC 2046 §5.1.1),
// be it CRLF or LF. Preamble and epilogue are ignored, blanks after a
// delimiter tolerated, and so is a missing close delimiter. Further parts are
// refused, since nothing signs them.
func SplitSigned(body []byte, boundary string) (part, sigPart []byte, err error) {
	if boundary == "" {
		return nil, nil, ErrMultipart
	}
	marker := []byte("--" + boundary)
	open, ok := findDelimiter(body, marker)
	if !ok || open.closing {
		return nil, nil, ErrMultipart
	}
	rest := body[open.end:]
	middle, ok := findDelimiter(rest, marker)
	if !ok || middle.closing {
		return nil, nil, ErrMultipart
	}
	part, rest = rest[:middle.start:middle.start], rest[middle.end:]
	last, ok := findDelimiter(rest, marker)
	if !ok {
		return part, rest, nil
	}
	if !last.closing && len(bytes.TrimSpace(rest[last.end:])) > 0 {
		return nil, nil, ErrMultipart
	}
	return part, rest[:last.start], nil
}

// delimiter is a boundary line: start is where the line end before it begins,
// end is behind its own line end.
type delimiter struct {
	start, end int
	closing    bool
}

// findDelimiter finds the first boundary line in b. Only whole lines count: a
// boundary may be the beginning of another (RFC 2046 §5.1.2).
func findDelimiter(b, marker []byte) (delimiter, bool) {
	for at := 0; ; {
		i := bytes.Index(b[at:], marker)
		if i < 0 {
			return delimiter{}, false
		}
		i += at
		at = i + len(marker)
		if i > 0 && b[i-1] != '\n' {
			continue
		}
		line, rest := cutLine(b[at:])
		closing := bytes.HasPrefix(line, []byte("--"))
		if closing {
			line = line[2:]
		}
		if len(bytes.TrimRight(line, " \t\r")) > 0 {
			continue
		}
		return delimiter{lineEndBefore(b, i), len(b) - len(rest), closing}, true
	}
}

// lineEndBefore steps back from i over one CRLF or LF.
func lineEndBefore(b []byte, i int) int {
	if i > 0 && b[i-1] == '\n' {
		i--
		if i > 0 && b[i-1] == '\r' {
			i--
		}
	}
	return i
}
