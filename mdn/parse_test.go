package mdn_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"

	"firstcopy/mdn"
)

const reportType = `multipart/report; report-type=disposition-notification; boundary="r"`

// ours is what every dialect in TestParseDialects says.
var ours = mdn.Report{
	ReportingUA: "UA/1", OriginalRecipient: "HUB", FinalRecipient: "My Hub", OriginalMessageID: "<1 2@x>",
	Disposition: mdn.DecryptionFailed, MIC: mdn.MIC{Digest: []byte("0123"), Algorithm: "sha-256"}, Text: "Hello.",
}

var fields = lines(
	"Reporting-UA: UA/1",
	"Original-Recipient: rfc822; HUB",
	`Final-Recipient: rfc822; "My Hub"`,
	"Original-Message-ID: <1 2@x>",
	"Disposition: automatic-action/MDN-sent-automatically; processed/error: decryption-failed",
	"Received-content-MIC: MDEyMw==, sha-256",
)

// parts builds the body of a receipt with the part headers and contents given in
// turn.
func parts(boundary string, s ...string) string {
	var b strings.Builder
	for i := 0; i < len(s); i += 2 {
		b.WriteString("--" + boundary + "\r\n" + s[i] + "\r\n" + s[i+1] + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

const (
	textPart         = "Content-Type: text/plain\r\n"
	notificationPart = "Content-Type: message/disposition-notification\r\n"
)

func TestParseDialects(t *testing.T) {
	t.Parallel()
	plain := parts("r", textPart, "Hello.", notificationPart, fields)
	folded := strings.NewReplacer(": ", ":\r\n\t ", "; processed", ";\r\n  processed", "1 2", "1\r\n\t 2").Replace(fields)
	encoded := base64.StdEncoding.EncodeToString([]byte(fields))
	tests := map[string]struct{ contentType, body string }{
		"as the RFC has it":    {reportType, plain},
		"lf only":              {reportType, strings.ReplaceAll(plain, "\r\n", "\n")},
		"upper case fields":    {reportType, strings.Replace(plain, fields, strings.NewReplacer("Final-Recipient", "FINAL-RECIPIENT", "Disposition:", "DISPOSITION:", "Message-ID", "MESSAGE-ID", "content-MIC", "CONTENT-MIC").Replace(fields), 1)},
		"lower case fields":    {reportType, strings.NewReplacer("Original-", "original-", "Disposition:", "disposition:", "Received-content", "received-content").Replace(plain)},
		"no spaces":            {reportType, strings.NewReplacer(": ", ":", "; ", ";", "==, ", "==,").Replace(plain)},
		"more spaces":          {reportType, strings.NewReplacer(": ", " : \t", "; ", " ; ", "==, ", "== , ").Replace(plain)},
		"folded fields":        {reportType, strings.Replace(plain, fields, folded, 1)},
		"folded base64":        {reportType, strings.Replace(plain, "MDEyMw==", "MDEy\r\n Mw==", 1)},
		"no line end at end":   {reportType, strings.TrimSuffix(plain, "\r\n")},
		"no close delimiter":   {reportType, strings.TrimSuffix(plain, "--r--\r\n")},
		"preamble, epilogue":   {reportType, "This is MIME.\r\n--\r\n" + plain + "\r\ntrailing\r\n--r\r\n\r\nmore"},
		"spaces on delimiters": {reportType, strings.ReplaceAll(plain, "--r\r\n", "--r \t\r\n")},
		"boundary is missing":  {"multipart/report; report-type=disposition-notification", plain},
		"no report-type":       {"multipart/report; boundary=r", plain},
		"escaped quote":        {`multipart/report; x="a\"; boundary=q"; boundary="\r"`, plain},
		"quoted as a whole":    {`"multipart/report; report-type=disposition-notification; boundary=\"r\""`, plain},
		"parameter dialect":    {"Multipart/Report ;; charset=; report-type = \"disposition-notification\" ;boundary= r ; x=a/b;", plain},
		"folded content type":  {"multipart/report;\r\n\treport-type=disposition-notification;\r\n boundary=\"r\"", plain},
		"multipart/mixed":      {"multipart/mixed; boundary=r", plain},
		"unquoted equals sign": {"multipart/report; boundary=----=_Part_1.2", strings.ReplaceAll(plain, "--r", "------=_Part_1.2")},
		"base64 notification":  {reportType, parts("r", textPart, "Hello.", notificationPart+"Content-Transfer-Encoding: BASE64\r\n", encoded[:60]+"\r\n"+encoded[60:])},
		"everything encoded": {reportType, parts("r", textPart+"Content-Transfer-Encoding: base64\r\n", "SGVsbG8u",
			notificationPart+"Content-Transfer-Encoding: quoted-printable\r\n", strings.ReplaceAll(fields, "=", "=3D"))},
		"unknown encoding":    {reportType, strings.ReplaceAll(plain, textPart, textPart+"Content-Transfer-Encoding: bin\r\n")},
		"text without header": {reportType, strings.Replace(plain, textPart, "", 1)},
		"html text":           {reportType, strings.Replace(plain, "text/plain", "text/html; charset=x", 1)},
		"third part":          {reportType, parts("r", textPart, "Hello.", notificationPart, fields, textPart, "the message")},
		"type with charset":   {reportType, strings.Replace(plain, "disposition-notification\r\n", "disposition-notification; charset=us-ascii\r\n", 1)},
		"blank lines between": {reportType, strings.Replace(plain, "\r\nDisposition", "\r\n\r\nDisposition", 1)},
		"reason in its own field": {reportType, strings.Replace(plain, "error: decryption-failed\r\n",
			"error\r\nError: decryption-failed\r\nError: another one\r\n", 1)},
		"nested": {`multipart/mixed; boundary="o"`, parts("o", "Content-Type: "+reportType+"\r\n", plain)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mdn.Parse(tt.contentType, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			want := mdn.Parsed{Report: ours, HumanText: ours.Text}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestParseMissingFields(t *testing.T) {
	t.Parallel()
	const disposition = "Disposition: ;processed\r\n"
	tests := map[string]struct {
		body string
		want mdn.Report
	}{
		"nothing but the disposition": {
			parts("r", notificationPart, disposition), mdn.Report{Disposition: mdn.Processed},
		},
		"recipient without type": {
			parts("r", notificationPart, "Final-Recipient: A;B\r\n"+disposition),
			mdn.Report{FinalRecipient: "A;B", Disposition: mdn.Processed},
		},
		"unreadable digest": {
			parts("r", notificationPart, "Received-content-MIC: , sha1\r\n"+disposition), mdn.Report{Disposition: mdn.Processed},
		},
		"failure field": {
			parts("r", notificationPart, "Disposition: x/y; failed\r\nFailure: unsupported format\r\n"),
			mdn.Report{Disposition: mdn.UnsupportedFormat},
		},
		"error field beside a reason": {
			parts("r", notificationPart, "Disposition: x/y; processed/error: odd\r\nError: details\r\n"),
			mdn.Report{Disposition: mdn.Disposition{Type: "processed", Modifier: "error", Text: "odd"}},
		},
		"error field beside success": {
			parts("r", notificationPart, "Disposition: x/y; processed\r\nError: details\r\n"),
			mdn.Report{Disposition: mdn.Processed},
		},
		"line that begins with a delimiter": {
			parts("r", textPart, "a\r\n--rr\r\nb", notificationPart, disposition),
			mdn.Report{Disposition: mdn.Processed, Text: "a\r\n--rr\r\nb"},
		},
		"broken text": {
			parts("r", textPart+"Content-Transfer-Encoding: base64\r\n", "Hello", notificationPart, disposition),
			mdn.Report{Disposition: mdn.Processed, Text: "Hello"},
		},
		"two texts": {
			parts("r", textPart, "a", textPart, "b", notificationPart, disposition),
			mdn.Report{Disposition: mdn.Processed, Text: "a"},
		},
		"latin-1 everywhere": {
			parts("r", textPart, "\xfc", notificationPart, "Reporting-UA: \xfc\r\nOriginal-Message-ID: <\xfc\xa0>\r\n"+disposition),
			mdn.Report{ReportingUA: "\xfc", OriginalMessageID: "<\xfc\xa0>", Disposition: mdn.Processed, Text: "\xfc"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mdn.Parse(reportType, []byte(tt.body))
			if err != nil || !reflect.DeepEqual(got.Report, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got.Report, err, tt.want)
			}
		})
	}
	bare, err := mdn.Parse("message/disposition-notification", []byte(fields))
	if err != nil || bare.OriginalMessageID != ours.OriginalMessageID {
		t.Errorf("without multipart: %+v, %v", bare, err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	signedType := `multipart/signed; protocol="application/pkcs7-signature"; boundary="s"`
	noDisposition := parts("r", textPart, "Hello.", notificationPart, "Final-Recipient: rfc822; A\r\nOriginal-Message-ID: <1>")
	reportPart := "Content-Type: " + reportType + "\r\n"
	report := parts("r", textPart, "Hello.", notificationPart, fields)
	deep, inner := report, "r"
	for _, outer := range []string{"a", "b", "c", "d"} {
		deep, inner = parts(outer, "Content-Type: multipart/mixed; boundary="+inner+"\r\n", deep), outer
	}
	tests := map[string]struct {
		contentType, body string
		noReport          bool
	}{
		"empty":                        {"", "", true},
		"error page":                   {"text/html", "<html>", true},
		"report of another kind":       {`multipart/report; boundary="r"`, parts("r", textPart, "x", "Content-Type: message/delivery-status\r\n", "Action: failed"), true},
		"wrong boundary":               {`multipart/report; boundary="q"`, report, true},
		"nested too deeply":            {"multipart/mixed; boundary=" + inner, deep, true},
		"no disposition":               {reportType, noDisposition, false},
		"broken base64":                {reportType, parts("r", notificationPart+"Content-Transfer-Encoding: base64\r\n", "AAAAA"), false},
		"signed: nothing":              {signedType, "", true},
		"signed: a message":            {signedType, parts("s", textPart, "ISA*", "Content-Type: application/pkcs7-signature\r\n", "MAA="), true},
		"signed: no signature":         {signedType, parts("s", reportPart, report), false},
		"signed: empty signature":      {signedType, parts("s", reportPart, report, "Content-Type: application/pkcs7-signature\r\n", ""), false},
		"signed: signature is not CMS": {signedType, parts("s", reportPart, report, "Content-Type: application/pkcs7-signature\r\n", "AAAA"), false},
		"signed: broken base64":        {signedType, parts("s", reportPart, report, "Content-Type: application/pkcs7-signature\r\n", "MAAAA"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mdn.Parse(tt.contentType, []byte(tt.body))
			if err == nil || errors.Is(err, mdn.ErrNoReport) != tt.noReport || !strings.HasPrefix(err.Error(), "mdn: ") {
				t.Errorf("error is %v", err)
			}
			if got.Signed {
				t.Error("is called signed")
			}
		})
	}
	partly, err := mdn.Parse(reportType, []byte(noDisposition))
	if err == nil || partly.OriginalMessageID != "<1>" || partly.FinalRecipient != "A" {
		t.Errorf("without disposition: %+v, %v", partly, err)
	}
}

func TestParseSigned(t *testing.T) {
	t.Parallel()
	content := "Content-TYPE:  multipart/report;\r\n\tboundary=r\r\n\r\n" + parts("r", textPart, "Hello.", notificationPart, fields)
	der, err := signer().sign([]byte(content), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	pem := "-----BEGIN PKCS7-----\n" + base64.StdEncoding.EncodeToString(der) + "\n-----END PKCS7-----\n"
	text := base64.StdEncoding.EncodeToString(der)
	const b64 = "Content-Transfer-Encoding: base64\r\n"
	tests := map[string]struct{ contentType, header, signature string }{
		"base64":              {`multipart/signed; micalg="sha-256"; boundary="s"`, "Content-Type: application/pkcs7-signature\r\n" + b64, text},
		"x-pkcs7-signature":   {`multipart/signed; protocol=application/x-pkcs7-signature; micalg=sha-256; boundary=s`, "Content-Type: application/x-pkcs7-signature; name=smime.p7s\r\n" + b64, text},
		"binary":              {`multipart/signed; micalg=sha-256; boundary=s`, "Content-Type: application/pkcs7-signature\r\nContent-Transfer-Encoding: binary\r\n", string(der)},
		"binary, called b64":  {`multipart/signed; micalg=sha-256; boundary=s`, "Content-Type: application/pkcs7-signature\r\n" + b64, string(der)},
		"base64, no label":    {`multipart/signed; micalg=sha-256; boundary=s`, "Content-Type: application/pkcs7-signature\r\n", text},
		"no header":           {`multipart/signed; micalg=sha-256; boundary=s`, "", text},
		"armoured":            {`multipart/signed; micalg=sha-256; boundary=s`, "Content-Type: application/pkcs7-signature\r\n", pem},
		"boundary is missing": {`multipart/signed; micalg=sha-256`, "Content-Type: application/pkcs7-signature\r\n", text},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := []byte("--s\r\n" + content + "\r\n--s\r\n" + tt.header + "\r\n" + tt.signature + "\r\n--s--\r\n")
			got, err := mdn.Parse(tt.contentType, body)
			if err != nil {
				t.Fatal(err)
			}
			want := mdn.Parsed{
				Report: ours, Signed: true, SignedContent: []byte(content), Signature: der, MICAlg: "sha-256", HumanText: ours.Text,
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if &got.SignedContent[0] != &body[len("--s\r\n")] {
				t.Error("the signed content is not a slice of the body")
			}
		})
	}
}

// TestParseSignedLF keeps what a sender with bare line feeds has signed: only
// the line feed before the delimiter is the delimiter's.
func TestParseSignedLF(t *testing.T) {
	t.Parallel()
	content := strings.ReplaceAll("Content-Type: "+reportType+"\r\n\r\n"+parts("r", notificationPart, fields)+"\r\n", "\r\n", "\n")
	body := "--s\n" + content + "\n--s\nContent-Type: application/pkcs7-signature\n\nMAA=\n--s--\n"
	got, err := mdn.Parse("multipart/signed; boundary=s", []byte(body))
	if err != nil || string(got.SignedContent) != content || !bytes.Equal(got.Signature, []byte{0x30, 0}) {
		t.Errorf("got %q, %x, %v", got.SignedContent, got.Signature, err)
	}
}

// TestParseSignedOnly takes the report from the signed part, whatever follows it.
func TestParseSignedOnly(t *testing.T) {
	t.Parallel()
	signedReport := parts("r", notificationPart, fields)
	forged := parts("r", notificationPart, "Disposition: x/y; processed\r\n")
	body := parts("s", "Content-Type: "+reportType+"\r\n", signedReport, "Content-Type: "+reportType+"\r\n", forged,
		"Content-Type: application/pkcs7-signature\r\n", "MAA=")
	got, err := mdn.Parse("multipart/signed; boundary=s", []byte(body))
	if err != nil || !got.Signed || got.Disposition != mdn.DecryptionFailed {
		t.Errorf("got %+v, %v", got, err)
	}
	// The signature is over the first part alone, so a report elsewhere is none.
	body = parts("s", textPart, "x", "Content-Type: "+reportType+"\r\n", forged, "Content-Type: application/pkcs7-signature\r\n", "MAA=")
	if got, err := mdn.Parse("multipart/signed; boundary=s", []byte(body)); !errors.Is(err, mdn.ErrNoReport) || got.Signed {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestIsReport(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		reportType: true,
		"Multipart/Report; boundary=x; Report-Type=Disposition-Notification": true,
		"multipart/report": true,
		`"multipart/report; report-type=disposition-notification; boundary=\"----=\""`: true,
		"message/disposition-notification":                                             true,
		"multipart/report; report-type=delivery-status":                                false,
		"multipart/signed; boundary=x":                                                 false,
		"application/edifact":                                                          false,
		"":                                                                             false,
	} {
		if got := mdn.IsReport(in); got != want {
			t.Errorf("%q: got %t", in, got)
		}
	}
}

// TestParseLargeInput would not end if any step were more than linear.
func TestParseLargeInput(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	for _, body := range []string{
		parts("r", notificationPart, "Disposition:"+strings.Repeat("\r\n x", n)),
		parts("r", notificationPart, strings.Repeat("a:\n", n)+"Disposition: processed"),
		strings.Repeat("--r\n", n) + notificationPart + "\r\nDisposition: processed",
	} {
		if _, err := mdn.Parse(reportType, []byte(body)); err != nil {
			t.Error(err)
		}
	}
}
