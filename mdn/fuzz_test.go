package mdn_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"firstcopy/mdn"
)

func FuzzParse(f *testing.F) {
	f.Add(reportType, []byte(parts("r", textPart, "Hello.", notificationPart, fields)))
	f.Add(reportType, []byte(parts("r", notificationPart+"Content-Transfer-Encoding: base64\r\n", "RGlzcG9zaXRpb246IHByb2Nlc3NlZA==")))
	f.Add("multipart/signed; micalg=sha1; boundary=s", []byte(parts("s", "Content-Type: "+reportType+"\r\n",
		parts("r", textPart, "x\xfc", notificationPart, fields), "Content-Type: application/x-pkcs7-signature\r\n", "MAA=")))
	f.Add(`"multipart/report; boundary=\"r\""`, []byte("--r\n\n--r--"))
	f.Add("multipart/report", []byte("--a\n"+notificationPart+"\nDisposition:\n ;failed\nFailure:x"))
	f.Add("message/disposition-notification", []byte("Final-Recipient: \"\\\"\"\nDisposition: processed/error; x: y"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		p, err := mdn.Parse(contentType, body)
		if p.Signed && (!bytes.Contains(body, p.SignedContent) || len(p.Signature) == 0) {
			t.Errorf("signed content %q is not in the body, or signature %x is empty", p.SignedContent, p.Signature)
		}
		if err != nil {
			return
		}
		if p.Disposition.Type == "" {
			t.Error("no disposition and no error")
		}
		checkRewritten(t, p.Report)
	})
}

// checkRewritten writes a report that was read, and reads it again: what a
// second round gives must be what the first one gave.
func checkRewritten(t *testing.T, r mdn.Report) {
	t.Helper()
	if r.Disposition.Type != "processed" && r.Disposition.Type != "failed" || !r.MIC.IsZero() && r.MIC.Algorithm == "" {
		return
	}
	if r.FinalRecipient == "" {
		r.FinalRecipient = "HUB"
	}
	var rounds [2]mdn.Report
	for i := range rounds {
		receipt, err := mdn.Compose(r, mdn.Envelope{}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ReplaceAll(string(receipt.Body), "\r\n", ""), "\n") {
			t.Errorf("bare line feed in %q", receipt.Body)
		}
		p, err := mdn.Parse(field(receipt, "Content-Type"), receipt.Body)
		if err != nil {
			t.Fatalf("own receipt: %v\n%q", err, receipt.Body)
		}
		r, rounds[i] = p.Report, p.Report
	}
	if !reflect.DeepEqual(rounds[0], rounds[1]) {
		t.Errorf("first  %+v\nsecond %+v", rounds[0], rounds[1])
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add("x", "signed-receipt-protocol=optional,pkcs7-signature; signed-receipt-micalg=optional,sha-256,sha1", "http://x.example")
	f.Add("", "signed-receipt-protocol=required, \"pkcs7-signature\";;", " ")
	f.Add("\xfc", "a=b,c;=;signed-receipt-micalg=,", "")
	f.Fuzz(func(t *testing.T, to, options, async string) {
		r := mdn.ParseRequest(map[string][]string{
			"Disposition-Notification-To": {to}, "disposition-notification-options": {options}, "RECEIPT-DELIVERY-OPTION": {async},
		})
		if !r.Wanted {
			t.Fatal("not wanted")
		}
		h := map[string][]string{}
		r.SetHeader(func(name, value string) {
			if strings.ContainsAny(value, "\r\n\x00") {
				t.Errorf("%s: %q", name, value)
			}
			h[name] = []string{value}
		})
		back := mdn.ParseRequest(h)
		if back.Signed != r.Signed || back.Required != r.Required || back.Wanted != r.Wanted {
			t.Errorf("%+v became %+v", r, back)
		}
		mdn.ChooseMIC(r.MICAlgorithms, 0)
	})
}

func FuzzParseDisposition(f *testing.F) {
	for _, d := range dispositions {
		f.Add(d.disposition.String())
	}
	f.Add("x/y ; PROCESSED/ERROR:a;b")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := mdn.ParseDisposition(s)
		if err != nil {
			return
		}
		if d.Type == "" {
			t.Errorf("%q has no type", s)
		}
		back, err := mdn.ParseDisposition(d.String())
		if err != nil || d.Text == "" && back.Modifier != d.Modifier || back.Type != d.Type || back.Positive() != d.Positive() {
			t.Errorf("%q is %+v, read back as %+v, %v", s, d, back, err)
		}
	})
}

func FuzzParseMIC(f *testing.F) {
	f.Add("MDEyMw==, sha-256")
	f.Add("MDEy\r\n Mw==,\"sha1\"")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := mdn.ParseMIC(s)
		if err != nil {
			return
		}
		back, err := mdn.ParseMIC(m.String())
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%q is %+v, read back as %+v, %v", s, m, back, err)
		}
	})
}

func FuzzUnmarshalReceipt(f *testing.F) {
	f.Add([]byte("AS2-From: a\r\nSubject: \r\n\r\nbody\n"))
	f.Add([]byte("\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := mdn.UnmarshalReceipt(b)
		if err == nil && !bytes.Equal(r.Marshal(), b) {
			t.Errorf("%q became %q", b, r.Marshal())
		}
	})
}
