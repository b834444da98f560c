package interchange

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

// AS4 packs the SOAP envelope and its payloads into multipart/related (RFC
// 2387, SOAP with Attachments): the root part is the first one, or the one that
// start names.

// maxMIMEHeader bounds the header of the message and of each part.
const maxMIMEHeader = 4 << 10

// A mimeHeader is what is needed of a header.
type mimeHeader struct {
	width           int // with the empty line behind it
	media           string
	boundary, start string
	encoding, id    string
}

// mimeBegins tells whether b begins a multipart/related message.
func mimeBegins(b []byte) bool {
	if len(b) < 4 || !alphanumeric(b[0]) {
		return false
	}
	h, ok := parseMIME(b)
	return ok && h.media == "multipart/related" && h.boundary != ""
}

// parseMIME reads the header at the beginning of b.
func parseMIME(b []byte) (h mimeHeader, ok bool) {
	b = b[:min(len(b), maxMIMEHeader)]
	var name, value []byte
	for rest := b; ; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			return h, false
		}
		rest = after
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') { // folded
			value = append(value, line...)
			continue
		}
		h.set(name, value)
		if len(line) == 0 {
			h.width = len(b) - len(rest)
			return h, true
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || !isToken(line[:colon]) {
			return h, false
		}
		name, value = line[:colon], bytes.Clone(line[colon+1:])
	}
}

func isToken(b []byte) bool {
	for _, c := range b {
		if !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func (h *mimeHeader) set(name, value []byte) {
	text := strings.TrimSpace(string(value))
	switch strings.ToLower(string(name)) {
	case "content-type":
		media, parameters, _ := strings.Cut(text, ";")
		h.media = strings.ToLower(strings.TrimSpace(media))
		h.boundary, h.start = parameter(parameters, "boundary"), parameter(parameters, "start")
	case "content-transfer-encoding":
		h.encoding = strings.ToLower(text)
	case "content-id":
		h.id = text
	}
}

// parameter returns a parameter of a media type (RFC 2045 §5.1).
func parameter(list, name string) string {
	for list != "" {
		key, rest, _ := strings.Cut(list, "=")
		key = strings.Trim(key, " \t;")
		rest = strings.TrimLeft(rest, " \t")
		var value string
		if strings.HasPrefix(rest, `"`) {
			value, rest, _ = strings.Cut(rest[1:], `"`)
		} else {
			value, rest, _ = strings.Cut(rest, ";")
			value = strings.TrimSpace(value)
		}
		if strings.EqualFold(key, name) {
			return value
		}
		list = rest
	}
	return ""
}

// readMIME reads an AS4 message with its parts.
func readMIME(s *scanner, ic *Interchange) {
	m := s.openMarkup(ic)
	defer m.close()
	h, _ := parseMIME(s.need(lookahead))
	s.advance(h.width)
	delimiter := []byte("--" + h.boundary)
	if !s.passDelimiter(delimiter, nil) {
		s.abandonParts(ic, noRoot)
		return
	}
	var before [][sha256.Size]byte // the parts before the root
	for {
		part, ok := parseMIME(s.need(lookahead))
		if !ok || len(before) == maxParts {
			s.abandonParts(ic, noRoot)
			return
		}
		s.advance(part.width)
		if h.start == "" || strings.Trim(part.id, "<>") == strings.Trim(h.start, "<>") {
			if part.encoding == "base64" || part.encoding == "quoted-printable" {
				s.abandonParts(ic, badEncoding)
				return
			}
			break
		}
		m.part.begin("part", nil)
		if !s.passDelimiter(delimiter, &m.part) {
			s.abandonParts(ic, noRoot)
			return
		}
		before = append(before, m.part.sum())
	}
	if !m.readDocument() {
		return
	}
	if m.dialect != as4Envelope {
		m.forget()
		s.abandonParts(ic, noRoot)
		return
	}
	for _, sum := range before {
		m.forms[0].digest(sum)
	}
	m.parts(delimiter)
	m.complete()
}

// maxParts bounds how many parts a message may have before its root.
const maxParts = 100

// abandonParts makes the rest of the payload known by its content.
func (s *scanner) abandonParts(ic *Interchange, why irregularity) {
	s.flag(why)
	ic.Standard = Content
	s.drain()
}

// parts adds the parts behind the root to the content, as those before it are: the digest of each one's
// octets, without its header.
func (m *markup) parts(delimiter []byte) {
	if !m.passDelimiter(delimiter, nil) {
		m.flag(noTrailer)
		return
	}
	for !bytes.HasPrefix(m.need(lookahead), []byte("--")) {
		if h, ok := parseMIME(m.need(lookahead)); ok {
			m.advance(h.width)
		}
		m.part.begin("part", nil)
		ended := m.passDelimiter(delimiter, &m.part)
		m.forms[0].digest(m.part.sum())
		if !ended {
			m.flag(noTrailer)
			return
		}
	}
	line, _, _ := bytes.Cut(m.need(lookahead), []byte("\n"))
	m.advance(min(len(line)+1, len(m.need(lookahead))))
}

// passDelimiter passes over everything up to and with the next delimiter line,
// except for "--" behind a close delimiter. What precedes its line break goes to
// the form. It reports false at the end of the payload.
func (s *scanner) passDelimiter(delimiter []byte, to *canon) bool {
	for before := byte('\n'); ; {
		b := s.need(lookahead)
		at := bytes.Index(b, delimiter)
		if at < 0 {
			n := max(len(b)-len(delimiter)-2, 0) // it may be cut off, and so may be the line break before it
			if s.eof {
				n = len(b)
			}
			to.pass(b[:n])
			if s.advance(n); len(b) == n {
				return false
			}
			continue
		}
		end := at + len(delimiter)
		width, ok := lineEnd(b[end:])
		if at > 0 {
			before = b[at-1]
		}
		if before != '\n' || !ok { // it only looks like one
			to.pass(b[:end])
			s.advance(end)
			before = b[end-1]
			continue
		}
		to.pass(bytes.TrimSuffix(bytes.TrimSuffix(b[:at], []byte("\n")), []byte("\r")))
		s.advance(end + width)
		return true
	}
}

// pass writes octets, if anybody wants them.
func (c *canon) pass(b []byte) {
	if c != nil {
		c.write(b)
	}
}

// lineEnd returns how much there is between a delimiter and the next line, and
// whether that is nothing but white space (RFC 2046 §5.1.1). Before "--", the
// end of the last part, it is nothing.
func lineEnd(b []byte) (int, bool) {
	if bytes.HasPrefix(b, []byte("--")) {
		return 0, true
	}
	for i, c := range b {
		switch c {
		case '\n':
			return i + 1, true
		case ' ', '\t', '\r':
		default:
			return 0, false
		}
	}
	return len(b), true
}
