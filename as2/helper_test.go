package as2_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"firstcopy/as2"
	"firstcopy/as2/internal/cmstest"
	"firstcopy/as2/smime"
	"firstcopy/mdn"
)

// edi has what text processing would damage: every line end, EDI's control
// separators, octets beyond ASCII, a NUL and a byte order mark.
const edi = "\xef\xbb\xbfUNB+UNOC:3+A+B\xfc+1\x1c\x1d\x00'\r\nUNH+1'\nBGM\r'\r\n\r\n"

const partHeader = "Content-Type: application/EDIFACT\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\n"

// message is what a partner posts.
type message struct {
	contentType, encoding, disposition string
	body                               []byte
	receipt                            mdn.Request
}

func (m message) header() as2.Header {
	return as2.Header{
		From: "PART", To: "HUB", MessageID: "<1@x>", ContentType: m.contentType,
		TransferEncoding: m.encoding, ContentDisposition: m.disposition, Receipt: m.receipt,
	}
}

// entity is the message as a MIME entity, to be put into another layer.
func (m message) entity() []byte {
	head := "Content-Type: " + m.contentType + "\r\n"
	if m.encoding != "" {
		head += "Content-Transfer-Encoding: " + m.encoding + "\r\n"
	}
	return append([]byte(head+"\r\n"), m.body...)
}

// open opens a message with a payload that can be read again, in large pieces,
// and with one that cannot, octet by octet. Both have to come to the same. The
// payload of a message that is refused is nobody's.
func (m message) open(p as2.Policy) (as2.Opened, []byte, error) {
	var once bytes.Buffer
	first, firstErr := as2.Open(m.header(), iotest.OneByteReader(bytes.NewReader(m.body)), &once, p)
	var again rereadable
	opened, err := as2.Open(m.header(), bytes.NewReader(m.body), &again, p)
	if !reflect.DeepEqual(first, opened) || kindOf(firstErr) != kindOf(err) || err == nil && !bytes.Equal(once.Bytes(), again.Bytes()) {
		return opened, nil, fmt.Errorf("read again: %w, %+v, %q\nread once: %w, %+v, %q", err, opened, again.Bytes(), firstErr, first, once.Bytes())
	}
	if err != nil {
		return opened, nil, err
	}
	return opened, again.Bytes(), nil
}

// rereadable is a payload that can be read again.
type rereadable struct{ bytes.Buffer }

func (r *rereadable) Section(start, end int64) io.Reader {
	return bytes.NewReader(r.Bytes()[start:end])
}

const signedType = `multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="b"`

// signedMessage puts a part and its signature together.
func signedMessage(part, der []byte) message {
	return message{contentType: signedType, body: signedBody(part, "\r\n", base64Part(der))}
}

func signedBody(part []byte, lineEnd string, signature []byte) []byte {
	delimiter := []byte(lineEnd + "--b")
	return slices.Concat(delimiter[len(lineEnd):], []byte(lineEnd), part, delimiter, []byte(lineEnd),
		signature, delimiter, []byte("--"+lineEnd))
}

func base64Part(der []byte) []byte {
	return []byte("Content-Type: application/pkcs7-signature; name=smime.p7s\r\n" +
		"Content-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString(der))
}

// sign signs a part as openssl does.
func sign(tb testing.TB, part []byte, args ...string) message {
	tb.Helper()
	return signedMessage(part, cmstest.Sender().Sign(tb, part, append([]string{"-md", "sha256"}, args...)...))
}

const envelopedType = "application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m"

// encrypt encrypts an entity as openssl does.
func encrypt(tb testing.TB, entity []byte, args ...string) message {
	tb.Helper()
	if len(args) == 0 {
		args = []string{"-aes-256-cbc"}
	}
	return message{contentType: envelopedType, body: cmstest.Receiver().Encrypt(tb, entity, args...)}
}

// policy is an agreement with cmstest.Sender.
func policy() as2.Policy {
	return as2.Policy{Keys: []smime.Key{cmstest.Receiver().Key}, Signers: cmstest.Sender().Cert()}
}

func digest(h crypto.Hash, octets []byte) []byte {
	sum := h.New()
	sum.Write(octets)
	return sum.Sum(nil)
}

func part(content string) []byte { return []byte(partHeader + content) }

// kindOf is the kind of an error, 0 if it has none.
func kindOf(err error) as2.Kind {
	var e *as2.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// mustOpen opens a message that has to be accepted, with its MIC over covered.
func mustOpen(t *testing.T, m message, payload string, covered []byte) as2.Opened {
	t.Helper()
	opened, got, err := m.open(policy())
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	if string(got) != payload {
		t.Errorf("payload %q, want %q", got, payload)
	}
	want := mdn.MIC{Digest: digest(crypto.SHA256, covered), Algorithm: "sha-256"}
	if opened.MIC.String() != want.String() {
		t.Errorf("MIC %v, want %v", opened.MIC, want)
	}
	return opened
}

// mustRefuse opens a message that has to be refused.
func mustRefuse(t *testing.T, m message, p as2.Policy, want as2.Kind) as2.Opened {
	t.Helper()
	opened, _, err := m.open(p)
	var e *as2.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Fatalf("got %v, want %v", err, want)
	}
	if e.Detail == "" || strings.ContainsAny(e.Detail, "\r\n") || strings.Contains(e.Detail, "smime:") {
		t.Errorf("detail %q is not fit for the partner", e.Detail)
	}
	return opened
}
