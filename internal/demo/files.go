package demo

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"time"

	"firstcopy/as2/smime"
)

// writeFiles makes the keys of the hub and its partners, their folders, and an invoice to play with.
func (w *world) writeFiles() error {
	for _, dir := range []string{"", "inbox/acme", "inbox/globex", "drop/in", "drop/archive", "drop/answers"} {
		if err := os.MkdirAll(w.path(dir), 0o755); err != nil {
			return err
		}
	}
	for i, name := range []string{"hub", "acme", "globex", "stranger"} {
		if err := w.writeKey(name, int64(i+1)); err != nil {
			return fmt.Errorf("making the key of %s: %w", name, err)
		}
	}
	return os.WriteFile(w.path("invoice.edi"), []byte(invoice("INV2026001", "1190.00")), 0o644)
}

func (w *world) writeKey(name string, serial int64) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{Organization: []string{"firstcopy demo"}, CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(w.path(name+".crt"), "CERTIFICATE", certificate); err != nil {
		return err
	}
	return writePEM(w.path(name+".key"), "PRIVATE KEY", private)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// key reads a key back, as a partner would load its own.
func (w *world) key(name string) (k smime.Key, err error) {
	certificate, err := readPEM(w.path(name + ".crt"))
	if err != nil {
		return k, err
	}
	private, err := readPEM(w.path(name + ".key"))
	if err != nil {
		return k, err
	}
	if k.Certificate, err = x509.ParseCertificate(certificate); err != nil {
		return k, err
	}
	k.Private, err = x509.ParsePKCS8PrivateKey(private)
	return k, err
}

func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s: no PEM block", path)
	}
	return block.Bytes, nil
}

// writeConfig writes the node's configuration and the agreements, as an administrator would.
func (w *world) writeConfig() error {
	config := fmt.Sprintf(`node: demo
database: {url: %q}
listen: {address: "127.0.0.1:0", path: /as2}
operator: {address: "127.0.0.1:0"}
stations:
  - as2_id: HUB
    keys: [{certificate_file: hub.crt, key_file: hub.key}]
forward: {backoff: 500ms, timeout: 10s}
`, w.database.url)
	if err := os.WriteFile(w.path("firstcopy.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	agreements := fmt.Sprintf(`partners:
  - name: acme
    as2:
      id: ACME
      station: HUB
      certificates: [{file: acme.crt}]
%s    window: 14d
    acknowledge: {edifact: contrl}
    sink: %q
  - name: globex
    as2:
      id: GLOBEX
      station: HUB
      certificates: [{file: globex.crt}]
      async_urls: [%q]
      allow_private: true
    window: 30d
    sink: %q
`, w.sftpTerms(), "dir:"+w.path("inbox/acme"), w.receipts.URL(), "dir:"+w.path("inbox/globex"))
	return os.WriteFile(w.path("agreements.yaml"), []byte(agreements), 0o644)
}

// invoice is an EDIFACT interchange with one INVOIC.
func invoice(reference, total string) string {
	return "UNA:+.? '\r\nUNB+UNOC:3+4012345000009:14+5412345000013:14+261201:1015+" + reference + "++INVOIC'\r\n" +
		"UNH+1+INVOIC:D:96A:UN:EAN008'\r\nBGM+380+RE-4711+9'\r\nDTM+137:20261201:102'\r\nNAD+SU+4012345000009::9'\r\n" +
		"NAD+BY+5412345000013::9'\r\nLIN+1++4000862141404:EN'\r\nQTY+47:12'\r\nUNS+S'\r\nMOA+77:" + total + "'\r\n" +
		"UNT+10+1'\r\nUNZ+1+" + reference + "'\r\n"
}

// purchaseOrder is an X12 interchange with one 850.
const purchaseOrder = "ISA*00*          *00*          *ZZ*GLOBEX         *ZZ*HUB            *261201*1015*U*00401*000000815*0*P*>~" +
	"GS*PO*GLOBEX*HUB*20261201*1015*815*X*004010~ST*850*0001~BEG*00*SA*PO-815**20261201~PO1*1*24*EA*9.95**VP*4711~" +
	"CTT*1~SE*5*0001~GE*1*815~IEA*1*000000815~"
