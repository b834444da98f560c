package as2client

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// judge holds an HTTP answer against the message it is for.
func (p Prepared) judge(status int, header http.Header, body []byte) Answer {
	a := Answer{Status: status, Header: header, Raw: body}
	taken := status >= 200 && status < 300
	if !taken {
		a.fault(ErrStatus, "%s", statusText(status, header, body))
	}
	parsed, err := mdn.Parse(header.Get("Content-Type"), body)
	switch {
	case err == nil:
		a.HasReceipt, a.Receipt = true, parsed
		p.judgeReceipt(&a)
	case !errors.Is(err, mdn.ErrNoReport):
		a.fault(ErrUnreadable, "%v", err)
	case taken && p.Receipt.Wanted && p.Receipt.AsyncURL != "":
		a.Pending = true // RFC 4130 §7.3: the receipt comes by itself
	case taken && p.Receipt.Wanted:
		a.fault(ErrNoReceipt, "the answer is %s", describe(header, body))
	}
	return a
}

// judgeLate holds a receipt that came on its own connection against the message.
func (p Prepared) judgeLate(r Received) Answer {
	a := Answer{Header: r.Header, Raw: r.Raw, HasReceipt: true, Receipt: r.Receipt}
	p.judgeReceipt(&a)
	return a
}

func (p Prepared) judgeReceipt(a *Answer) {
	if id := a.Receipt.OriginalMessageID; id != p.MessageID {
		a.fault(ErrOtherMessage, "it names %q, not %q", id, p.MessageID)
	}
	if !a.Receipt.Disposition.Positive() {
		a.fault(ErrNegative, "%s", Outcome(a.Receipt.Disposition))
	}
	p.judgeMIC(a)
	p.judgeSignature(a)
}

// judgeMIC compares the content digest. A negative receipt need not have one: if
// nothing could be opened, there was nothing to digest (RFC 4130 §7.3.1).
func (p Prepared) judgeMIC(a *Answer) {
	mic := a.Receipt.MIC
	if mic.IsZero() {
		if p.Receipt.Signed && a.Receipt.Disposition.Positive() {
			a.fault(ErrMIC, "the receipt has none")
		}
		return
	}
	h, known := mdn.HashByName(mic.Algorithm)
	switch {
	case mic.Algorithm == "":
		for _, expected := range p.mics {
			a.MICOK = a.MICOK || bytes.Equal(expected, mic.Digest)
		}
	case known && p.mics[h] == nil || !known:
		a.fault(ErrMIC, "it is made with %q, which was not asked for", mic.Algorithm)
		return
	default:
		a.MICOK = bytes.Equal(p.mics[h], mic.Digest)
	}
	if !a.MICOK {
		a.fault(ErrMIC, "received %s, expected %s", mic, p.expected(h))
	}
}

func (p Prepared) expected(h crypto.Hash) string {
	if p.mics[h] == nil {
		h = crypto.SHA256
	}
	return mdn.MIC{Digest: p.mics[h], Algorithm: mdn.NameOf(h)}.String()
}

// judgeSignature verifies with pinned certificates. A negative receipt may be
// unsigned: a receiver that does not know the sender has no key to choose.
func (p Prepared) judgeSignature(a *Answer) {
	if !a.Receipt.Signed {
		if p.Receipt.Signed && a.Receipt.Disposition.Positive() {
			a.fault(ErrSignature, "the receipt is unsigned although a signed one was asked for")
		}
		return
	}
	if len(p.signers) == 0 {
		return
	}
	signature, err := smime.Verify(bytes.NewReader(a.Receipt.SignedContent), a.Receipt.Signature, p.signers)
	switch {
	case errors.Is(err, smime.ErrNoSigner):
		a.fault(ErrSignature, "none of the receipt certificates made it")
	case errors.Is(err, smime.ErrDigest):
		a.fault(ErrSignature, "the receipt was altered after it had been signed")
	case err != nil:
		a.fault(ErrSignature, "%v", err)
	default:
		a.SignatureOK, a.Signer = true, signature.Signer
	}
}

// Outcome is the disposition without its mode, such as "processed" or
// "processed/error: decryption-failed".
func Outcome(d mdn.Disposition) string {
	_, outcome, _ := strings.Cut(d.String(), "; ")
	return outcome
}

func statusText(status int, header http.Header, body []byte) string {
	s := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if words := plainWords(header, body); words != "" {
		s += ": " + words
	}
	if to := header.Get("Location"); to != "" {
		s += fmt.Sprintf(" (to %q, not followed)", to)
	}
	return s
}

func describe(header http.Header, body []byte) string {
	if len(body) == 0 {
		return "empty"
	}
	s := fmt.Sprintf("%d octets of %q", len(body), header.Get("Content-Type"))
	if words := plainWords(header, body); words != "" {
		s += ": " + words
	}
	return s
}

// plainWords is the beginning of a text answer, fit for one line of a terminal.
func plainWords(header http.Header, body []byte) string {
	if !strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "text/plain") {
		return ""
	}
	return oneLine(string(body[:min(len(body), 300)]))
}

// oneLine makes words from elsewhere fit for one line of a terminal: runs of
// blanks and line ends become one blank, other control characters and octets
// that are not UTF-8 become "?".
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
