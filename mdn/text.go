package mdn

import (
	"bytes"
	"strings"
)

// textColumns is the longest line of 7bit text (RFC 5322 §2.1.1).
const textColumns = 998

// text is the human-readable part: short, and without anything that only the
// receiver's operators should know.
func (r Report) text() string {
	if r.Text != "" {
		return r.Text
	}
	status := "It was received."
	switch {
	case !r.Disposition.Positive():
		status = "It was not accepted: " + r.Disposition.outcome() + "."
	case r.Disposition.Modifier != "":
		status = "It was received with a " + r.Disposition.Modifier + ": " + r.Disposition.Text + "."
	}
	id := r.OriginalMessageID
	if id == "" {
		id = "without Message-ID"
	}
	return "Receipt for message " + id + "\n" +
		"sent to " + r.FinalRecipient + ".\n" +
		status + "\n" +
		"This says nothing about the further processing of its content.\n"
}

// writeText writes s as 7bit text with CRLF line ends, whatever s has.
func writeText(b *bytes.Buffer, s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		line = ascii(line)
		for len(line) > textColumns {
			b.WriteString(line[:textColumns] + "\r\n")
			line = line[textColumns:]
		}
		b.WriteString(line + "\r\n")
	}
}
