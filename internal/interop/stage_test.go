//go:build interop

package interop_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"

	"firstcopy/as2/smime"
	"firstcopy/gateway"
	"firstcopy/internal/as2test"
	"firstcopy/internal/interop"
	"firstcopy/partners"
)

// stage is the hub and the keys of all exchanges.
type stage struct {
	hub       *as2test.Hub
	hubKey    smime.Key
	peerKey   smime.Key
	failures  string // where refused messages are kept
	keyFolder string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{hubKey: readKey(t, "hub"), peerKey: readKey(t, "peer")}
	cache, err := interop.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s.failures = filepath.Join(cache, "not-accepted")
	if err := os.RemoveAll(s.failures); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.failures, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.keyFolder, err = filepath.Abs(vectors); err != nil {
		t.Fatal(err)
	}
	s.hub = as2test.Start(t, as2test.Options{Config: func(c *gateway.Config) {
		c.Stations = map[string]gateway.Station{interop.HubName: as2test.Station{Key: s.hubKey}}
		c.Certificates = map[string][]*x509.Certificate{interop.HubName: {s.hubKey.Certificate}}
	}})
	return s
}

// agree applies a generous agreement with a peer.
func (s *stage) agree(t *testing.T, p interop.Peer, receipts string) {
	t.Helper()
	inbox := filepath.Join(s.hub.Inbox, p.Name)
	if err := os.MkdirAll(inbox, 0o755); err != nil {
		t.Fatal(err)
	}
	s.hub.Apply(partners.Agreement{
		Tenant: partners.DefaultTenant, Name: p.Name, Sink: "dir:" + inbox, Drift: partners.DriftHold,
		OnDuplicate: partners.AnswerProcessed, Windows: partners.Windows{Default: partners.DefaultWindow},
		Limits: partners.Limits{Payload: 64 << 20, Concurrent: 64},
		AS2: partners.AS2{ID: p.AS2Name, Station: interop.HubName, DefaultMIC: partners.DefaultMIC,
			AsyncURLs: []string{receipts}, AllowPrivate: true,
			Certificates: []partners.Certificate{{X509: s.peerKey.Certificate, Uses: []partners.Use{partners.UseEncrypt, partners.UseVerify}}}},
	})
}

// newPlan is a plan for a driver with a scratch folder of its own, which stays
// until the next run: the driver's log is in it.
func newPlan(t *testing.T, p interop.Peer, role, keys string) interop.Plan {
	t.Helper()
	cache, err := interop.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(cache, "scratch", p.Name, role)
	if err := os.RemoveAll(scratch); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	return interop.Plan{
		HubName: interop.HubName, HubCert: filepath.Join(keys, "hub.crt"),
		PeerName: p.AS2Name, PeerCert: filepath.Join(keys, "peer.crt"), PeerKey: filepath.Join(keys, "peer.key"),
		ListenPort: freePort(t), ReceiptPort: freePort(t), Scratch: scratch, Cases: interop.Cases(p.Prefix),
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func readKey(t *testing.T, name string) smime.Key {
	t.Helper()
	read := func(ext string) []byte {
		content, err := os.ReadFile(filepath.Join(vectors, name+ext))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(content)
		if block == nil {
			t.Fatalf("%s%s is not PEM", name, ext)
		}
		return block.Bytes
	}
	certificate, err := x509.ParseCertificate(read(".crt"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(read(".key"))
	if err != nil {
		t.Fatal(err)
	}
	return smime.Key{Certificate: certificate, Private: key}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Error(err)
	}
}

// showLog shows the end of what a driver wrote to standard error.
func showLog(t *testing.T, plan interop.Plan, role string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(plan.Scratch, role+".log"))
	if err != nil || len(bytes.TrimSpace(content)) == 0 {
		return
	}
	t.Logf("%s %s:\n%s", plan.PeerName, role, content[max(0, len(content)-6000):])
}
