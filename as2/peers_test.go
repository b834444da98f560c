package as2_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firstcopy/as2"
	"firstcopy/as2/smime"
)

// TestPeers replays messages that other implementations sent to a live hub in
// "make interop", which rewrites them when run with RECORD=1. The digests
// expected are those that the sender accepted.
func TestPeers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/peers/*.as2")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	policy := as2.Policy{Keys: []smime.Key{peerKey(t, "hub")}, Signers: []*x509.Certificate{peerKey(t, "peer").Certificate}}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".as2"), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, err := parseVector(content)
			if err != nil {
				t.Fatal(err)
			}
			v.replay(t, policy)
		})
	}
}

// vector is a recorded message and what is expected of it.
type vector struct {
	expect  map[string]string
	message []byte // header, empty line and body as received
}

// vectorFields are the lines that head a vector, and whether they must be there.
var vectorFields = map[string]bool{"expect": true, "comment": false, "mic": false, "payload-sha256": true, "signed": true, "encrypted": true}

func parseVector(content []byte) (vector, error) {
	head, message, ok := bytes.Cut(content, []byte("\n\n"))
	if !ok {
		return vector{}, errors.New("no empty line behind the head")
	}
	v := vector{expect: map[string]string{}, message: message}
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if _, known := vectorFields[name]; !known || !ok {
			return v, fmt.Errorf("unknown line %q in the head", line)
		}
		if _, twice := v.expect[name]; twice {
			return v, fmt.Errorf("%q stands twice in the head", name)
		}
		v.expect[name] = value
	}
	for name, must := range vectorFields {
		if must && v.expect[name] == "" {
			return v, fmt.Errorf("no %q in the head", name)
		}
	}
	return v, nil
}

func (v vector) replay(t *testing.T, policy as2.Policy) {
	t.Helper()
	head, body, ok := bytes.Cut(v.message, []byte("\r\n\r\n"))
	if !ok {
		t.Fatal("the message has no end of its header")
	}
	fields := http.Header{}
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("header line %q", line)
		}
		fields.Add(textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value))
	}
	header, err := as2.ParseHeader(fields)
	if err != nil {
		t.Fatalf("header: %v", err)
	}
	var payload bytes.Buffer
	opened, err := as2.Open(header, bytes.NewReader(body), &payload, policy)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	sum := sha256.Sum256(payload.Bytes())
	for name, got := range map[string]string{
		"expect": "processed", "mic": opened.MIC.String(), "payload-sha256": hex.EncodeToString(sum[:]),
		"signed": fmt.Sprint(opened.Signed), "encrypted": fmt.Sprint(opened.Encrypted),
	} {
		if want := v.expect[name]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestVectorHeads(t *testing.T) {
	t.Parallel()
	const good = "expect: processed\npayload-sha256: 00\nsigned: true\nencrypted: true\n\nAS2-From: A\r\n\r\nbody"
	if _, err := parseVector([]byte(good)); err != nil {
		t.Errorf("good: %v", err)
	}
	for name, bad := range map[string]string{
		"empty":         "",
		"no message":    strings.Split(good, "\n\n")[0],
		"unknown line":  "expected: processed\n" + good,
		"line twice":    "signed: true\n" + good,
		"line missing":  strings.Replace(good, "signed: true\n", "", 1),
		"value missing": strings.Replace(good, "signed: true", "signed:", 1),
	} {
		if _, err := parseVector([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// peerKey reads one of the keys that the vectors are made with.
func peerKey(t *testing.T, name string) smime.Key {
	t.Helper()
	der := func(file string) []byte {
		content, err := os.ReadFile(filepath.Join("testdata/peers", file))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(content)
		if block == nil {
			t.Fatalf("%s is not PEM", file)
		}
		return block.Bytes
	}
	certificate, err := x509.ParseCertificate(der(name + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.ParsePKCS8PrivateKey(der(name + ".key"))
	if err != nil {
		t.Fatal(err)
	}
	return smime.Key{Certificate: certificate, Private: private}
}
