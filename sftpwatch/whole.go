package sftpwatch

import (
	"io"
	"strings"

	"firstcopy/dedup/interchange"
)

// missing says in which way a payload looks like one that is still being written; "" if it looks whole. Envelopes say so
// themselves. What has none that is known is looked at by its first and last octets, which XML and JSON need to be something;
// of anything else nothing can be told.
func missing(found []interchange.Interchange, payload Payload) (string, error) {
	var all []string
	for i := range found {
		all = append(all, found[i].Missing()...)
	}
	if len(all) > 0 || len(found) != 1 || found[0].Standard != interchange.Content || found[0].Complete {
		return strings.Join(all, "; "), nil
	}
	head, err := piece(payload, 0)
	if err != nil {
		return "", err
	}
	tail, err := piece(payload, max(0, payload.Size()-lookAt))
	if err != nil {
		return "", err
	}
	return unfinished(head, tail, payload.Size() <= lookAt), nil
}

// lookAt is how much of either end is looked at.
const lookAt = 4 << 10

func piece(payload Payload, at int64) (string, error) {
	octets, err := io.ReadAll(payload.Section(at, min(payload.Size(), at+lookAt)))
	if err != nil {
		return "", &Fault{Kind: KindOurs, Doing: "reading what was read", Err: err}
	}
	return string(octets), nil
}

const blanks = " \t\r\n"

// unfinished judges content without a known envelope. whole says that the head is all of it.
func unfinished(head, tail string, whole bool) string {
	head = strings.TrimLeft(strings.TrimPrefix(head, "\xef\xbb\xbf"), blanks+"\x00")
	end := strings.TrimRight(tail, blanks)
	switch {
	case head == "" && whole, strings.HasSuffix(tail, "\x00\x00\x00\x00"):
		return "nothing but blanks at its end" // room that was made before its content
	case strings.HasPrefix(head, "{") && !strings.HasSuffix(end, "}"), strings.HasPrefix(head, "[") && !strings.HasSuffix(end, "]"):
		return "an unclosed bracket"
	case strings.HasPrefix(head, "<"):
		return unclosed(head, end, whole)
	}
	for _, tag := range []string{"UNA", "UNB", "UIB", "ISA", "STX=", "MSH"} {
		if strings.HasPrefix(head, tag) || whole && strings.HasPrefix(tag, head) {
			return "an envelope's beginning"
		}
	}
	return ""
}

// unclosed finds the name of the root element, and whether its end tag is the last one.
func unclosed(head, end string, whole bool) string {
	for {
		until := ""
		switch {
		case strings.HasPrefix(head, "<?"):
			until = "?>"
		case strings.HasPrefix(head, "<!--"):
			until = "-->"
		case strings.HasPrefix(head, "<!"):
			until = ">"
		}
		if until == "" {
			break
		}
		_, rest, found := strings.Cut(head, until)
		if !found {
			return only(whole, "an unclosed declaration")
		}
		head = strings.TrimLeft(rest, blanks)
	}
	if !strings.HasPrefix(head, "<") {
		return only(whole, "no root element")
	}
	name := head[1:]
	if stop := strings.IndexAny(name, blanks+"/>"); stop >= 0 {
		name = name[:stop]
	}
	last := end[max(0, strings.LastIndexByte(end, '<')):]
	switch {
	case strings.HasSuffix(end, "-->"), strings.HasSuffix(end, "?>"): // behind the root element, or so one hopes
		return ""
	case strings.HasPrefix(last, "</"+name) && strings.Trim(last[2+len(name):], blanks) == ">":
		return ""
	case strings.HasPrefix(last, "<"+name) && strings.HasSuffix(last, "/>"):
		return ""
	}
	return "an unclosed root element"
}

func only(when bool, text string) string {
	if when {
		return text
	}
	return ""
}
