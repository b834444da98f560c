package interop

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed pyas2lib/driver.py libas2/driver.js openssl/driver.py java phase2 openas2 edi/reader.py
var sources embed.FS

// Versions of the peers, as the registries serve them. Newer releases of phase2
// and OpenAS2 exist, but not, or not whole, on Maven Central.
const (
	pyas2libVersion = "1.4.4"
	libas2Version   = "0.8.2"
	phase2Version   = "5.1.7"
	openas2Version  = "2.10.1"
)

// Peer is an implementation that can be installed.
type Peer struct {
	Name    string // of its folder
	AS2Name string
	Prefix  string // of its interchange references
	install func(context.Context, string) (Driver, error)
}

// Peers are all of them.
var Peers = []Peer{
	{"pyas2lib", "PYAS2LIB", "PY", installPyas2lib},
	{"phase2", "PHASE2", "PH", javaInstaller("phase2", phase2Version)},
	{"openas2", "OPENAS2", "OA", javaInstaller("openas2", openas2Version)},
	{"libas2", "LIBAS2", "LI", installLibas2},
	{"openssl", "OPENSSL", "OS", installOpenssl},
}

// CacheDir is where peers are installed.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("installing peers: %w", err)
	}
	return filepath.Join(dir, "firstcopy", "interop"), nil
}

// Install installs the peer, unless this version of it is there, and copies its
// driver beside it.
func (p Peer) Install(ctx context.Context) (Driver, error) {
	cache, err := CacheDir()
	if err != nil {
		return Driver{}, err
	}
	dir := filepath.Join(cache, p.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Driver{}, fmt.Errorf("installing %s: %w", p.Name, err)
	}
	if err := copyDriver(p.Name, dir); err != nil {
		return Driver{}, fmt.Errorf("installing %s: %w", p.Name, err)
	}
	d, err := p.install(ctx, dir)
	if err != nil {
		return Driver{}, fmt.Errorf("installing %s: %w", p.Name, err)
	}
	d.Peer, d.Dir = p.Name, dir
	return d, nil
}

func copyDriver(name, dir string) error {
	entries, err := sources.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		content, err := sources.ReadFile(name + "/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// once runs commands in a folder unless they have succeeded there before for
// the same version.
func once(ctx context.Context, dir, version string, commands ...[]string) error {
	stamp := filepath.Join(dir, "installed-"+version)
	if _, err := os.Stat(stamp); err == nil {
		return nil
	}
	for _, c := range commands {
		if err := run(ctx, dir, c...); err != nil {
			return err
		}
	}
	return os.WriteFile(stamp, nil, 0o644)
}

func run(ctx context.Context, dir string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, tail(out))
	}
	return nil
}

func tail(out []byte) string {
	const most = 2000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.TrimSpace(string(out))
}

func installPyas2lib(ctx context.Context, dir string) (Driver, error) {
	err := once(ctx, dir, pyas2libVersion,
		[]string{"python3", "-m", "venv", "venv"},
		[]string{"venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "pyas2lib==" + pyas2libVersion})
	python := filepath.Join(dir, "venv", "bin", "python")
	return Driver{Version: pyas2libVersion, Command: []string{python, "driver.py"}}, err
}

// installLibas2 takes dependencies as old as the library: with the pkijs that
// npm picks (2.4.0) it cannot sign with an RSA key. It decrypts with RSA through
// node:crypto, which has to be told to let PKCS #1 v1.5 pass.
func installLibas2(ctx context.Context, dir string) (Driver, error) {
	err := once(ctx, dir, libas2Version, []string{"npm", "install", "--prefix", ".", "--no-save",
		"libas2@" + libas2Version, "pkijs@2.1.90", "asn1js@2.0.26", "@peculiar/webcrypto@1.1.3"})
	return Driver{Version: libas2Version, Command: []string{"node", "--security-revert=CVE-2023-46809", "driver.js"}}, err
}

// installOpenssl takes the one that is there.
func installOpenssl(ctx context.Context, _ string) (Driver, error) {
	out, err := exec.CommandContext(ctx, "openssl", "version").Output()
	if err != nil {
		return Driver{}, err
	}
	version := string(out)
	if words := strings.Fields(version); len(words) > 1 {
		version = words[1]
	}
	return Driver{Version: version, Command: []string{"python3", "driver.py"}}, nil
}

// javaInstaller fetches the libraries named in the driver's pom.xml, and
// compiles the driver at every run: it is small.
func javaInstaller(name, version string) func(context.Context, string) (Driver, error) {
	return func(ctx context.Context, dir string) (Driver, error) {
		if err := copyDriver("java", dir); err != nil {
			return Driver{}, err
		}
		if err := once(ctx, dir, version, []string{"mvn", "--quiet", "--batch-mode", "-Dversion=" + version,
			"org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies", "-DoutputDirectory=lib"}); err != nil {
			return Driver{}, err
		}
		if err := run(ctx, dir, "javac", "-nowarn", "-proc:none", "-d", "classes", "-cp", "lib/*", "Driver.java", "Support.java"); err != nil {
			return Driver{}, err
		}
		command := []string{"java", "-XX:TieredStopAtLevel=4", "-Xmx512m", "-cp", "classes" + string(os.PathListSeparator) + "lib/*", "Driver"}
		return Driver{Version: version, Command: command}, nil
	}
}
