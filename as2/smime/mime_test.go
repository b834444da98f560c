package smime_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
)

func TestKind(t *testing.T) {
	t.Parallel()
	receiver := cmstest.Receiver()
	tests := []struct {
		name string
		der  []byte
		want smime.ContentKind
	}{
		{"enveloped DER", receiver.Encrypt(t, entity, "-aes-128-cbc"), smime.Enveloped},
		{"enveloped BER", receiver.Encrypt(t, entity, "-aes-128-cbc", "-stream"), smime.Enveloped},
		{"auth-enveloped", receiver.Encrypt(t, entity, "-aes-128-gcm"), smime.AuthEnveloped},
		{"signed", receiver.Sign(t, entity), smime.Signed},
		{"compressed", []byte("\x30\x80\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x09\xa0\x80"), smime.Compressed},
		{"data", []byte("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x80"), smime.Unknown},
		{"EDI", []byte("0NB+UNOA:1'"), smime.Unknown},
		{"cut", []byte("\x30\x80\x06\x0b\x2a"), smime.Unknown},
		{"long length", []byte{0x30, 0xff}, smime.Unknown},
		{"empty", nil, smime.Unknown},
	}
	for _, tt := range tests {
		if got := smime.Kind(tt.der[:min(len(tt.der), 32)]); got != tt.want {
			t.Errorf("%s: kind %d, want %d", tt.name, got, tt.want)
		}
	}
}

// One CMS object in every dress that partners put on it.
func TestBinaryCMS(t *testing.T) {
	t.Parallel()
	der := cmstest.Receiver().Encrypt(t, entity, "-aes-128-cbc")
	text := base64.StdEncoding.EncodeToString(der)
	lines := func(n int, end string) string {
		var b strings.Builder
		for line := range slices.Chunk([]byte(text), n) {
			b.Write(line)
			b.WriteString(end)
		}
		return b.String()
	}
	for name, form := range map[string]string{
		"binary":           string(der),
		"binary, indented": "\r\n" + string(der),
		"one line":         text,
		"76 CRLF":          lines(76, "\r\n"),
		"64 LF":            lines(64, "\n"),
		"blank lines":      "\r\n\r\n" + lines(72, "\r\n\r\n"),
		"garbage behind":   lines(76, "\r\n") + "==\r\n\r\n\x00",
		"PEM":              "-----BEGIN PKCS7-----\r\n" + lines(64, "\r\n") + "-----END PKCS7-----\r\n",
		"PEM, no padding":  "-----BEGIN CMS-----\n" + strings.TrimRight(text, "=") + "\n-----END CMS-----\n",
		"odd octets":       lines(76, " \t\xff\r\n"),
	} {
		for wrap, wrapped := range map[string]io.Reader{
			"": strings.NewReader(form), "octet by octet": iotest.OneByteReader(strings.NewReader(form)),
		} {
			r := smime.NewSource(wrapped)
			kind := smime.SniffCMS(r)
			got, err := io.ReadAll(smime.BinaryCMS(r))
			if kind != smime.Enveloped || err != nil || !bytes.Equal(got, der) {
				t.Errorf("%s %s: kind %d, %d of %d octets, %v", name, wrap, kind, len(got), len(der), err)
			}
		}
	}
	for _, plain := range []string{"", "MI", "MIRROR", "MIIBBB", "-----BEGIN ", "UNB+UNOA:1'", " \r\n"} {
		r := smime.NewSource(strings.NewReader(plain))
		kind := smime.SniffCMS(r)
		if got, _ := io.ReadAll(smime.BinaryCMS(r)); kind != smime.Unknown || string(got) != plain {
			t.Errorf("%q: kind %d, octets %q", plain, kind, got)
		}
	}
}

func TestDecodeTransfer(t *testing.T) {
	t.Parallel()
	edi := "UNB+UNOC:3+\xfc'\n"
	encoded := base64.StdEncoding.EncodeToString([]byte(edi))
	tests := []struct{ encoding, in, want string }{
		{"", edi, edi},
		{"binary", edi, edi},
		{"Binary", edi, edi},
		{"8-bit", edi, edi},
		{"x-unknown", edi, edi},
		{"base64", encoded, edi},
		{" BASE64 ", encoded[:7] + "\r\n" + encoded[7:] + "\r\n\r\n", edi},
		{"base64", edi, edi}, // mislabelled
		{"base64", "", ""},
		{"quoted-printable", "UNB+UNOC:3+=FC'=\r\n\n", edi},
		{"7bit", "=FC=", "=FC="},
	}
	for _, tt := range tests {
		got, err := io.ReadAll(smime.DecodeTransfer(strings.NewReader(tt.in), tt.encoding))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %q: got %q, %v; want %q", tt.encoding, tt.in, got, err, tt.want)
		}
	}
	_, err := io.ReadAll(smime.DecodeTransfer(io.MultiReader(strings.NewReader("QUJD"), iotest.ErrReader(io.ErrUnexpectedEOF)), "base64"))
	if err != io.ErrUnexpectedEOF {
		t.Errorf("broken off: %v", err)
	}
}

func TestParseContentType(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	tests := []struct {
		in, mediatype string
		params        params
	}{
		{``, "", params{}},
		{`Text/Plain`, "text/plain", params{}},
		{`multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="b"`, "multipart/signed",
			params{"protocol": "application/pkcs7-signature", "micalg": "sha-256", "boundary": "b"}},
		{`multipart/signed; boundary=----=_Part_1.2; protocol=application/x-pkcs7-signature`, "multipart/signed",
			params{"boundary": "----=_Part_1.2", "protocol": "application/x-pkcs7-signature"}},
		{`a/b;; name=my file.p7m ;charset=;`, "a/b", params{"name": "my file.p7m", "charset": ""}},
		{"a/b; name=\"B\xfccher\"", "a/b", params{"name": "B\xfccher"}},
		{`"multipart/report; report-type=x; boundary=\"x\""`, "multipart/report", params{"report-type": "x", "boundary": "x"}},
		{`a/b; boundary=one; boundary=two`, "a/b", params{"boundary": "one"}},
		{`a/b; BOUNDARY = "x;y" ; n=1`, "a/b", params{"boundary": "x;y", "n": "1"}},
		{`a/b; p="x" micalg=sha1`, "a/b", params{"p": "x", "micalg": "sha1"}},
		{`a/b charset=x; n=1`, "a/b", params{"charset": "x", "n": "1"}},
		{`a/b; name="open`, "a/b", params{"name": "open"}},
		{`a/b; name="C:\dir\\f \"q\""`, "a/b", params{"name": `C:\dir\f "q"`}},
		{`a/b; word; n=1; =x`, "a/b", params{"n": "1"}},
		{"a/b;\r\n\tboundary=\"x\"", "a/b", params{"boundary": "x"}},
		{`attachment; filename*=UTF-8''%C3%B3%20.edi`, "attachment", params{"filename": "ó .edi", "filename*": "UTF-8''%C3%B3%20.edi"}},
		{`attachment; filename=a; filename*=iso-8859-1'de'%FC`, "attachment", params{"filename": "ü", "filename*": "iso-8859-1'de'%FC"}},
		{`x; f*0="a%"; f*1="b"`, "x", params{"f": "a%b", "f*0": "a%", "f*1": "b"}},
		{`x; f*1*=%C3%B3; f*0*=utf-8''a`, "x", params{"f": "aó", "f*0*": "utf-8''a", "f*1*": "%C3%B3"}},
		{`x; f*=utf-8''%zz`, "x", params{"f": "%zz", "f*": "utf-8''%zz"}},
	}
	for _, tt := range tests {
		mediatype, got := smime.ParseContentType(tt.in)
		if mediatype != tt.mediatype || !maps.Equal(got, tt.params) {
			t.Errorf("%s\n got %q %q\nwant %q %q", tt.in, mediatype, got, tt.mediatype, tt.params)
		}
	}
}

func TestSplitHeader(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, contentType, body string }{
		{"CRLF", "Content-Type: a/b\r\nX: y\r\n\r\nbody", "a/b", "body"},
		{"LF", "content-type:a/b\n\nbody\n", "a/b", "body\n"},
		{"folded", "MIME-Version: 1.0\r\nContent-Type: a/b;\r\n\t c=d\r\n\r\n", "a/b; c=d", ""},
		{"no body", "Content-Type: a/b\r\n", "a/b", ""},
		{"no line end", "Content-Type: a/b", "a/b", ""},
		{"empty block", "\r\nbody", "", "body"},
		{"nothing", "", "", ""},
		{"UNA", "UNA:+.? '\r\n\r\nUNB+UNOA:1'", "", "UNA:+.? '\r\n\r\nUNB+UNOA:1'"},
		{"UNB", "UNB+UNOA:1+A+B'", "", "UNB+UNOA:1+A+B'"},
		{"ISA", "ISA*00*:~\n\nGS", "", "ISA*00*:~\n\nGS"},
		{"folded first", " Content-Type: a/b\r\n\r\n", "", " Content-Type: a/b\r\n\r\n"},
		{"not all fields", "Content-Type: a/b\r\ntext\r\n\r\n", "", "Content-Type: a/b\r\ntext\r\n\r\n"},
	}
	for _, tt := range tests {
		header, body := smime.SplitHeader([]byte(tt.in))
		if got := header.Get("CONTENT-TYPE"); got != tt.contentType || string(body) != tt.body {
			t.Errorf("%s: got %q, body %q", tt.name, got, body)
		}
	}
	long := []byte("Content-Type: a/b\r\n" + strings.Repeat(" x\r\n", 1<<20) + "\r\nbody")
	if header, body := smime.SplitHeader(long); header != nil || len(body) != len(long) {
		t.Errorf("endless header: %d fields, %d octets", len(header), len(body))
	}
}

func TestSplitSigned(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, boundary, body, part, sig string }{
		{"plain", "b", "--b\r\nP\r\n--b\r\nS\r\n--b--\r\n", "P", "S"},
		{"LF", "b", "--b\nP\n\n--b\nS\n--b--\n", "P\n", "S"},
		{"mixed", "b", "--b\r\nP\n\r\n--b\r\nS\n--b--", "P\n", "S"},
		{"preamble", "b", "This is --b\r\nan S/MIME message\r\n--b\r\nP\r\n--b\r\nS\r\n--b--\r\nepilogue\r\n--b\r\nX", "P", "S"},
		{"empty part", "b", "--b\r\n\r\n--b\r\nS\r\n--b--", "", "S"},
		{"no line end between", "b", "--b\r\n--b\r\nS\r\n--b--", "", "S"},
		{"part of line ends", "b", "--b\r\n\r\n\r\n\r\n--b\r\nS\r\n--b--", "\r\n\r\n", "S"},
		{"blanks behind", "b", "--b \t\r\nP\r\n--b  \r\nS\r\n--b-- \r\n", "P", "S"},
		{"no close", "b", "--b\r\nP\r\n--b\r\nS\r\n", "P", "S\r\n"},
		{"close without dashes", "b", "--b\r\nP\r\n--b\r\nS\r\n--b\r\n", "P", "S"},
		{"prefix of another", "b", "--b\r\n--b1\r\n--bb\r\nP\r\n--b\r\nS\r\n--b--", "--b1\r\n--bb\r\nP", "S"},
		{"not at line start", "b", "--b\r\nP --b\r\nx--b\r\n\r\n--b\r\nS\r\n--b--", "P --b\r\nx--b\r\n", "S"},
		{"odd characters", "'()+_,-./:=? x", "--'()+_,-./:=? x\r\nP\r\n--'()+_,-./:=? x\r\nS\r\n--'()+_,-./:=? x--", "P", "S"},
		{"long", strings.Repeat("b", 83), "--" + strings.Repeat("b", 83) + "\r\nP\r\n--" + strings.Repeat("b", 83) + "\r\nS", "P", "S"},
	}
	for _, tt := range tests {
		part, sig, err := splitSigned([]byte(tt.body), tt.boundary)
		if err != nil || string(part) != tt.part || string(sig) != tt.sig {
			t.Errorf("%s: got %q, %q, %v; want %q, %q", tt.name, part, sig, err, tt.part, tt.sig)
		}
	}
	for _, body := range []string{
		"", "--b", "--b--", "--b\r\nP", "--b\r\nP\r\n--b--\r\n", "--b--\r\nP\r\n--b\r\nS\r\n--b--",
		"--b\r\nP\r\n--b\r\nS\r\n--b\r\nX\r\n--b--\r\n", "P\r\nS",
	} {
		if part, sig, err := splitSigned([]byte(body), "b"); err != smime.ErrMultipart {
			t.Errorf("%q: got %q, %q, %v", body, part, sig, err)
		}
	}
	if _, _, err := splitSigned([]byte("--\r\nP\r\n--\r\nS\r\n----"), ""); err != smime.ErrMultipart {
		t.Errorf("empty boundary: %v", err)
	}
}

// splitSigned takes a multipart/signed apart.
func splitSigned(body []byte, boundary string) (part, sig []byte, err error) {
	for _, r := range []io.Reader{bytes.NewReader(body), iotest.OneByteReader(bytes.NewReader(body))} {
		m, openErr := smime.NewMultipart(r, boundary)
		if openErr != nil {
			return nil, nil, openErr
		}
		if err = m.First(); err != nil {
			return nil, nil, err
		}
		before := part
		if part, err = io.ReadAll(m); err != nil {
			return nil, nil, err
		}
		if before != nil && !bytes.Equal(part, before) {
			return nil, nil, errors.New("octet by octet it is another part")
		}
		if err := m.Next(); err != nil {
			return nil, nil, smime.ErrMultipart
		}
		if sig, err = io.ReadAll(m); err != nil {
			return nil, nil, err
		}
		if err = m.End(); err != nil {
			return nil, nil, err
		}
	}
	return part, sig, nil
}

func FuzzSplitSigned(f *testing.F) {
	f.Add([]byte("x\r\n--b\r\nP\r\n--b\r\nS\r\n--b--\r\n"), "b")
	f.Add([]byte("--b\n--b\n--b"), "b")
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		part, sig, err := splitSigned(body, boundary)
		if err != nil {
			return
		}
		if !bytes.Contains(body, part) || !bytes.Contains(body, sig) {
			t.Errorf("parts are not slices of the body")
		}
		if strings.Contains(boundary, "\n") {
			return
		}
		again := slices.Concat([]byte("--"+boundary+"\r\n"), part, []byte("\r\n--"+boundary+"\r\n"), sig, []byte("\r\n--"+boundary+"--"))
		part2, sig2, err := splitSigned(again, boundary)
		if err != nil || !bytes.Equal(part2, part) || !bytes.Equal(sig2, sig) {
			t.Errorf("put together and split again: %q %q %v", part2, sig2, err)
		}
	})
}

func FuzzParseContentType(f *testing.F) {
	f.Add(`multipart/signed; boundary=----=_1; protocol="a/b"`)
	f.Add(`"a/b; f*0*=utf-8''%41; f*1=b"`)
	f.Fuzz(func(t *testing.T, s string) {
		if _, params := smime.ParseContentType(s); params == nil {
			t.Error("no map")
		}
	})
}

func FuzzSplitHeader(f *testing.F) {
	f.Add([]byte("Content-Type: a/b;\r\n c\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, entity []byte) {
		if _, body := smime.SplitHeader(entity); !bytes.HasSuffix(entity, body) {
			t.Errorf("body %q is not the end of the entity", body)
		}
	})
}

func FuzzTransfer(f *testing.F) {
	f.Add([]byte("QUJD\r\n=="), "base64")
	f.Add([]byte("a=FC=\r\nb"), "quoted-printable")
	f.Add([]byte("-----BEGIN CMS-----\nMIIB"), "")
	f.Fuzz(func(t *testing.T, b []byte, encoding string) {
		io.Copy(io.Discard, smime.DecodeTransfer(bytes.NewReader(b), encoding))
		r := smime.NewSource(bytes.NewReader(b))
		if smime.SniffCMS(r) != smime.Unknown {
			io.Copy(io.Discard, smime.BinaryCMS(r))
		} else if got, _ := io.ReadAll(smime.BinaryCMS(r)); !bytes.Equal(got, b) {
			t.Errorf("what is no CMS was altered: %q", got)
		}
	})
}
