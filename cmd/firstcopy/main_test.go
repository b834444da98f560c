package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"firstcopy/configs"
	"firstcopy/internal/pgtest"
)

// asProgram makes the test binary the program itself, for tests that need a
// process of its own.
const asProgram = "FIRSTCOPY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Unsetenv(configs.EnvDatabaseURL)
	os.Unsetenv(envConfig)
	time.Local = time.FixedZone("", 2*60*60)
	os.Exit(pgtest.Main(m))
}

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// command runs a command line in this process.
func command(t *testing.T, args ...string) result {
	t.Helper()
	return commandIn(t, "", args...)
}

func commandIn(t *testing.T, in string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(in), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// must fails the test unless the command succeeded; it returns its output.
func (r result) must(t *testing.T) string {
	t.Helper()
	if r.code != exitOK {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	return r.out
}

// contains checks that text has every part, in that order.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q is missing, or not where it belongs, in:\n%s", part, text)
			return
		}
		rest = after
	}
}

// squeeze makes every run of spaces one, so that tests read tables by their
// words.
func squeeze(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
}

// site is a folder with a configuration, and its database.
type site struct {
	dir, config, url string
}

// newSite has a migrated database, station HUB, and a folder "out" for a sink.
func newSite(t *testing.T) *site { return newSiteOn(t, pgtest.URL(t)) }

func newSiteOn(t *testing.T, url string) *site {
	t.Helper()
	s := &site{dir: t.TempDir(), url: url}
	certificate, key := keyPair()
	s.write(t, "hub.crt", certificate)
	s.write(t, "hub.key", key)
	s.write(t, "acme.crt", certificate)
	s.config = s.write(t, "firstcopy.yaml", fmt.Sprintf(`
database: {url: %q}
node: gw1
listen: {address: "127.0.0.1:0"}
operator: {address: "127.0.0.1:0"}
stations:
  - as2_id: HUB
    keys: [{certificate_file: hub.crt, key_file: hub.key}]
`, url))
	if err := os.Mkdir(filepath.Join(s.dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run executes a command with the site's configuration.
func (s *site) run(t *testing.T, args ...string) result {
	t.Helper()
	return command(t, append([]string{"-c", s.config}, args...)...)
}

// keyPair is one certificate and key for all tests: making one takes long.
var keyPair = sync.OnceValues(func() (certificate, key string) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "acme.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100*24*time.Hour + time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
})

// agreement is the YAML of one partner, with more of its keys.
func (s *site) agreement(name, more string) string {
	return fmt.Sprintf("  - name: %s\n    as2: {id: %s, station: HUB, certificates: [{file: acme.crt}]}\n    sink: dir:%s\n%s",
		name, strings.ToUpper(name), filepath.Join(s.dir, "out"), more)
}

// apply makes the agreements those given.
func (s *site) apply(t *testing.T, agreements ...string) {
	t.Helper()
	file := s.write(t, "partners.yaml", "partners:\n"+strings.Join(agreements, ""))
	s.run(t, "partner", "apply", "-f", file, "--as", "setup").must(t)
}
