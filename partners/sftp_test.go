package partners_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"firstcopy/internal/pgtest"
	"firstcopy/partners"
)

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBwh0qJCQjyr3QIJBbQZzb6bHUg2vEyhYg6O1ytmHc5D"

// leastSFTP is an agreement with SFTP alone.
const leastSFTP = `partners:
  - name: initech
    sftp:
      host: sftp.initech.example
      user: hub
      host_keys: ["` + hostKey + `"]
      auth: {password_file: password}
      folders: {in: /out, archive: /out/archive}
    sink: dir:/srv/initech
`

func TestParseExampleSFTP(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../configs/agreements.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := partners.ParseFile(folder(t), data)
	if err != nil {
		t.Fatal(err)
	}
	got := all[1].SFTP
	if all[1].HasAS2() || got == nil {
		t.Fatalf("got %+v", all[1])
	}
	want := &partners.SFTP{
		Hop: partners.Hop{Host: "sftp.initech.example", Port: 22, User: "hub",
			HostKeys: []string{hostKey, "ssh-rsa SHA256:Vd1hrhC+YeRGCWiZJ6ZGzVwDBcW5lOJYfLTXSSvPcYg"},
			Auth: partners.Auth{PasswordFile: "/etc/firstcopy/initech.password", KeyboardInteractive: true,
				Keys: []partners.AuthKey{{File: "/etc/firstcopy/initech-key"}}}},
		Folders:  partners.Folders{In: "/outgoing", Archive: "/outgoing/archive", Error: "/outgoing/error", Acknowledgement: "/incoming"},
		Select:   partners.Select{Include: []string{"*.edi", "*.x12"}, Exclude: []string{"test*"}},
		Ready:    partners.Ready{Quiet: partners.DefaultQuiet, Grace: partners.DefaultGrace},
		After:    partners.AfterArchive,
		Interval: partners.DefaultInterval, Jitter: partners.Period(6 * time.Second), MaxFiles: 10000, MaxEntries: 200000,
		Empty: partners.EmptyWait, Timeouts: partners.DefaultTimeouts,
		Expect: partners.Expect{By: "08:30", Days: []string{"mon", "tue", "wed", "thu", "fri"}, Zone: "Europe/Berlin"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseSFTPErrors(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	insert := func(line string) string { return strings.Replace(leastSFTP, "      user:", line+"\n      user:", 1) }
	replace := func(old, by string) string { return strings.Replace(leastSFTP, old, by, 1) }
	for _, test := range []struct{ name, yaml, want string }{
		{"nothing agreed", "partners:\n  - name: a\n    sink: dir:/a\n", "as2: missing, and sftp as well"},
		{"unknown key", insert("      hostkeys: []"), "partners[0].sftp.hostkeys: unknown key; known here: host, port"},
		{"no host", replace("host: sftp.initech.example", "port: 22"), "sftp.host"},
		{"port in host", replace("host: sftp.initech.example", "host: 127.0.0.1:22"), "sftp.host: \"127.0.0.1:22\": the port goes into port: 22"},
		{"port in a jump's host", insert("      route: {jump: {host: 'gate:22', user: hub, auth: {password_file: p}}}"), "route.jump.host: \"gate:22\": the port goes"},
		{"odd port", insert("      port: 70000"), "sftp.port: 70000"},
		{"no pins", replace(`host_keys: ["`+hostKey+`"]`, "host_keys: []"), "a server is trusted for its key only"},
		{"a bare fingerprint", replace(hostKey, "SHA256:Vd1hrhC+YeRGCWiZJ6ZGzVwDBcW5lOJYfLTXSSvPcYg"), "host_keys[0]: a fingerprint needs its key's type"},
		{"a short fingerprint", replace(hostKey, "ssh-rsa SHA256:Vd1"), "is not a SHA-256 fingerprint"},
		{"no key at all", replace(hostKey, "hello"), "host_keys[0]: not a key like"},
		{"an authority's fingerprint", insert(`      host_authorities: ["ssh-rsa SHA256:Vd1hrhC+YeRGCWiZJ6ZGzVwDBcW5lOJYfLTXSSvPcYg"]`), "whole key is needed"},
		{"no way to log in", replace("{password_file: password}", "{keyboard_interactive: true}"), "password_file, keys or agent_socket"},
		{"no archive", replace(", archive: /out/archive", ""), "folders.archive: missing"},
		{"archive is the folder", replace("/out/archive", "/out/"), "the same folder as in"},
		{"climbing", replace("/out/archive", "/out/../x"), "climbs out"},
		{"after", insert("      after: forget"), `"forget": one of archive, delete, keep`},
		{"pattern with folder", insert("      select: {include: [in/*.edi]}"), "without a folder"},
		{"done file", insert("      ready: {done_file: done}"), "{name} or {stem}, once"},
		{"done file of itself", insert(`      ready: {done_file: "{name}"}`), "its own done file"},
		{"quirk", insert("      quirks: [slow]"), "one of small_packets"},
		{"algorithm", insert("      algorithms: {ciphers: [rot13]}"), "algorithms.ciphers[0]"},
		{"two ways", insert("      route: {socks5: 'a:1', http_connect: 'b:2'}"), "one of jump, socks5 and http_connect"},
		{"proxy", insert("      route: {socks5: a}"), "is not host:port"},
		{"jump without pins", insert("      route: {jump: {host: gate, user: hub, auth: {password_file: p}}}"), "route.jump.host_keys: missing"},
		{"expected", insert("      expect: {by: 25:00}"), "is not a time like"},
		{"expected where", insert("      expect: {by: '06:30', zone: Mars/Olympus}"), "is not a time zone"},
		{"interval", insert("      interval: 1ms"), "sftp.interval: at least 100ms"},
		{"negative", insert("      ready: {quiet: -1s}"), "is not a duration"},
	} {
		_, _, err := partners.ParseFile(dir, []byte(test.yaml))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// Weak algorithms are agreed with a warning; lines of known_hosts and of .pub files are taken as they are.
func TestParseSFTPWarnings(t *testing.T) {
	t.Parallel()
	file := strings.Replace(leastSFTP, hostKey, "[sftp.initech.example]:22 "+hostKey+" root@sftp", 1)
	file = strings.Replace(file, "      user:", "      algorithms: {key_exchanges: [diffie-hellman-group14-sha1]}\n      user:", 1)
	all, warnings, err := partners.ParseFile(folder(t), []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0].SFTP.HostKeys; len(got) != 1 || got[0] != hostKey {
		t.Errorf("pinned %q", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "diffie-hellman-group14-sha1 is weak") {
		t.Errorf("warnings %v", warnings)
	}
}

// Terms are stored, read back, diffed and recorded; a partner may change from one channel to the other.
func TestApplySFTP(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	parse := func(file string) partners.Agreement {
		all, _, err := partners.ParseFile(dir, []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	pool := pgtest.New(t)
	store := partners.NewStore(pool)
	first := parse(leastSFTP)
	apply(t, store, partners.ApplyOptions{}, first, parse(strings.Replace(leastSFTP, "initech", "hooli", 1)))
	got, err := store.Get(t.Context(), "default", "initech")
	if err != nil || !reflect.DeepEqual(got.SFTP, first.SFTP) || got.HasAS2() {
		t.Fatalf("got %+v, %v", got, err)
	}
	changes := apply(t, store, partners.ApplyOptions{}, parse(leastSFTP))
	if len(changes) != 1 || changes[0].Action != partners.Unchanged {
		t.Errorf("the same again: %v", changes)
	}
	changes = apply(t, store, partners.ApplyOptions{}, parse(strings.Replace(leastSFTP, "user: hub", "user: hub\n      interval: 5m", 1)))
	want := []partners.FieldChange{{Field: "sftp.interval", Old: "1m", New: "5m"}, {Field: "sftp.jitter", Old: "6s", New: "30s"}}
	if len(changes) != 1 || !reflect.DeepEqual(changes[0].Fields, want) {
		t.Errorf("changes %v", changes)
	}
	lists := strings.Replace(leastSFTP, "auth: {", "select: {include: [\"*.edi\", \"*.x12\"], exclude: [\"a,b\"]}\n      auth: {keys: [{file: one}, {file: two}], ", 1)
	changes = apply(t, store, partners.ApplyOptions{}, parse(lists))
	var fields []string
	for _, f := range changes[0].Fields {
		fields = append(fields, f.String())
	}
	if got, want := strings.Join(fields, "\n"), "sftp.auth.keys[0].file: + "+dir+"/one\nsftp.auth.keys[1].file: + "+dir+"/two\n"+
		"sftp.interval: 5m → 1m\nsftp.jitter: 30s → 6s\nsftp.select.exclude: + \"a,b\"\nsftp.select.include: + *.edi, *.x12"; got != want {
		t.Errorf("lists:\n%s\nwant:\n%s", got, want)
	}
	changes = apply(t, store, partners.ApplyOptions{}, parse(strings.Replace(lists, `["a,b"]`, "[a, b]", 1)))
	if len(changes[0].Fields) != 1 || changes[0].Fields[0].String() != `sftp.select.exclude: "a,b" → a, b` {
		t.Errorf("changes %v", changes)
	}
	both := strings.Replace(leastSFTP, "    sftp:", "    as2: {id: INITECH, station: HUB, certificates: [{file: acme-2026.pem}]}\n    sftp:", 1)
	apply(t, store, partners.ApplyOptions{}, parse(both))
	if got, err = store.Get(t.Context(), "default", "initech"); err != nil || !got.HasAS2() || got.SFTP == nil {
		t.Errorf("both: %+v, %v", got, err)
	}
}

func FuzzParseSFTP(f *testing.F) {
	f.Add(leastSFTP)
	data, err := os.ReadFile("../configs/agreements.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	dir := folder(f)
	f.Fuzz(func(t *testing.T, file string) {
		all, _, err := partners.ParseFile(dir, []byte(file))
		if err != nil {
			return
		}
		for _, a := range all {
			if a.SFTP == nil {
				continue
			}
			if a.SFTP.Timeouts.Request <= 0 || a.SFTP.Interval.Duration() < 100*time.Millisecond || len(a.SFTP.HostKeys)+len(a.SFTP.HostAuthorities) == 0 {
				t.Errorf("taken: %+v", a.SFTP)
			}
		}
	})
}
