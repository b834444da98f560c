package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"firstcopy/mdn"
)

// Vector makes the text-headed form of an accepted exchange that the tests of
// package as2 replay: what is expected, a blank line, and the message as it was
// received, its header lines without those of the connection. The expectations
// come from what was sent and from the receipt that the peer accepted.
func Vector(r Row, x Exchange) ([]byte, error) {
	receipt, err := mdn.Parse(x.ReplyType, x.ReplyBody)
	if err != nil {
		return nil, fmt.Errorf("the receipt of %s: %w", r.Case.ID, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "expect: %s\n", outcome(receipt.Disposition))
	fmt.Fprintf(&b, "comment: %s %s, %s\n", r.Peer, r.Version, r.Case.Packaging())
	if !receipt.MIC.IsZero() {
		fmt.Fprintf(&b, "mic: %s\n", receipt.MIC)
	}
	sum := sha256.Sum256([]byte(r.Case.Payload))
	fmt.Fprintf(&b, "payload-sha256: %s\n", hex.EncodeToString(sum[:]))
	fmt.Fprintf(&b, "signed: %t\nencrypted: %t\n\n", r.Case.Sign != "", r.Case.Encrypt != "")
	for _, line := range x.Header {
		fmt.Fprintf(&b, "%s\r\n", line)
	}
	b.WriteString("\r\n")
	b.Write(x.Body)
	return b.Bytes(), nil
}

// outcome is a disposition without its mode.
func outcome(d mdn.Disposition) string {
	_, outcome, _ := strings.Cut(d.String(), "; ")
	return outcome
}
