package configs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"firstcopy/configs"
)

// PKCS #12 as openssl exports it, by today's methods and by those of old products.
func TestPKCS12(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	export := func(name, password string, more ...string) {
		t.Helper()
		args := append([]string{"pkcs12", "-export", "-in", "hub.crt", "-inkey", "hub.key", "-certfile", "old.crt", "-out", name, "-passout", "pass:" + password}, more...)
		cmd := exec.Command("openssl", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl: %v\n%s", err, out)
		}
	}
	export("hub.p12", "secret")
	export("old.PFX", "secret", "-legacy")
	export("bare.p12", "")
	write("password", "secret\n")
	write("wrong", "guess")
	write("torn.p12", "0\x82\x01\x00 not all of it")
	const rest = "database: {url: postgres://db/firstcopy}\nstations:\n  - as2_id: HUB\n    keys: [{%}]\n"
	for _, tt := range []struct{ keys, fault string }{
		{"key_file: hub.p12, password_file: password", ""},
		{"key_file: old.PFX, password_file: password", ""},
		{"key_file: bare.p12", ""},
		{"key_file: hub.p12", "hub.p12: has a password: name its file in password_file"},
		{"key_file: hub.p12, password_file: wrong", "wrong is wrong"},
		{"key_file: hub.p12, password_file: none", "no such file"},
		{"key_file: hub.p12, password_file: password, certificate_file: hub.crt", "leave this out"},
		{"key_file: torn.p12", "not a readable PKCS #12 file"},
	} {
		c, err := load(t, dir, strings.Replace(rest, "%", tt.keys, 1))
		switch {
		case tt.fault != "":
			if err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %q", tt.keys, err, tt.fault)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.keys, err)
		case !c.Stations[0].Keys[0].For(configs.UseDecrypt) || c.Stations[0].Keys[0].Certificate.SerialNumber.Int64() != 2026:
			t.Errorf("%s: %v", tt.keys, c.Stations[0].Keys[0])
		}
	}
}
