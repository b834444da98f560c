package as2_test

import (
	"bytes"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
)

func FuzzParseHeader(f *testing.F) {
	f.Add("AS2-From", `"a\"b"`, "<1@x>")
	f.Add("as2-from", "My Company", "")
	f.Fuzz(func(t *testing.T, key, name, id string) {
		h, err := as2.ParseHeader(map[string][]string{key: {name}, "AS2-To": {name}, "Message-ID": {id}})
		if err == nil && (h.From == "" || h.To == "" || h.MessageID == "") {
			t.Errorf("incomplete without an error: %+v", h)
		}
		again, err := as2.ParseHeader(map[string][]string{"AS2-From": {as2.QuoteName(h.To)}, "AS2-To": {"x"}, "Message-ID": {"1"}})
		if h.To != "" && (err != nil || again.From != h.To) {
			t.Errorf("%q quoted and read again is %q, %v", h.To, again.From, err)
		}
	})
}

// Nothing but what the partner sealed is ever delivered, and nothing panics.
func FuzzOpen(f *testing.F) {
	sender, receiver := cmstest.Sender(), cmstest.Receiver()
	for i := range 4 {
		d := draft()
		if i&1 != 0 {
			d.SignWith = &sender.Key
		}
		if i&2 != 0 {
			d.EncryptFor = receiver.Cert()
		}
		m, err := as2.Build(d)
		if err != nil {
			f.Fatal(err)
		}
		h, err := as2.ParseHeader(headerMap(m))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(h.ContentType, h.TransferEncoding, m.Body)
	}
	for _, m := range []message{
		compressedEntity(sign(f, part(edi)).entity()), sign(f, compressedEntity(part(edi)).entity()),
		encrypt(f, sign(f, part(edi)).entity(), "-aes-128-gcm", "-stream"),
		{contentType: envelopedType, body: sender.Sign(f, part(edi), "-nodetach", "-stream")},
		sign(f, []byte("Content-Type: multipart/related; boundary=m\r\n\r\n--m\r\n\r\n"+edi+"\r\n--m--")),
	} {
		f.Add(m.contentType, m.encoding, m.body)
	}
	f.Add("multipart/report; report-type=disposition-notification; boundary=b", "", []byte("--b\r\n\r\n--b--"))
	f.Add(signedType, "base64", []byte("--b\n\n--b\n\nMIIB\n--b--"))
	p := policy()
	p.RequireSigned, p.MaxPayload = true, 1<<20
	f.Fuzz(func(t *testing.T, contentType, encoding string, body []byte) {
		var payload bytes.Buffer
		h := as2.Header{From: "PART", To: "HUB", MessageID: "1", ContentType: contentType, TransferEncoding: encoding}
		opened, err := as2.Open(h, bytes.NewReader(body), &payload, p)
		if err != nil && kindOf(err) == 0 {
			t.Errorf("an error of no kind: %v", err)
		}
		if err == nil && payload.Len() > 0 && (!opened.Signed || payload.String() != edi) {
			t.Errorf("delivered %q, signed %v", payload.Bytes(), opened.Signed)
		}
	})
}
