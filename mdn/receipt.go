package mdn

import (
	"bytes"
	"errors"
	"fmt"
)

// Field is one header line, spelled as it goes on the wire. Set it on an
// http.Header by map index, not with Set, which would write "As2-From".
type Field struct{ Name, Value string }

// Receipt is a receipt as an HTTP entity: the answer to a POST, or the content
// of one if it is asynchronous. Content-Length is the transport's to add, and
// must be there: old products cannot read a chunked receipt.
type Receipt struct {
	Header []Field
	Body   []byte
}

// Marshal is the receipt in one piece, to be stored and sent again to the octet:
// header lines, blank line, body.
func (r Receipt) Marshal() []byte {
	var b bytes.Buffer
	for _, f := range r.Header {
		writeField(&b, f.Name, f.Value)
	}
	b.WriteString("\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

// UnmarshalReceipt reads what Marshal wrote and is strict about it. Body shares
// its memory with b.
func UnmarshalReceipt(b []byte) (Receipt, error) {
	var r Receipt
	for {
		line, rest, found := bytes.Cut(b, []byte("\r\n"))
		if !found {
			return Receipt{}, errors.New("mdn: stored receipt: header does not end")
		}
		if len(line) == 0 {
			r.Body = rest
			return r, nil
		}
		name, value, found := bytes.Cut(line, []byte(": "))
		if !found || len(name) == 0 || clean(string(line)) != string(line) {
			return Receipt{}, fmt.Errorf("mdn: stored receipt: header line %d is malformed", len(r.Header)+1)
		}
		r.Header = append(r.Header, Field{Name: string(name), Value: string(value)})
		b = rest
	}
}

// writeField writes one header line and never folds it, however long: products
// behind a proxy lose what stands on the second line.
func writeField(b *bytes.Buffer, name, value string) {
	b.WriteString(name)
	b.WriteString(": ")
	b.WriteString(clean(value))
	b.WriteString("\r\n")
}
