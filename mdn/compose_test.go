package mdn_test

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"firstcopy/mdn"
)

var (
	report = mdn.Report{
		ReportingUA:       "firstcopy",
		FinalRecipient:    "HUB",
		OriginalMessageID: "<1@part.example>",
		Disposition:       mdn.Processed,
		MIC:               mdn.MIC{Digest: []byte("0123456789abcdef0123"), Algorithm: "SHA1"},
		Text:              "Received.",
	}
	envelope = mdn.Envelope{
		From: "HUB", To: "PART", MessageID: "<2@hub.example>", Subject: "Receipt für 1",
		Date: time.Date(2026, time.March, 4, 6, 7, 8, 9, time.FixedZone("x", 3600)),
	}
)

func compose(t *testing.T, r mdn.Report, e mdn.Envelope, sign mdn.Sign) mdn.Receipt {
	t.Helper()
	receipt, err := mdn.Compose(r, e, sign, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func field(r mdn.Receipt, name string) string {
	for _, f := range r.Header {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

var randomBoundary = regexp.MustCompile(`(report|signed)-[a-z2-7]{26}`)

// fixed replaces the random boundaries by their labels.
func fixed(b []byte) string { return string(randomBoundary.ReplaceAll(b, []byte("$1"))) }

func lines(s ...string) string { return strings.Join(s, "\r\n") + "\r\n" }

var reportBody = lines(
	"--report",
	"Content-Type: text/plain; charset=us-ascii",
	"Content-Transfer-Encoding: 7bit",
	"",
	"Received.",
	"",
	"--report",
	"Content-Type: message/disposition-notification",
	"Content-Transfer-Encoding: 7bit",
	"",
	"Reporting-UA: firstcopy",
	"Original-Recipient: rfc822; HUB",
	"Final-Recipient: rfc822; HUB",
	"Original-Message-ID: <1@part.example>",
	"Disposition: automatic-action/MDN-sent-automatically; processed",
	"Received-content-MIC: MDEyMzQ1Njc4OWFiY2RlZjAxMjM=, SHA1",
	"",
	"--report--",
)

func TestComposeUnsignedWire(t *testing.T) {
	t.Parallel()
	want := lines(
		"AS2-Version: 1.1",
		"AS2-From: HUB",
		"AS2-To: PART",
		"MIME-Version: 1.0",
		"Message-ID: <2@hub.example>",
		"Date: Wed, 04 Mar 2026 05:07:08 GMT",
		"Subject: Receipt f?r 1",
		`Content-Type: multipart/report; report-type=disposition-notification; boundary="report"`,
		"",
	) + reportBody
	if got := fixed(compose(t, report, envelope, nil).Marshal()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestComposeSignedWire(t *testing.T) {
	t.Parallel()
	var signedOctets []byte
	receipt := compose(t, report, envelope, func(content []byte, h crypto.Hash) ([]byte, error) {
		if h != crypto.SHA256 {
			t.Errorf("signed with %v", h)
		}
		signedOctets = bytes.Clone(content)
		clear(content) // what a signer does to its argument must not reach the wire
		return bytes.Repeat([]byte{0x30}, 60), nil
	})
	if got, want := fixed([]byte(field(receipt, "Content-Type"))),
		`multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="signed"`; got != want {
		t.Errorf("Content-Type is %s, want %s", got, want)
	}
	content := `Content-Type: multipart/report; report-type=disposition-notification; boundary="report"` + "\r\n\r\n" + reportBody
	if got := fixed(signedOctets); got != content {
		t.Errorf("signed\n%s\nwant\n%s", got, content)
	}
	want := "--signed\r\n" + content + lines(
		"",
		"--signed",
		`Content-Type: application/pkcs7-signature; name="smime.p7s"`,
		"Content-Transfer-Encoding: base64",
		`Content-Disposition: attachment; filename="smime.p7s"`,
		"",
		strings.Repeat("MDAw", 19),
		"MDAw",
		"--signed--",
	)
	if got := fixed(receipt.Body); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestComposeVerifiesWithOpenSSL(t *testing.T) {
	t.Parallel()
	for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		t.Run(h.String(), func(t *testing.T) {
			t.Parallel()
			r := report
			r.OriginalMessageID = "<" + strings.Repeat("x", 988) + ">"
			r.FinalRecipient = "M\xfcller GmbH"
			r.Text = "Grüße \nline two\n\n"
			receipt, err := mdn.Compose(r, envelope, signer().sign, h)
			if err != nil {
				t.Fatal(err)
			}
			signer().openssl(t, receipt.Marshal())

			parsed, err := mdn.Parse(field(receipt, "Content-Type"), receipt.Body)
			if err != nil || !parsed.Signed || parsed.MICAlg != mdn.NameOf(h) {
				t.Fatalf("read back as %+v, %v", parsed, err)
			}
			content := filepath.Join(t.TempDir(), "content")
			write(t, content, parsed.SignedContent)
			signer().openssl(t, parsed.Signature, "-inform", "DER", "-binary", "-content", content)
		})
	}
}

// TestComposeLines looks at every line of receipts made of what partners send:
// CRLF only, none folded, none with a control character.
func TestComposeLines(t *testing.T) {
	t.Parallel()
	reports := map[string]mdn.Report{
		"plain":           report,
		"long message id": {OriginalMessageID: strings.Repeat("x y", 330), Disposition: mdn.Processed},
		"line ends everywhere": {
			ReportingUA: "a\r\nb", OriginalRecipient: "a\nb", FinalRecipient: "a\r\n b", OriginalMessageID: "a\r\n\tb\x00",
			Disposition: mdn.Disposition{Type: "processed", Modifier: "error", Text: "a\r\nb"},
			MIC:         mdn.MIC{Digest: []byte{1}, Algorithm: "x\r\ny"}, Text: "a\rb\nc\r\nd\x00\x7f",
		},
		"latin-1": {FinalRecipient: "\xe9", OriginalMessageID: "<\xfc@\xa0>", Disposition: mdn.Processed, Text: "\xfc"},
		"long text": {
			Disposition: mdn.Disposition{Type: "processed", Modifier: "error", Text: strings.Repeat("z", 3000)},
		},
	}
	folded := regexp.MustCompile(`(?m)^[ \t]`)
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := envelope
			e.Subject, e.MessageID = "a\r\nb\xfc", "<a\r\n b>"
			b := compose(t, r, e, signer().sign).Marshal()
			text := strings.ReplaceAll(string(b), "\r\n", "\n")
			if strings.ContainsAny(text, "\r\x00\x7f") || strings.Count(text, "\n") != strings.Count(string(b), "\n") {
				t.Errorf("bare line end or control character in\n%q", b)
			}
			if at := folded.FindStringIndex(text); at != nil {
				t.Errorf("folded line at %q", text[at[0]:min(at[0]+40, len(text))])
			}
		})
	}
}

// notification is the second part of an unsigned receipt as mime/multipart, an
// independent reader, sees it.
func notification(t *testing.T, r mdn.Receipt) (text, fields string, encoding string) {
	t.Helper()
	_, parameters, err := mime.ParseMediaType(field(r, "Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(bytes.NewReader(r.Body), parameters["boundary"])
	var contents []string
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
		encoding = part.Header.Get("Content-Transfer-Encoding")
	}
	if len(contents) != 2 {
		t.Fatalf("%d parts", len(contents))
	}
	return contents[0], contents[1], encoding
}

func TestComposeEchoesMessageID(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"brackets":          "<a@b>",
		"no brackets":       "abc-1@x",
		"half a bracket":    "<abc",
		"bare uuid":         "4f1cdd0e-0b0e-4d4c-9c0b-000000000000",
		"spaces":            "<abc  2 @x>",
		"tab":               "<a\tb>",
		"990 octets":        "<" + strings.Repeat("0123456789 ", 90)[:988] + ">",
		"latin-1":           "<\xe4\xa0@x>",
		"no-break space":    "x\u00a0",
		"quotes and escape": `<2002@\"~~foo~~\">`,
		"colons":            "a: b; c, d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report
			r.OriginalMessageID = id
			receipt := compose(t, r, envelope, nil)
			_, fields, _ := notification(t, receipt)
			if !strings.Contains(fields, "\r\nOriginal-Message-ID: "+id+"\r\nDisposition:") {
				t.Errorf("not echoed in\n%q", fields)
			}
			parsed, err := mdn.Parse(field(receipt, "Content-Type"), receipt.Body)
			if err != nil || parsed.OriginalMessageID != id {
				t.Errorf("read back as %q, %v", parsed.OriginalMessageID, err)
			}
		})
	}
}

func TestComposeNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PART":              "PART",
		"part!#[];,<>@:'()": "part!#[];,<>@:'()",
		"My Company":        `"My Company"`,
		`a"b\c`:             `"a\"b\\c"`,
		`"`:                 `"\""`,
		`\\`:                `"\\\\"`,
		"M\xfcller":         "\"M\xfcller\"",
		"rfc822; x":         `"rfc822; x"`,
		"rfc822;x":          "rfc822;x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report
			r.OriginalRecipient, r.FinalRecipient = "", ""
			receipt := compose(t, r, mdn.Envelope{From: name, To: name}, nil)
			if from, to := field(receipt, "AS2-From"), field(receipt, "AS2-To"); from != want || to != want {
				t.Errorf("AS2-From: %s, AS2-To: %s, want %s", from, to, want)
			}
			_, fields, _ := notification(t, receipt)
			for _, line := range []string{"Original-Recipient: rfc822; " + want, "Final-Recipient: rfc822; " + want} {
				if !strings.Contains(fields, "\r\n"+line+"\r\n") {
					t.Errorf("no %q in\n%s", line, fields)
				}
			}
			parsed, err := mdn.Parse(field(receipt, "Content-Type"), receipt.Body)
			if err != nil || parsed.FinalRecipient != name || parsed.OriginalRecipient != name {
				t.Errorf("read back as %q and %q, %v", parsed.FinalRecipient, parsed.OriginalRecipient, err)
			}
		})
	}
}

func TestComposeLeavesOut(t *testing.T) {
	t.Parallel()
	receipt := compose(t, mdn.Report{Disposition: mdn.DecryptionFailed}, mdn.Envelope{}, nil)
	var names []string
	for _, f := range receipt.Header {
		names = append(names, f.Name)
	}
	if want := []string{"AS2-Version", "MIME-Version", "Content-Type"}; !reflect.DeepEqual(names, want) {
		t.Errorf("header is %v, want %v", names, want)
	}
	text, fields, _ := notification(t, receipt)
	want := "Final-Recipient: rfc822; \r\n" +
		"Disposition: automatic-action/MDN-sent-automatically; processed/error: decryption-failed\r\n"
	if fields != want {
		t.Errorf("got %q, want %q", fields, want)
	}
	if !strings.Contains(text, "decryption-failed") {
		t.Errorf("the text does not give the reason: %q", text)
	}
}

func TestComposeTransferEncoding(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"<a@b>": "7bit", "<\x80@b>": "8bit"} {
		r := report
		r.OriginalMessageID, r.Text = id, ""
		text, _, encoding := notification(t, compose(t, r, envelope, nil))
		if encoding != want {
			t.Errorf("%q is labelled %s, want %s", id, encoding, want)
		}
		if strings.ContainsFunc(text, func(c rune) bool { return c > '~' }) {
			t.Errorf("7bit text is %q", text)
		}
	}
}

func TestComposeText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one":                     "one\r\n",
		"one\n\ntwo\r\nthree\n\n": "one\r\n\r\ntwo\r\nthree\r\n",
		"Grüße\x01":               "Gr??e?\r\n",
		strings.Repeat("x", 1000): strings.Repeat("x", 998) + "\r\nxx\r\n",
	} {
		r := report
		r.Text = in
		if text, _, _ := notification(t, compose(t, r, envelope, nil)); text != want {
			t.Errorf("%q is written %q", in, text)
		}
	}
	for _, d := range dispositions {
		r := report
		r.Text, r.Disposition = "", d.disposition
		text, _, _ := notification(t, compose(t, r, envelope, nil))
		if strings.Contains(text, "not accepted") == d.positive || !strings.Contains(text, r.OriginalMessageID) {
			t.Errorf("%s is explained as %q", d.spelling, text)
		}
	}
}

func TestComposeErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	good := func([]byte, crypto.Hash) ([]byte, error) { return []byte{0x30}, nil }
	noType, noAlgorithm := report, report
	noType.Disposition = mdn.Disposition{}
	noAlgorithm.MIC.Algorithm = ""
	tests := map[string]struct {
		report mdn.Report
		sign   mdn.Sign
		hash   crypto.Hash
		is     error
	}{
		"no disposition type":   {noType, nil, 0, nil},
		"MIC without algorithm": {noAlgorithm, nil, 0, nil},
		"hash without name":     {report, good, 0, nil},
		"signer fails":          {report, func([]byte, crypto.Hash) ([]byte, error) { return nil, broken }, crypto.SHA1, broken},
		"signer gives nothing":  {report, func([]byte, crypto.Hash) ([]byte, error) { return nil, nil }, crypto.SHA1, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mdn.Compose(tt.report, envelope, tt.sign, tt.hash)
			if err == nil || !strings.HasPrefix(err.Error(), "mdn: ") || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestComposeBoundariesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 8 {
		for _, b := range randomBoundary.FindAllString(string(compose(t, report, envelope, signer().sign).Marshal()), -1) {
			seen[b] = true
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d boundaries in 8 receipts", len(seen))
	}
}
