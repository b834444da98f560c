package gateway

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// order says which receipt the message asks for.
func (x *exchange) order() ReceiptOrder {
	want := x.header.Receipt
	if !want.Wanted {
		return ReceiptOrder{} // RFC 4130 §7.6: a plain 2xx, and no unsolicited receipt
	}
	kind := "unsigned"
	if want.Signed {
		kind = "signed " + mdn.NameOf(x.receiptHash())
	}
	if !x.opened.MIC.IsZero() {
		kind += " mic " + x.opened.MIC.Algorithm
	}
	url := x.asyncURL()
	if url != "" {
		kind += " to " + url
	}
	return ReceiptOrder{Kind: text(kind), AsyncURL: url, Compose: func(duplicate bool) (Receipt, error) {
		disposition := mdn.Processed
		if duplicate && x.partner.OnDuplicate == partners.AnswerWarning {
			disposition = mdn.DuplicateDocument
		}
		return x.compose(disposition, "")
	}}
}

// asyncURL is where the receipt goes instead of this connection. An address that the agreement does not allow gets no
// request from us (RFC 4130 §7.3 lets anybody write one there); the partner is then answered here.
func (x *exchange) asyncURL() string {
	url := x.header.Receipt.AsyncURL
	if url == "" || x.partner == nil {
		return ""
	}
	err := x.partner.AllowsAsync(url)
	if err == nil && !isASCII(url) { // RFC 3986 §2: no URL, and no text that the receipt's row could hold
		err = errors.New("receipt URL: octets beyond ASCII")
	}
	if err != nil {
		x.attrs = append(x.attrs, slog.String("async_refused", err.Error()))
		return ""
	}
	return url
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c > unicode.MaxASCII }) < 0
}

// receiptHash is the digest of the receipt's signature: the one the partner asked its MIC in, else the one it signed with.
func (x *exchange) receiptHash() crypto.Hash {
	h, _, ok := mdn.ChooseMIC(x.header.Receipt.MICAlgorithms, x.opened.Digest)
	if !ok {
		return crypto.SHA256
	}
	return h
}

// compose builds the receipt, signed if that was asked for and the pair is known.
func (x *exchange) compose(disposition mdn.Disposition, words string) (Receipt, error) {
	id := "<" + uuid.NewString() + "@firstcopy>"
	report := mdn.Report{ReportingUA: "firstcopy", OriginalRecipient: x.header.To, FinalRecipient: x.header.To,
		OriginalMessageID: x.header.MessageID, Disposition: disposition, MIC: x.opened.MIC, Text: words}
	envelope := mdn.Envelope{From: x.header.To, To: x.header.From, MessageID: id, Subject: "Message disposition notification",
		Date: time.Now()}
	var sign mdn.Sign
	if x.header.Receipt.Signed && x.station != nil {
		key, err := x.station.SigningKey(time.Now())
		if err != nil {
			return Receipt{}, err
		}
		sign = func(content []byte, h crypto.Hash) ([]byte, error) {
			return smime.Sign(bytes.NewReader(content), key, h)
		}
	}
	composed, err := mdn.Compose(report, envelope, sign, x.receiptHash())
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{MessageID: id, Disposition: disposition.String(), MIC: text(report.MIC.String()), Octets: composed.Marshal()}, nil
}

// fail answers a message that was not taken. Nothing of it has been kept.
func (x *exchange) fail(err error) {
	a, detail := answerTo(err)
	x.err, x.outcome = err, a.outcome
	if detail == "" {
		detail = a.text
	}
	if a.status != http.StatusOK {
		if a.status == http.StatusServiceUnavailable {
			x.w.Header().Set("Retry-After", "30")
		}
		if a.status != http.StatusBadRequest && !x.unsent() {
			x.body.drain(maxDrain)
		}
		x.w.Header().Set("Connection", "close")
		x.write(a.status, "text/plain; charset=us-ascii", []byte(detail+"\r\n"))
		return
	}
	x.body.drain(maxDrain)
	// About a receipt there is no receipt (RFC 8098 §2.1), not even one that says it cannot be trusted.
	if !x.header.Receipt.Wanted || x.header.MessageID == "" || x.opened.IsReceipt {
		x.write(http.StatusBadRequest, "text/plain; charset=us-ascii", []byte(a.disposition.String()+"\r\n"+detail+"\r\n"))
		return
	}
	receipt, err := x.compose(a.disposition, detail)
	if err != nil {
		x.err = fmt.Errorf("composing the receipt: %w", err)
		x.write(unavailable.status, "text/plain; charset=us-ascii", []byte(unavailable.text+"\r\n"))
		return
	}
	x.attrs = append(x.attrs, slog.String("disposition", receipt.Disposition))
	if url := x.asyncURL(); url != "" {
		x.late.post(x.partner, url, receipt.Octets)
		x.send(nil)
		return
	}
	x.send(receipt.Octets)
}

// unsent reports whether the partner waits for 100 Continue, which the first read would send, before it sends the body.
func (x *exchange) unsent() bool { return x.body.count == 0 && x.r.Header.Get("Expect") != "" }

// stranger answers a pair that nobody agreed on: with an unsigned MDN (RFC 4130 §6.2), on the same connection only.
func (x *exchange) stranger() {
	x.outcome = "unknown_partner"
	x.body.drain(maxDrain)
	x.attrs = append(x.attrs, slog.String("disposition", mdn.UnknownTradingRelationship.String()))
	words := "There is no agreement between the AS2-From and AS2-To of this message. Names are compared case-sensitively."
	if !x.header.Receipt.Wanted {
		x.write(http.StatusForbidden, "text/plain; charset=us-ascii", []byte(words+"\r\n"))
		return
	}
	receipt, err := x.compose(mdn.UnknownTradingRelationship, words)
	if err != nil {
		x.err = err
		x.write(unavailable.status, "text/plain; charset=us-ascii", []byte(unavailable.text+"\r\n"))
		return
	}
	x.send(receipt.Octets)
}

func (x *exchange) busy(words string) {
	x.outcome = "busy"
	x.w.Header().Set("Retry-After", "10")
	x.w.Header().Set("Connection", "close")
	x.write(http.StatusServiceUnavailable, "text/plain; charset=us-ascii", []byte(words+"\r\n"))
}

// send writes a stored or fresh receipt as it stands, or an empty 200 where there is none to give on this connection.
func (x *exchange) send(octets []byte) {
	if octets == nil {
		x.write(http.StatusOK, "", nil)
		return
	}
	receipt, err := mdn.UnmarshalReceipt(octets)
	if err != nil {
		x.err = err
		x.write(unavailable.status, "text/plain; charset=us-ascii", []byte(unavailable.text+"\r\n"))
		return
	}
	h := x.w.Header()
	for _, f := range receipt.Header {
		h[f.Name] = []string{f.Value} // not Set: names keep the spelling that old products look for, such as AS2-From
	}
	x.write(http.StatusOK, "", receipt.Body)
}

// answerDeadline is how long a partner may take to read its answer.
const answerDeadline = 30 * time.Second

// write sends the answer in one piece with its length: many AS2 products read no chunked receipt (RFC 4130 §5.3.1).
func (x *exchange) write(status int, contentType string, content []byte) {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(answerDeadline))
	h := x.w.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	x.w.WriteHeader(status)
	if _, err := x.w.Write(content); err != nil {
		x.attrs = append(x.attrs, slog.String("answer_error", err.Error()))
	}
	x.attrs = append(x.attrs, slog.Int("http_status", status))
}

func plain(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=us-ascii")
	w.Header().Set("Content-Length", strconv.Itoa(len(words)+2))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(words + "\r\n"))
}

// cleanPath maps the spellings of a path that partners use onto one, without a redirect, which AS2 clients rarely follow.
func cleanPath(path string) string {
	var b strings.Builder
	b.WriteByte('/')
	for _, part := range strings.Split(path, "/") {
		if part != "" {
			if b.Len() > 1 {
				b.WriteByte('/')
			}
			b.WriteString(part)
		}
	}
	return b.String()
}
