package as2_test

import (
	"bytes"
	"crypto"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/mdn"
)

// The faults of AS2 receivers that matter most, by their rank; docs/faults.md
// has the list and says where the others are tested.

func compressedEntity(content []byte) message {
	return message{contentType: "application/pkcs7-mime; smime-type=compressed-data; name=smime.p7z",
		body: cmstest.Compressed(cmstest.Deflate(content))}
}

// Rank 1: bare LF, signed as it is and as its CRLF form; one altered octet.
func TestFault01BareLineFeeds(t *testing.T) {
	t.Parallel()
	raw := part("UNB+1'\nUNH+1'\nUNZ'\n")
	canonical := bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	payload := string(raw[len(partHeader):])
	mustOpen(t, sign(t, raw), payload, raw)
	other := sign(t, canonical)
	other.body = bytes.Replace(other.body, canonical, raw, 1)
	mustOpen(t, other, payload, canonical)
	mustOpen(t, sign(t, canonical), string(canonical[len(partHeader):]), canonical)
	other.body = bytes.Replace(other.body, []byte("UNH+1"), []byte("UNH+2"), 1)
	mustRefuse(t, other, policy(), as2.KindIntegrity)
}

// Rank 2: what the MIC covers, in every packaging.
func TestFault02MICOctets(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	plain := message{contentType: "application/EDIFACT", body: []byte(edi)}
	compressed := compressedEntity(entity)
	signed := sign(t, entity)
	signedCompressed := sign(t, compressed.entity())
	for name, tt := range map[string]struct {
		message message
		covered []byte
	}{
		"plain":                                    {plain, []byte(edi)},
		"compressed":                               {compressed, entity},
		"encrypted":                                {encrypt(t, entity), entity},
		"compressed, encrypted":                    {encrypt(t, compressed.entity()), entity},
		"encrypted, compressed":                    {compressedEntity(encrypt(t, entity).entity()), entity},
		"signed":                                   {signed, entity},
		"compressed, signed":                       {signedCompressed, compressed.entity()},
		"signed, compressed":                       {compressedEntity(signed.entity()), entity},
		"signed, encrypted":                        {encrypt(t, signed.entity()), entity},
		"compressed, signed, encrypted":            {encrypt(t, signedCompressed.entity()), compressed.entity()},
		"signed, compressed, encrypted":            {encrypt(t, compressedEntity(signed.entity()).entity()), entity},
		"compressed, signed, compressed, in GCM":   {encrypt(t, compressedEntity(signedCompressed.entity()).entity(), "-aes-256-gcm"), compressed.entity()},
		"signed, compressed, encrypted and signed": {sign(t, encrypt(t, compressed.entity()).entity()), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.covered == nil {
				tt.covered = innerOf(tt.message)
			}
			mustOpen(t, tt.message, edi, tt.covered)
		})
	}
}

// innerOf is the first part of a multipart made by signedBody.
func innerOf(m message) []byte {
	rest := m.body[len("--b\r\n"):]
	return rest[:bytes.LastIndex(rest, []byte("\r\n--b\r\nContent-Type: application/pkcs7-signature"))]
}

// Rank 3: compressed before signing and after, encrypted or not (RFC 5402 §3).
func TestFault03CompressionOrder(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	inner := compressedEntity(entity)
	for _, m := range []message{sign(t, inner.entity()), compressedEntity(sign(t, entity).entity())} {
		for _, m := range []message{m, encrypt(t, m.entity())} {
			opened, payload, err := m.open(policy())
			if err != nil || string(payload) != edi || !opened.Compressed || !opened.Signed {
				t.Errorf("%+v, %v", opened, err)
			}
		}
	}
}

// Rank 4: indefinite lengths and segments, in every kind of content, of any
// size.
func TestFault04IndefiniteLengths(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 4 << 20} {
		var lines strings.Builder
		for i := 0; lines.Len() < size; i++ {
			fmt.Fprintf(&lines, "LIN+%d++%x'\r\n", i, i*i)
		}
		content := lines.String()[:size]
		entity := part(content)
		loose := compressedEntity(entity)
		loose.body = cmstest.ToBER(loose.body)
		opaque := message{contentType: "application/pkcs7-mime; smime-type=signed-data",
			body: cmstest.Sender().Sign(t, entity, "-stream", "-nodetach")}
		for name, m := range map[string]message{
			"encrypted": encrypt(t, entity, "-aes-128-cbc", "-stream"), "opaque": opaque,
			"authenticated": encrypt(t, entity, "-aes-128-gcm", "-stream"), "compressed": loose,
		} {
			opened, payload, err := m.open(policy())
			if err != nil || string(payload) != content {
				t.Errorf("%s, %d octets: %d, %v, %+v", name, size, len(payload), err, opened)
			}
		}
	}
}

// Rank 9: the transfer encoding is absent, present, or lies.
func TestFault09TransferEncoding(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	opaque := message{contentType: "application/pkcs7-mime; smime-type=signed-data", body: cmstest.Sender().Sign(t, entity, "-nodetach")}
	for _, m := range []message{encrypt(t, entity), compressedEntity(entity), opaque} {
		for form, body := range forms(m.body) {
			for _, label := range labels {
				m := m
				m.body, m.encoding = body, label
				if _, payload, err := m.open(policy()); err != nil || string(payload) != edi {
					t.Errorf("%s as %q: %v", form, label, err)
				}
			}
		}
	}
}

// Rank 10: binary content without a label, signed: its octets are nobody's
// lines.
func TestFault10BinaryWithoutLabel(t *testing.T) {
	t.Parallel()
	for n := range 64 {
		content := strings.Repeat(fmt.Sprint(n), 40)
		compressed := compressedEntity(part(content))
		if bytes.ContainsAny(compressed.body[60:], "\n") || n == 63 {
			mustOpen(t, sign(t, compressed.entity()), content, compressed.entity())
			if n < 63 {
				return
			}
		}
	}
}

// Rank 11: dialects of Content-Type, for compressed messages, too.
func TestFault11ContentTypes(t *testing.T) {
	t.Parallel()
	m := compressedEntity(part(edi))
	for _, contentType := range []string{
		"application/pkcs7-mime", "application/x-pkcs7-mime; smime-type=Compressed-Data", "application/octet-stream; name=smime.p7z",
		"application/pkcs7-mime; name=my file.p7z;; smime-type=compressed-data;", "application/pkcs7-mime; smime-type=enveloped-data", "",
	} {
		m.contentType = contentType
		mustOpen(t, m, edi, part(edi))
	}
	opaque := message{body: cmstest.Sender().Sign(t, part(edi), "-md", "sha256", "-nodetach")}
	for _, contentType := range []string{
		"application/pkcs7-mime", "application/x-pkcs7-mime; smime-type=Signed-Data", "application/octet-stream; name=smime.p7m",
	} {
		opaque.contentType = contentType
		mustOpen(t, opaque, edi, part(edi))
	}
}

// Rank 12: micalg is a hint in any spelling, and wrong where it likes; large
// parts, which are digested by the hint alone, are no exception.
func TestFault12DigestNames(t *testing.T) {
	t.Parallel()
	for _, content := range []string{edi, strings.Repeat("UNH+1'\n", 400<<10)} {
		for _, actual := range []string{"sha1", "sha256", "sha384", "sha512"} {
			m := sign(t, part(content), "-md", actual)
			for _, micalg := range []string{"sha1", "sha-1", "SHA256", "sha2-256", "rsa-sha256", `"sha-256"`, `"sha1, sha-512"`, "whirlpool", ""} {
				if len(content) > 1000 && micalg != "sha1" && micalg != "" {
					continue
				}
				m.contentType = "multipart/signed; boundary=b; micalg=" + micalg
				var payload rereadable
				opened, err := as2.Open(m.header(), bytes.NewReader(m.body), &payload, policy())
				if h, _ := mdn.HashByName(actual); err != nil || opened.Digest != h || opened.MIC.Algorithm != mdn.NameOf(h) ||
					!bytes.Equal(opened.MIC.Digest, digest(h, part(content))) || payload.String() != content {
					t.Errorf("%s as %s: %v, %v, MIC %v", actual, micalg, opened.Digest, err, opened.MIC)
				}
			}
		}
	}
}

// Rank 14: what is wrong is told apart, and never by more than the kinds.
func TestFault14Errors(t *testing.T) {
	t.Parallel()
	entity := part(edi)
	good := encrypt(t, entity)
	stranger, truncated, damaged := good, good, compressedEntity(entity)
	stranger.body = cmstest.Stranger().Encrypt(t, entity)
	truncated.body = good.body[:len(good.body)/2]
	damaged.body = slices.Clone(damaged.body)
	damaged.body[len(damaged.body)-1] ^= 1 // the checksum
	for name, tt := range map[string]struct {
		message message
		want    as2.Kind
	}{
		"stranger":           {stranger, as2.KindDecryption},
		"truncated":          {truncated, as2.KindDecryption},
		"checksum":           {damaged, as2.KindDecompression},
		"checksum, signed":   {sign(t, damaged.entity()), as2.KindDecompression},
		"no body":            {message{contentType: envelopedType}, as2.KindMalformed},
		"malformed":          {message{contentType: signedType, body: []byte("--b\r\n\r\nUNB")}, as2.KindMalformed},
		"opaque by stranger": {message{contentType: envelopedType, body: cmstest.Stranger().Sign(t, entity, "-nodetach")}, as2.KindAuthentication},
		"detached, alone":    {message{contentType: envelopedType, body: cmstest.Sender().Sign(t, entity)}, as2.KindAuthentication},
	} {
		if opened := mustRefuse(t, tt.message, policy(), tt.want); name == "checksum, signed" && opened.MIC.IsZero() {
			t.Errorf("%s: no MIC although the signature holds", name)
		}
	}
}

// Rank 20: below the floor; compression counts for nothing.
func TestFault20Floor(t *testing.T) {
	t.Parallel()
	p := policy()
	p.RequireSigned, p.RequireEncrypted = true, true
	entity := part(edi)
	plain := message{contentType: "application/EDIFACT", body: []byte(edi)}
	signed := sign(t, entity)
	for name, m := range map[string]message{
		"plain": plain, "compressed": compressedEntity(entity), "signed": signed, "compressed, signed": compressedEntity(signed.entity()),
		"encrypted": encrypt(t, entity), "compressed, encrypted": encrypt(t, compressedEntity(entity).entity()),
	} {
		if opened := mustRefuse(t, m, p, as2.KindInsufficientSecurity); opened.MIC.IsZero() {
			t.Errorf("%s: no MIC", name)
		}
	}
	opaque := message{contentType: envelopedType, body: cmstest.Sender().Sign(t, entity, "-nodetach")}
	for _, m := range []message{signed, opaque} {
		if _, payload, err := encrypt(t, m.entity()).open(p); err != nil || string(payload) != edi {
			t.Errorf("%v", err)
		}
	}
}

// Rank 24: file names, and several documents in one message (RFC 6362).
func TestFault24Attachments(t *testing.T) {
	t.Parallel()
	const body = "ignored\r\n--m\r\nContent-Type: application/EDIFACT\r\nContent-Disposition: attachment; filename=\"../../a.edi\"\r\n\r\nUNB+1'\nUNZ'\r\n" +
		"--m\r\nContent-Type: application/xml; name=\"=?utf-8?q?b=C3=B3?= =?utf-8?q?c.xml?=\"\r\nContent-Transfer-Encoding: base64\r\n\r\nPGEvPg==\r\n" +
		"--m\r\nContent-Type: multipart/mixed; boundary=m2\r\n\r\n--m2\r\n\r\nISA*1~\r\n--m2\r\nContent-Disposition: attachment; filename*=UTF-8''%C3%B3.pdf\r\n\r\n\r\n--m2--\r\n" +
		"--m--\r\nepilogue"
	entity := []byte("Content-Type: multipart/related; type=\"application/EDIFACT\"; boundary=\"m\"\r\n\r\n" + body)
	const payload = "UNB+1'\nUNZ'<a/>ISA*1~"
	want := []as2.Attachment{
		{FileName: "a.edi", ContentType: "application/EDIFACT", Start: 0, End: 11},
		{FileName: "bóc.xml", ContentType: `application/xml; name="=?utf-8?q?b=C3=B3?= =?utf-8?q?c.xml?="`, Start: 11, End: 15},
		{Start: 15, End: 21}, {FileName: "ó.pdf", Start: 21, End: 21},
	}
	plain := message{contentType: `multipart/related; type="application/EDIFACT"; boundary="m"`, body: []byte(body)}
	for name, tt := range map[string]struct {
		message message
		covered []byte
	}{
		"plain": {plain, []byte(body)}, "signed": {sign(t, entity), entity}, "encrypted": {encrypt(t, entity), entity},
		"compressed": {compressedEntity(entity), entity}, "compressed, signed, encrypted": {encrypt(t, sign(t, compressedEntity(entity).entity()).entity()), compressedEntity(entity).entity()},
	} {
		opened := mustOpen(t, tt.message, payload, tt.covered)
		if !slices.Equal(opened.Attachments, want) {
			t.Errorf("%s: %+v", name, opened.Attachments)
		}
	}
	open := plain
	open.body = []byte(strings.Replace(body, "--m--", "", 1))
	mustRefuse(t, open, policy(), as2.KindMalformed)
	open.body = []byte("no delimiter")
	mustRefuse(t, open, policy(), as2.KindMalformed)
	single := mustOpen(t, sign(t, part(edi)), edi, part(edi))
	if len(single.Attachments) != 1 || single.Attachments[0] != (as2.Attachment{FileName: "order.edi", ContentType: "application/EDIFACT", End: int64(len(edi))}) {
		t.Errorf("one document: %+v", single.Attachments)
	}
}

// K8: certificates offered by message are no documents.
func TestFaultCertificateExchange(t *testing.T) {
	t.Parallel()
	entity := []byte("Content-Type: multipart/related; boundary=m\r\n\r\n--m\r\nContent-Type: application/ediint-cert-exchange+xml\r\n\r\n<x/>\r\n--m--")
	mustRefuse(t, sign(t, entity), policy(), as2.KindMalformed)
}

// Rank 25: octets pass as they are, in every packaging.
func TestFault25Transparency(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"UNOC": "UNB+UNOC:3+\xfc\x80\x9f'", "separators": "ISA*00*\x1c\x1d\x1e\x1f~", "NUL": "a\x00b\x00", "mark": "\xef\xbb\xbfUNB'",
		"no line end": "UNZ'", "blank lines": "UNZ'\r\n\r\n \t\r\n", "CR": "a\rb\r", "dashes": "--b\n--\n--bb\n", "empty": "",
	} {
		entity := part(content)
		m := message{contentType: "multipart/signed; boundary=bound"}
		m.body = slices.Concat([]byte("--bound\r\n"), entity, []byte("\r\n--bound\r\n"), base64Part(cmstest.Sender().Sign(t, entity)), []byte("\r\n--bound--"))
		for _, m := range []message{m, encrypt(t, m.entity()), compressedEntity(m.entity()), encrypt(t, entity, "-aes-128-gcm")} {
			opened, payload, err := m.open(policy())
			if err != nil || string(payload) != content || !bytes.Equal(opened.MIC.Digest, digest(crypto.SHA256, entity)) {
				t.Errorf("%s: %q, %v", name, payload, err)
			}
		}
	}
}
