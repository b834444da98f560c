package gateway_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"regexp"
	"strings"
	"testing"

	"firstcopy/as2/smime"
	"firstcopy/internal/as2client"
	"firstcopy/internal/as2test"
	"firstcopy/mdn"
	"firstcopy/partners"
)

// RFC 4130 §7.3.1, §7.6: what is wrong with a message is told in a receipt, signed if that was asked for, with HTTP 200.
func TestRefusalsAreReceipts(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	t.Run("each", func(t *testing.T) {
		for name, tt := range refusals(t, acme) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := exchange(t, hub, tt.post.octets())
				p := r.answers(t, tt.want, tt.post.value("Message-ID"))
				checkSigned(t, hub, p)
				checkNeutral(t, r, p)
			})
		}
	})
	t.Run("nothing kept", func(t *testing.T) { keptNothing(t, hub) })
}

type refusal struct {
	post rawPost
	want mdn.Disposition
}

func refusals(t *testing.T, acme as2client.Partner) map[string]refusal {
	t.Helper()
	stranger := as2test.Key(t, "stranger")
	prepare := func(p as2client.Partner) rawPost {
		return raw(as2test.Prepare(t, p, as2test.Invoice("INV1", "1"), as2client.Options{}))
	}
	good := prepare(acme)
	body := func(b []byte) rawPost { p := good; p.body = b; return p }
	misdirected, forged := acme, acme
	misdirected.EncryptFor = []*x509.Certificate{stranger.Certificate}
	forged.SignKey = &stranger
	part := ediPart(as2test.Invoice("INV1", "1"))
	altered := bytes.Replace(part, []byte("MOA+77:1"), []byte("MOA+77:9"), 1)
	entity := func(e []byte) rawPost { return raw(enveloped(t, acme, "<made@acme>", e)) }
	multipart := func(s string) rawPost {
		return entity([]byte("Content-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; boundary=\"b\"\r\n\r\n" + s))
	}
	broken := signedEntity(t, *acme.SignKey, part, part)
	i := bytes.LastIndex(broken, []byte("\r\n--part-")) - 40 // inside the signature's octets
	broken[i] ^= 3
	return map[string]refusal{
		"for another recipient":   {prepare(misdirected), mdn.DecryptionFailed},
		"truncated envelope":      {body(good.body[:len(good.body)/2]), mdn.DecryptionFailed},
		"altered content key":     {body(alteredKey(t, good.body)), mdn.DecryptionFailed},
		"no envelope":             {body([]byte("this is no CMS")), mdn.DecryptionFailed},
		"signed by a stranger":    {prepare(forged), mdn.AuthenticationFailed},
		"damaged signature":       {entity(broken), mdn.AuthenticationFailed},
		"no signature octets":     {multipart("--b\r\n\r\nUNB\r\n--b\r\nContent-Type: application/pkcs7-signature\r\n\r\n\r\n--b--\r\n"), mdn.AuthenticationFailed},
		"altered content":         {entity(signedEntity(t, *acme.SignKey, altered, part)), mdn.IntegrityCheckFailed},
		"zero-length body":        {body(nil), mdn.UnexpectedProcessingError},
		"one part":                {multipart("--b\r\n\r\nUNB\r\n--b--\r\n"), mdn.UnexpectedProcessingError},
		"three parts":             {multipart("--b\r\n\r\nUNB\r\n--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\n"), mdn.UnexpectedProcessingError},
		"no parts":                {multipart("no delimiter anywhere"), mdn.UnexpectedProcessingError},
		"signature comes first":   {multipart("--b\r\nContent-Type: application/pkcs7-signature\r\n\r\nMII=\r\n--b\r\n\r\nUNB\r\n--b--\r\n"), mdn.UnexpectedProcessingError},
		"empty multipart in HTTP": {body(nil).set("Content-Type", "multipart/signed; boundary=b"), mdn.UnexpectedProcessingError},
		"multipart in HTTP without boundary": {body([]byte("--b\r\n")).set("Content-Type", "multipart/signed").drop("Content-Transfer-Encoding"),
			mdn.UnexpectedProcessingError},
	}
}

// alteredKey damages the content key in an envelope, which an RSA key of 2048 bits has encrypted.
func alteredKey(t *testing.T, envelope []byte) []byte {
	t.Helper()
	i := bytes.Index(envelope, []byte("\x04\x82\x01\x00"))
	if i < 0 {
		t.Fatal("there is no encrypted key in the envelope")
	}
	envelope = bytes.Clone(envelope)
	envelope[i+100] ^= 1
	return envelope
}

func (p rawPost) value(name string) string {
	for _, f := range p.fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// innards are words of the program: stack traces, packages, Go's errors.
var innards = regexp.MustCompile(`(?i)goroutine|\.go\b|panic|runtime|asn1|pkcs7:|x509|smime:|as2:|mdn:|rsa:|crypto/|unexpected EOF|\bEOF\b|0x[0-9a-f]{4}|postgres|pgx|SQLSTATE|firstcopy/`)

var boundaries = regexp.MustCompile(`(signed|report)-[a-z0-9]{20,}`)

// checkNeutral: the receipt is for the partner's eyes, and the causes are for the log.
func checkNeutral(t *testing.T, r rawReply, p mdn.Parsed) {
	t.Helper()
	_, signature, _ := strings.Cut(string(r.body), "Content-Disposition: attachment; filename=\"smime.p7s\"")
	text := strings.Join(r.lines, "\n") + strings.TrimSuffix(string(r.body), signature)
	text = boundaries.ReplaceAllString(text, "boundary") // random letters make any word once in a while
	if found := innards.FindAllString(text, -1); found != nil {
		t.Errorf("the receipt tells %q", found)
	}
	if p.HumanText == "" || len(p.HumanText) > 500 {
		t.Errorf("the text for people is %q", p.HumanText)
	}
}

// X1, X4: who has signed is told by the certificate agreed with the sender, and by nothing in the message.
func TestOnlyTheAgreedKeySigns(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	globex := hub.Agree("globex", nil)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	agreed := acme.SignKey.Certificate
	clone := smime.Key{Private: private, Certificate: as2test.SelfSigned(t, agreed.Subject.CommonName, private, agreed.SerialNumber.Int64())}
	stranger := as2test.Key(t, "stranger")
	t.Run("each", func(t *testing.T) {
		for name, key := range map[string]smime.Key{
			"embedded stranger": stranger, "same issuer and serial": clone, "another partner's": *globex.SignKey, "the hub's own": hub.Key,
			"agreed certificate, other key": {Certificate: agreed, Private: private},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				forged := acme
				forged.SignKey = &key
				o := as2client.Options{MessageID: "<forged@acme>"}
				a := as2test.Post(t, as2test.Prepare(t, forged, as2test.Invoice("INV1", "1"), o))
				refused(t, a, mdn.AuthenticationFailed)
				if !a.SignatureOK {
					t.Error("the refusal is not signed")
				}
			})
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		keptNothing(t, hub)
		good := as2test.Post(t, as2test.Prepare(t, acme, as2test.Invoice("INV1", "1"), as2client.Options{MessageID: "<forged@acme>"}))
		processed(t, good)
		if hub.Count(`SELECT count(*) FROM ledger_event WHERE kind = 'first'`) != 1 {
			t.Error("the forgery has used up the Message-ID or the reference")
		}
	})
}

// X2: less than agreed is refused, also when it is sound in itself.
func TestSecurityFloor(t *testing.T) {
	t.Parallel()
	hub := as2test.Start(t, as2test.Options{})
	acme := hub.Agree("acme", nil)
	weak := hub.Agree("weak", func(a *partners.Agreement) {
		a.AS2.Require.Digests, a.AS2.Require.Ciphers = []string{"sha-256"}, []string{"aes-256-cbc"}
	})
	t.Run("each", func(t *testing.T) {
		for name, tt := range map[string]struct {
			partner as2client.Partner
			change  func(*as2client.Partner)
			want    mdn.Disposition
		}{
			"plain":          {acme, func(p *as2client.Partner) { p.SignKey, p.EncryptFor = nil, nil }, mdn.InsufficientMessageSecurity},
			"only signed":    {acme, func(p *as2client.Partner) { p.EncryptFor = nil }, mdn.InsufficientMessageSecurity},
			"only encrypted": {acme, func(p *as2client.Partner) { p.SignKey = nil }, mdn.InsufficientMessageSecurity},
			"weak digest":    {weak, func(p *as2client.Partner) { p.Digest = crypto.SHA1 }, mdn.InsufficientMessageSecurity},
			"weak cipher":    {weak, func(p *as2client.Partner) { p.Cipher = "aes-128-cbc" }, mdn.InsufficientMessageSecurity},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := tt.partner
				tt.change(&p)
				a := as2test.Send(t, p, as2test.Invoice("INV1", "1"))
				refused(t, a, tt.want)
				if !a.SignatureOK {
					t.Errorf("the refusal is not signed: %v", a.Problems)
				}
			})
		}
	})
	t.Run("nothing kept", func(t *testing.T) { keptNothing(t, hub) })
	t.Run("enough", func(t *testing.T) { processed(t, as2test.Send(t, weak, as2test.Invoice("INV1", "1"))) })
}
