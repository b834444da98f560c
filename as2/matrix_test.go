package as2_test

import (
	"bytes"
	"crypto"
	"slices"
	"strings"
	"testing"

	"firstcopy/as2/internal/cmstest"
	"firstcopy/mdn"
)

// factors are what a message can be made of, each with its levels. Every pair
// of levels of two factors occurs in some message of the matrix.
var factors = [][]string{
	{"plain", "compressed", "signed", "opaque", "compressed signed", "signed compressed", "compressed opaque"},
	{"none", "aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "des3", "aes-128-gcm", "aes-192-gcm", "aes-256-gcm"},
	{"pkcs1", "oaep", "oaep sha256", "key id", "second"},
	{"sha1", "sha224", "sha256", "sha384", "sha512"},
	{"rsa", "pss", "ecdsa p256", "ecdsa p384", "ecdsa p521", "no attributes", "no certificate", "key id"},
	{"DER", "streamed", "BER"},
	{"none", "binary", "base64", "unlabelled base64"},
	{"CRLF", "LF", "LF signed as CRLF", "LF header"},
	{"right", "wrong", "none"}, // micalg
	{"sha-256", "", "sha1", "sha-512"},
}

const (
	packaging = iota
	cipher
	transport
	digestName
	scheme
	encoding
	transferEncoding
	lineEnds
	label
	requestedMIC
)

// pairwise builds rows until every pair of levels has occurred.
func pairwise(factors [][]string) (rows [][]string) {
	type pair struct{ f, v, g, w int }
	open := map[pair]bool{}
	for f := range factors {
		for g := f + 1; g < len(factors); g++ {
			for v := range factors[f] {
				for w := range factors[g] {
					open[pair{f, v, g, w}] = true
				}
			}
		}
	}
	for turn := 0; len(open) > 0; turn++ {
		row := make([]int, len(factors))
		for f := range factors {
			best, most := 0, -1
			for i := range factors[f] {
				v := (i + turn) % len(factors[f])
				n := 0
				for g := range factors {
					for w := range factors[g] {
						if g < f && row[g] == w && open[pair{g, w, f, v}] {
							n += 100
						}
						if g > f && open[pair{f, v, g, w}] {
							n++
						}
					}
				}
				if n > most {
					best, most = v, n
				}
			}
			row[f] = best
		}
		levels := make([]string, len(factors))
		for f, v := range row {
			levels[f] = factors[f][v]
			for g := f + 1; g < len(factors); g++ {
				delete(open, pair{f, v, g, row[g]})
			}
		}
		rows = append(rows, levels)
	}
	return rows
}

// TestMatrix opens messages made by openssl, and by a builder of our own where
// it has no means, in every packaging, and holds payload, MIC and what is said
// of the layers against what went in.
func TestMatrix(t *testing.T) {
	t.Parallel()
	rows := pairwise(factors)
	if len(rows) < 56 {
		t.Fatalf("only %d messages", len(rows))
	}
	for _, row := range rows {
		t.Run(strings.Join(row, ","), func(t *testing.T) {
			t.Parallel()
			m := makeMessage(t, row)
			p := policy()
			p.Signers = append(p.Signers, cmstest.Elliptic().Certificate, cmstest.P384().Certificate, cmstest.P521().Certificate)
			opened, payload, err := m.open(p)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(payload, m.payload) {
				t.Errorf("payload %q, want %q", payload, m.payload)
			}
			h, spelling := crypto.SHA256, "sha-256"
			switch {
			case row[requestedMIC] != "":
				h, _ = mdn.HashByName(row[requestedMIC])
				spelling = row[requestedMIC]
			case m.signed:
				h, _ = mdn.HashByName(row[digestName])
				spelling = mdn.NameOf(h)
			}
			if want := (mdn.MIC{Digest: digest(h, m.covered), Algorithm: spelling}); opened.MIC.String() != want.String() {
				t.Errorf("MIC %v, want %v", opened.MIC, want)
			}
			if opened.Signed != m.signed || opened.Encrypted != (row[cipher] != "none") ||
				opened.Compressed != strings.Contains(row[packaging], "compressed") {
				t.Errorf("%+v", opened)
			}
		})
	}
}

// made is a message of the matrix with what it has to come to.
type made struct {
	message
	payload, covered []byte
	signed           bool
}

func makeMessage(t *testing.T, row []string) made {
	m := made{payload: []byte("UNB+UNOC:3+A+B\xfc+1\x1c'\r\nUNH+1'\r\n\r\n")}
	head := "Content-Type: application/EDIFACT\r\nContent-Disposition: attachment; filename=o.edi\r\n\r\n"
	if strings.HasPrefix(row[lineEnds], "LF") {
		m.payload = bytes.ReplaceAll(m.payload, []byte("\r\n"), []byte("\n"))
	}
	if row[lineEnds] == "LF header" {
		head = strings.ReplaceAll(head, "\r\n", "\n")
	}
	entity := append([]byte(head), m.payload...)
	m.contentType, m.body = "application/EDIFACT", m.payload
	m.covered = m.payload
	steps := strings.Fields(row[packaging])
	if row[cipher] != "none" {
		steps = append(steps, "encrypted")
	}
	for _, step := range steps {
		switch step {
		case "compressed":
			if !m.signed {
				m.covered = entity
			}
			m.message = message{contentType: "application/pkcs7-mime; smime-type=compressed-data; name=smime.p7z",
				body: encode(row, cmstest.Compressed(cmstest.Deflate(entity)))}
		case "signed", "opaque":
			m.signed = true
			m.message, m.covered = signStep(t, row, entity, step == "opaque")
		case "encrypted":
			if !m.signed {
				m.covered = entity
				if strings.HasPrefix(row[packaging], "compressed") {
					m.covered = append([]byte(head), m.payload...)
				}
			}
			m.message = message{contentType: envelopedType, body: encode(row, cmstest.Receiver().Encrypt(t, entity, encryptArgs(t, row)...))}
		}
		if step != "plain" {
			m.message = transfer(row, m.message)
			entity = m.entity()
		}
	}
	if row[requestedMIC] != "" {
		m.receipt = mdn.Request{Wanted: true, Signed: true, MICAlgorithms: []string{row[requestedMIC]}}
	}
	return m
}

// encode changes the encoding of what openssl wrote in DER.
func encode(row []string, der []byte) []byte {
	if row[encoding] == "BER" {
		return cmstest.ToBER(der)
	}
	return der
}

// transfer applies the transfer encoding to a CMS layer; multiparts have none.
func transfer(row []string, m message) message {
	if strings.HasPrefix(m.contentType, "multipart/") {
		return m
	}
	switch row[transferEncoding] {
	case "binary":
		m.encoding = "binary"
	case "base64":
		m.encoding, m.body = "base64", wrapped(m.body, 76, "\r\n")
	case "unlabelled base64":
		m.body = wrapped(m.body, 64, "\n")
	}
	return m
}

func signStep(t *testing.T, row []string, entity []byte, opaque bool) (message, []byte) {
	signer := cmstest.Sender()
	switch row[scheme] {
	case "ecdsa p256":
		signer = cmstest.Elliptic()
	case "ecdsa p384":
		signer = cmstest.P384()
	case "ecdsa p521":
		signer = cmstest.P521()
	}
	args := []string{"-md", row[digestName]}
	switch row[scheme] {
	case "pss":
		args = append(args, "-keyopt", "rsa_padding_mode:pss")
	case "no attributes":
		args = append(args, "-noattr")
	case "no certificate":
		args = append(args, "-nocerts")
	case "key id":
		args = append(args, "-keyid")
	}
	if row[encoding] == "streamed" && !(opaque && row[scheme] == "pss") { // which openssl cannot
		args = append(args, "-stream")
	}
	if opaque {
		body := encode(row, signer.Sign(t, entity, append(args, "-nodetach")...))
		return message{contentType: "application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", body: body}, entity
	}
	covered := entity
	switch {
	case bytes.Contains(entity, []byte("pkcs7-mime")): // compressed: its octets are nobody's lines
	case row[lineEnds] == "LF signed as CRLF":
		covered = bytes.ReplaceAll(bytes.ReplaceAll(entity, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	case row[lineEnds] == "LF header":
		i := bytes.Index(entity, []byte("\n\n")) + 2
		covered = slices.Concat(bytes.ReplaceAll(entity[:i], []byte("\n"), []byte("\r\n")), entity[i:])
	}
	micalg := map[string]string{"right": "; micalg=" + row[digestName], "wrong": "; micalg=sha-1", "none": ""}[row[label]]
	part := signer.Sign(t, covered, args...)
	m := message{contentType: `multipart/signed; protocol="application/pkcs7-signature"` + micalg + `; boundary="b"`}
	m.body = signedBody(entity, "\r\n", base64Part(encode(row, part)))
	return m, covered
}

func encryptArgs(t *testing.T, row []string) []string {
	args := []string{"-" + row[cipher]}
	if row[encoding] == "streamed" {
		args = append(args, "-stream")
	}
	switch row[transport] {
	case "oaep":
		args = append(args, "-keyopt", "rsa_padding_mode:oaep")
	case "oaep sha256":
		args = append(args, "-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha256", "-keyopt", "rsa_mgf1_md:sha256")
	case "key id":
		args = append(args, "-keyid")
	case "second":
		args = append(args, cmstest.Other().CertFile(t))
	}
	return args
}
