package configs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"firstcopy/configs"
	"firstcopy/configs/strict"
)

// least is a configuration that is right, to be broken.
const least = `database: {url: "postgres://user:hunter2@db:6432/firstcopy"}
node: gw1
stations:
  - as2_id: HUB
    keys: [{certificate_file: hub.crt, key_file: hub.key}]
`

func load(t *testing.T, dir, yaml string) (configs.Config, error) {
	t.Helper()
	path := filepath.Join(dir, "firstcopy.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return configs.Load(path)
}

func TestLoadExampleFile(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("firstcopy.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	got, err := load(t, dir, string(example))
	if err != nil {
		t.Fatal(err)
	}
	want := configs.Defaults()
	want.Database.URL = "postgres://firstcopy@localhost:5432/firstcopy?sslmode=disable"
	want.Node = "gw1"
	want.Stations = []configs.Station{{AS2ID: "HUB", Keys: got.Stations[0].Keys}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %#v\nwant %#v", got, want)
	}
	key := got.Stations[0].Keys[0]
	if key.Certificate == nil || !rsaKey().Equal(key.Private) || key.KeyFile != filepath.Join(dir, "hub.key") || len(key.Use) != 2 {
		t.Errorf("key %+v", key)
	}
}

// What the example shows in comments is the default, and valid.
func TestExampleCommentsAreTheDefaults(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("firstcopy.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	shown := 0
	for line := range strings.Lines(string(example)) {
		bare := strings.TrimLeft(line, " ")
		if text, ok := strings.CutPrefix(bare, "# "); ok && strings.HasPrefix(line, "  # ") && strings.Contains(text, ": ") &&
			!strings.ContainsAny(text[:strings.Index(text, ": ")], " .") && !strings.HasPrefix(text, "tls:") && !strings.HasPrefix(text, "url_file:") {
			line = "  " + text
			shown++
		}
		lines = append(lines, line)
	}
	if shown != 27 {
		t.Errorf("%d defaults are shown", shown)
	}
	dir := folder(t)
	got, err := load(t, dir, strings.Join(lines, ""))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := load(t, dir, string(example))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, plain) {
		t.Errorf("\nshown    %#v\ndefaults %#v", got, plain)
	}
}

func TestLoadAllKeys(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	got, err := load(t, dir, `database: {url_file: url, pool: 5}
listen: {address: "0.0.0.0:443", tls: {cert_file: hub.crt, key_file: hub.key}, path: /in, header_limit: 8KiB, body_limit: 2GiB,
  header_timeout: 1s, body_timeout: 2m, body_idle_timeout: 3s, idle_timeout: 4s, concurrent: 5, connections: 6}
operator: {address: "[::1]:9"}
stations:
  - as2_id: HUB
    keys:
      - {certificate_file: hub.der, key_file: pkcs1.key, use: [decrypt], from: 2026-02-01, until: 2027-02-01}
      - {certificate_file: ec.crt, key_file: ec.key}
spool: {dir: ., memory: 2MiB}
transaction: {lock_timeout: 1s, statement_timeout: 2s, idle_timeout: 3s, deadline: 4s}
forward: {workers: 1, attempts: 2, backoff: 3s, backoff_max: 4s, timeout: 5s}
sftp: {partners: 7, lease: 8s}
log: {level: debug, format: text}
`)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := configs.Config{
		Database: configs.Database{URL: "postgres://user:fromfile@db/firstcopy", URLFile: filepath.Join(dir, "url"), Pool: 5},
		Node:     host,
		Listen: configs.Listen{
			Address: "0.0.0.0:443", TLS: configs.TLS{CertFile: filepath.Join(dir, "hub.crt"), KeyFile: filepath.Join(dir, "hub.key")},
			Path: "/in", HeaderLimit: 8 * strict.KiB, BodyLimit: 2 * strict.GiB, HeaderTimeout: time.Second, BodyTimeout: 2 * time.Minute,
			BodyIdleTimeout: 3 * time.Second, IdleTimeout: 4 * time.Second, Concurrent: 5, Connections: 6,
		},
		Operator:    configs.Operator{Address: "[::1]:9"},
		Stations:    []configs.Station{{AS2ID: "HUB", Keys: got.Stations[0].Keys}},
		Spool:       configs.Spool{Dir: dir, Memory: 2 * strict.MiB},
		Transaction: configs.Transaction{LockTimeout: time.Second, StatementTimeout: 2 * time.Second, IdleTimeout: 3 * time.Second, Deadline: 4 * time.Second},
		Forward:     configs.Forward{Workers: 1, Attempts: 2, Backoff: 3 * time.Second, BackoffMax: 4 * time.Second, Timeout: 5 * time.Second},
		SFTP:        configs.SFTP{Partners: 7, Lease: 8 * time.Second},
		Log:         configs.Log{Level: slog.LevelDebug, Format: "text"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %#v\nwant %#v", got, want)
	}
	keys := got.Stations[0].Keys
	if !rsaKey().Equal(keys[0].Private) || keys[0].For(configs.UseSign) || !ecKey().Equal(keys[1].Private) || keys[1].For(configs.UseDecrypt) {
		t.Errorf("keys %v", keys)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	replace := func(old, by string) string { return strings.Replace(least, old, by, 1) }
	for _, test := range []struct{ name, yaml, want string }{
		{"unknown key", least + "nodes: 2\n", "line 6, column 1: nodes: unknown key"},
		{"no database", replace(`{url: "postgres://user:hunter2@db:6432/firstcopy"}`, ""), "database.url: missing: give url, url_file or the environment"},
		{"two urls", replace("{url:", "{url_file: url, url:"), "database.url_file: given beside url"},
		{"no url file", replace(`url: "postgres://user:hunter2@db:6432/firstcopy"`, "url_file: none"), "database.url_file: "},
		{"odd url", replace("db:6432", "db:port"), "database.url: not a connection string"},
		{"pool", replace(`firstcopy"`, `firstcopy", pool: 1`), "database.pool: 1: at least 2"},
		{"node", replace("node: gw1", "node: gw 1"), "node: \"gw 1\": 1 to 64"},
		{"no stations", least[:strings.Index(least, "stations")], "stations: missing"},
		{"station id", replace("HUB", "HÜB"), "stations[0].as2_id: "},
		{"station twice", least + "  - as2_id: HUB\n    keys: [{certificate_file: hub.crt, key_file: hub.key}]\n", "stations[1].as2_id: \"HUB\" is stations[0] already"},
		{"no keys", replace("[{certificate_file: hub.crt, key_file: hub.key}]", "[]"), "stations[0].keys: no key to sign with"},
		{"signs only", replace("hub.crt, key_file: hub.key", "ec.crt, key_file: ec.key"), "stations[0].keys: no key to decrypt with"},
		{"ec decrypts", replace("hub.crt, key_file: hub.key", "ec.crt, key_file: ec.key, use: [decrypt]"), "keys[0].use[0]: an elliptic curve key can only sign"},
		{"use", replace("hub.key", "hub.key, use: [verify]"), "keys[0].use[0]: \"verify\": one of sign, decrypt"},
		{"no certificate", replace("certificate_file: hub.crt, ", ""), "keys[0].certificate_file: missing"},
		{"no key", replace(", key_file: hub.key", ""), "keys[0].key_file: missing"},
		{"certificate not there", replace("hub.crt", "none.crt"), "none.crt: no such file"},
		{"key as certificate", replace("hub.crt", "hub.key"), "hub.key: no certificate in it"},
		{"text as certificate", replace("hub.crt", "odd.key"), "odd.key: not a readable certificate"},
		{"another's key", replace("hub.key", "other.key"), "keys[0].key_file: is not the key of the certificate"},
		{"another kind of key", replace("hub.key", "ec.key"), "keys[0].key_file: is not the key of the certificate"},
		{"weak", replace("hub.crt, key_file: hub.key", "weak.crt, key_file: weak.key"), "RSA key of 1024 bits"},
		{"locked", replace("hub.key", "locked.key"), "locked.key: an encrypted key"},
		{"broken", replace("hub.key", "broken.key"), "broken.key: "},
		{"no key in it", replace("hub.key", "odd.key"), "odd.key: no private key in PEM in it"},
		{"folder as key", replace("hub.key", "."), "not a regular file"},
		{"ends first", replace("hub.key", "hub.key, until: 2025-01-01"), "keys[0].until: ends before it begins, on 2026-01-01"},
		{"address", least + "listen: {address: '8080'}\n", "listen.address: \"8080\" is not host:port"},
		{"port", least + "operator: {address: ':70000'}\n", "operator.address: \":70000\" is not host:port"},
		{"path", least + "listen: {path: /as2/}\n", "listen.path: \"/as2/\": a plain path"},
		{"relative path", least + "listen: {path: as2}\n", "listen.path: \"as2\": a plain path"},
		{"half of tls", least + "listen: {tls: {cert_file: hub.crt}}\n", "listen.tls: cert_file and key_file belong together"},
		{"tls mismatch", least + "listen: {tls: {cert_file: hub.crt, key_file: other.key}}\n", "listen.tls: tls: private key does not match"},
		{"no timeout", least + "listen: {header_timeout: 0s}\n", "listen.header_timeout: must be longer than 0"},
		{"no concurrency", least + "listen: {concurrent: 0}\n", "listen.concurrent: 0: at least 1"},
		{"small", least + "listen: {body_limit: 1}\n", "listen.body_limit: 1B: at least 1KiB"},
		{"no folder", least + "spool: {dir: none}\n", "spool.dir: "},
		{"file as folder", least + "spool: {dir: url}\n", "spool.dir: " + filepath.Join(dir, "url") + " is not a folder"},
		{"deadline", least + "transaction: {deadline: 5s}\n", "transaction.statement_timeout: must be shorter than transaction.deadline (5s)"},
		{"too fine", least + "transaction: {lock_timeout: 1us}\n", "transaction.lock_timeout: less than 1ms"},
		{"backoff", least + "forward: {backoff: 1h}\n", "forward.backoff_max: shorter than forward.backoff (1h0m0s)"},
		{"attempts", least + "forward: {attempts: 0}\n", "forward.attempts: 0: at least 1"},
		{"log format", least + "log: {format: xml}\n", "log.format: \"xml\": one of json, text"},
		{"log level", least + "log: {level: loud}\n", "log.level: "},
	} {
		if _, err := load(t, dir, test.yaml); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant an error saying %q", test.name, err, test.want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", test.name, err)
		}
	}
	if _, err := configs.Load(filepath.Join(dir, "none.yaml")); err == nil {
		t.Error("a file that is not there is loaded")
	}
}

func TestLoadReportsAllErrors(t *testing.T) {
	t.Parallel()
	_, err := load(t, folder(t), "listen: {address: x, colour: red}\nlog: {format: xml}\nnode: a b\n")
	for _, want := range []string{"listen.address", "listen.colour", "log.format", "node", "database.url", "stations"} {
		if err == nil || !strings.Contains(err.Error(), want+": ") {
			t.Errorf("%s is not reported in\n%v", want, err)
		}
	}
}

func TestEnvironmentStandsAboveTheFile(t *testing.T) { // changes the process's environment
	t.Setenv(configs.EnvDatabaseURL, "postgres://elsewhere/db")
	got, err := load(t, folder(t), strings.Replace(least, "{url:", "{url_file: none, url:", 1))
	if err != nil || got.Database.URL != "postgres://elsewhere/db" {
		t.Errorf("%q, %v", string(got.Database.URL), err)
	}
	t.Setenv(configs.EnvDatabaseURL, "postgres://else where:port/db")
	if _, err := load(t, folder(t), least); err == nil {
		t.Error("a broken URL in the environment is accepted")
	}
}

func TestNothingPrintsSecrets(t *testing.T) {
	t.Parallel()
	config, err := load(t, folder(t), least)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&logged, nil))
	logger.Info("configuration", "config", config, "database", config.Database, "url", config.Database.URL,
		"station", config.Stations[0], "key", config.Stations[0].Keys[0])
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	prime := rsaKey().Primes[0].String()
	for _, text := range []string{
		logged.String(), string(encoded),
		fmt.Sprintf("%v", config), fmt.Sprintf("%+v", config), fmt.Sprintf("%#v", config), fmt.Sprintf("%q", config.Database.URL),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, prime) || strings.Contains(text, prime[:40]) {
			t.Errorf("a secret in %s", text)
		}
	}
	for _, want := range []string{`"host":"db"`, `"port":6432`, `"user":"user"`, `"name":"firstcopy"`, `"node":"gw1"`, "CN=hub (serial 2026) for [sign decrypt]", `"body_limit":"1GiB"`} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("%s is not logged in %s", want, &logged)
		}
	}
}
