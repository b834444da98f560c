package mdn

import (
	"bytes"
	"strings"
)

// entity is one MIME entity, sliced out of the octets received: signatures
// cover those and nothing that was written again.
type entity struct {
	raw    []byte // header, blank line and body
	header header
	body   []byte
}

// parseEntity splits an entity at its first blank line. One whose first line is
// no header field has no header (RFC 2046 §5.1 allows parts without).
func parseEntity(raw []byte) entity {
	for rest := raw; len(rest) > 0; {
		var line []byte
		at := len(raw) - len(rest)
		line, rest = cutLine(rest)
		if len(line) == 0 {
			return entity{raw: raw, header: parseHeader(raw[:at]), body: rest}
		}
		if at == 0 && !bytes.Contains(line, []byte{':'}) {
			return entity{raw: raw, body: raw}
		}
	}
	return entity{raw: raw, header: parseHeader(raw)}
}

// splitParts slices a multipart body into its parts (RFC 2046 §5.1.1). The line
// end before a delimiter, CRLF or LF, belongs to the delimiter; preamble and
// epilogue are dropped; a missing close delimiter ends the last part where the
// body ends. Only a whole line is a delimiter, so that a boundary may begin with
// another one. An empty boundary stands for a lost parameter: then the first
// line that begins with two dashes names it.
func splitParts(body []byte, boundary string) []entity {
	var parts []entity
	boundary = strings.TrimRight(boundary, " \t")
	delimiter := []byte("--" + boundary)
	start := -1
	for at := 0; at < len(body); {
		line, rest := cutLine(body[at:])
		next := len(body) - len(rest)
		line = bytes.TrimRight(line, " \t")
		if boundary == "" && len(delimiter) == 2 && len(line) > 2 && bytes.HasPrefix(line, delimiter) {
			delimiter = line
		}
		suffix, found := bytes.CutPrefix(line, delimiter)
		last := string(suffix) == "--"
		if found && len(delimiter) > 2 && (len(suffix) == 0 || last) {
			if start >= 0 {
				parts = append(parts, parseEntity(body[start:max(start, beforeLineEnd(body, at))]))
			}
			start = next
			if last {
				return parts
			}
		}
		at = next
	}
	if start >= 0 {
		parts = append(parts, parseEntity(body[start:]))
	}
	return parts
}

// beforeLineEnd is the offset of the line end that precedes the line at.
func beforeLineEnd(body []byte, at int) int {
	if at > 0 && body[at-1] == '\n' {
		at--
		if at > 0 && body[at-1] == '\r' {
			at--
		}
	}
	return at
}
