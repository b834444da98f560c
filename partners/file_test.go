package partners_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"firstcopy/configs/strict"
	"firstcopy/partners"
)

// folder holds the certificate files that the tests name.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	one, two := certificate(t, rsaKey(), "acme", 2025), certificate(t, rsaKey(), "acme", 2026)
	write(t, dir, "acme-2025.pem", pemOf(one))
	write(t, dir, "acme-2026.pem", pemOf(two))
	write(t, dir, "globex.cer", two.Raw)
	write(t, dir, "two.pem", pemOf(one, two))
	write(t, dir, "ec.pem", pemOf(certificate(t, ecKey(), "ec", 2026)))
	write(t, dir, "ed25519.pem", pemOf(certificate(t, ed25519Key(), "ed", 2026)))
	write(t, dir, "weak.pem", pemOf(certificate(t, weakKey(), "weak", 2026)))
	write(t, dir, "key.pem", append(pemOf(one), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey())})...))
	write(t, dir, "bundle.pem", pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: []byte{0x30}}))
	write(t, dir, "bundle.p7b", []byte("\x30\x82\x01\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"))
	write(t, dir, "note.pem", []byte("-----BEGIN nothing\n"))
	write(t, dir, "text.pem", []byte("hello"))
	write(t, dir, "large.pem", make([]byte, 100<<10))
	return dir
}

func TestParseExampleFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../configs/agreements.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, warnings, err := partners.ParseFile(folder(t), data)
	if err != nil || len(warnings) != 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	if len(all) != 3 {
		t.Fatalf("%d agreements", len(all))
	}
	acme, globex := all[0], all[2]
	want := partners.Agreement{
		Tenant: "default", Name: "acme",
		AS2: partners.AS2{
			ID: "ACME", Station: "HUB", Certificates: acme.AS2.Certificates,
			Require: partners.Require{Signed: true, Encrypted: true,
				Digests: []string{"sha-256", "sha-384", "sha-512"}, Ciphers: []string{"aes-128-cbc", "aes-256-cbc"}},
			AsyncURLs: []string{"https://acme.example/mdn"}, URL: "https://acme.example/as2", DefaultMIC: "sha-256",
		},
		Acknowledge: partners.Acknowledge{EDIFACT: partners.AcknowledgeContrl, X12: []partners.AcknowledgeX12{"ta1", "997"}, OnDrift: partners.AnswerReject},
		Windows: partners.Windows{Default: partners.Window{Duration: 14 * day},
			Standard: map[string]partners.Window{"x12": {Duration: 30 * day}}},
		Key: partners.Key{By: partners.KeyReference}, Drift: partners.DriftHold, Stale: partners.DriftHold,
		SameDocument: partners.SameForward, OnDuplicate: partners.AnswerProcessed,
		Sink:   "dir:/var/spool/firstcopy/acme",
		Limits: partners.Limits{Payload: 64 * strict.MiB, Concurrent: 8},
	}
	if !reflect.DeepEqual(acme, want) {
		t.Errorf("acme:\n got %+v\nwant %+v", acme, want)
	}
	ends := map[time.Time]bool{}
	for _, c := range acme.AS2.Certificates {
		if !reflect.DeepEqual(c.Uses, []partners.Use{"encrypt", "verify"}) {
			t.Errorf("uses %v", c.Uses)
		}
		ends[c.Until], ends[c.From] = true, true
	}
	// The last day is included.
	if !ends[time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)] || !ends[time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)] || !ends[time.Time{}] {
		t.Errorf("validities %v", ends)
	}
	if !globex.AS2.Require.Signed || !globex.AS2.Require.Encrypted || globex.Limits.Payload != strict.GiB ||
		globex.Windows.Default != partners.DefaultWindow || globex.SinkSecretFile == "" {
		t.Errorf("globex: %+v", globex)
	}
}

// least is an agreement that is right, with marks to break it at.
const least = `partners:
  - name: acme
    as2:
      id: ACME
      station: HUB
      certificates: [{file: acme-2026.pem}]
    sink: dir:/srv/acme
`

func TestParseFileErrors(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	replace := func(old, by string) string { return strings.Replace(least, old, by, 1) }
	for _, test := range []struct{ name, yaml, want string }{
		{"empty", "", "partners: no partners"},
		{"unknown key", replace("sink:", "snik: x\n    sink:"), "line 7, column 5: partners[0].snik: unknown key"},
		{"no name", replace("name: acme\n", "tenant: default\n"), "line 2, column 5: partners[0].name: missing"},
		{"odd name", replace("name: acme", "name: a/b"), "partners[0].name: \"a/b\": a name is"},
		{"odd tenant", replace("as2:", "tenant: ../x\n    as2:"), "partners[0].tenant"},
		{"no as2", "partners:\n  - name: a\n    sink: dir:/a\n", "partners[0].as2: missing"},
		{"long id", replace("id: ACME", "id: "+strings.Repeat("A", 129)), "line 4, column 7: partners[0].as2.id: an AS2 identifier has 1 to 128"},
		{"umlaut", replace("id: ACME", "id: ÄCME"), "not printable US-ASCII"},
		{"blank", replace("id: ACME", "id: 'ACME '"), "begins or ends with a space"},
		{"zero window", replace("sink:", "window: 0d\n    sink:"), "partners[0].window: a window of 0 protects nothing"},
		{"unknown standard", replace("sink:", "windows: {x-12: 3d}\n    sink:"), "partners[0].windows: \"x-12\": one of as4, cii, content, cxml, edifact, epcis, gs1, hl7, sbdh, tradacoms, ubl, vda, x12"},
		{"standard without window", replace("sink:", "windows: {x12: }\n    sink:"), "partners[0].windows.x12: missing"},
		{"stale", replace("sink:", "stale: drop\n    sink:"), "partners[0].stale: \"drop\": one of hold, forward, discard"},
		{"same document", replace("sink:", "same_document: discard\n    sink:"), "partners[0].same_document: \"discard\": one of forward, hold, suppress"},
		{"key", replace("sink:", "key: {by: day}\n    sink:"), "partners[0].key.by: \"day\": one of reference, date, hash"},
		{"drift", replace("sink:", "drift: keep\n    sink:"), "partners[0].drift: \"keep\": one of hold, forward, discard"},
		{"duplicate", replace("sink:", "on_duplicate: failed\n    sink:"), "partners[0].on_duplicate: \"failed\": one of processed, warning"},
		{"acknowledge", replace("sink:", "acknowledge: {edifact: always}\n    sink:"), "partners[0].acknowledge.edifact: \"always\": one of requested, contrl, none"},
		{"acknowledge X12", replace("sink:", "acknowledge: {x12: [998]}\n    sink:"), "partners[0].acknowledge.x12: \"998\": one of requested, ta1, 997, 999, none"},
		{"997 and 999", replace("sink:", "acknowledge: {x12: [997, 999]}\n    sink:"), "997 or 999, not both"},
		{"none and TA1", replace("sink:", "acknowledge: {x12: [none, ta1]}\n    sink:"), "none goes with nothing else"},
		{"requested and TA1", replace("sink:", "acknowledge: {x12: [requested, ta1]}\n    sink:"), "requested is part of ta1"},
		{"drift without TA1", replace("sink:", "acknowledge: {x12: [997], on_drift: reject}\n    sink:"), "partners[0].acknowledge.on_drift: only a TA1"},
		{"drift forwarded and rejected", replace("sink:", "drift: forward\n    acknowledge: {on_drift: reject}\n    sink:"), "partners[0].acknowledge.on_drift: drift that is forwarded"},
		{"drift answer", replace("sink:", "acknowledge: {on_drift: no}\n    sink:"), "partners[0].acknowledge.on_drift: \"no\": one of accept, reject"},
		{"private message URL", replace("station: HUB", "station: HUB\n      url: http://127.0.0.1/as2"), "partners[0].as2.url: address 127.0.0.1 is not public"},
		{"message URL", replace("station: HUB", "station: HUB\n      url: ftp://acme.example/"), "partners[0].as2.url: scheme \"ftp\""},
		{"nothing to encrypt with", strings.NewReplacer("station: HUB", "station: HUB\n      url: https://acme.example/",
			"acme-2026.pem", "acme-2026.pem, use: [verify]").Replace(least), "no certificate is there to encrypt with"},
		{"no sink", replace("    sink: dir:/srv/acme\n", ""), "partners[0].sink: missing"},
		{"relative folder", replace("dir:/srv", "dir:srv"), "absolute path"},
		{"folder that climbs", replace("dir:/srv", "dir:/srv/.."), "clean absolute path"},
		{"odd sink", replace("dir:/srv/acme", "ftp://host/"), "a sink is"},
		{"password in sink", replace("dir:/srv/acme", "https://u:secret@host/"), "no user information"},
		{"secret for a folder", least + "    sink_secret_file: /etc/x\n", "a folder needs no secret"},
		{"relative secret", replace("dir:/srv/acme", "https://host/") + "    sink_secret_file: x\n", "absolute path"},
		{"limit 0", least + "    limits: {payload: 0, concurrent: 0}\n", "limits.concurrent: at least 1"},
		{"size", least + "    limits: {payload: much}\n", "is not a size"},
		{"digest", replace("station:", "require: {digests: [sha-256, md5]}\n      station:"), "require.digests[1]: \"md5\": digests are"},
		{"cipher", replace("station:", "require: {ciphers: [rc2]}\n      station:"), "require.ciphers[0]: \"rc2\": ciphers are"},
		{"mic", replace("station:", "default_mic: crc32\n      station:"), "default_mic: \"crc32\""},
		{"async", replace("station:", "async_urls: ['https://a.example/?q']\n      station:"), "async_urls[0]: a query"},
		{"private async", replace("station:", "async_urls: ['http://10.0.0.1/']\n      station:"), "async_urls[0]: address 10.0.0.1 is not public"},
		{"no certificate", replace("      certificates: [{file: acme-2026.pem}]\n", ""), "signed messages are required"},
		{"certificate without file", replace("file: acme-2026.pem", "use: [verify]"), "certificates[0].file: missing"},
		{"file not there", replace("acme-2026.pem", "none.pem"), "none.pem: no such file"},
		{"folder as file", replace("acme-2026.pem", "."), "not a regular file"},
		{"device", replace("acme-2026.pem", "/dev/zero"), "/dev/zero: not a regular file"},
		{"two certificates", replace("acme-2026.pem", "two.pem"), "holds 2 certificates"},
		{"private key", replace("acme-2026.pem", "key.pem"), "holds a private key"},
		{"pem bundle", replace("acme-2026.pem", "bundle.pem"), "PKCS #7 bundle"},
		{"der bundle", replace("acme-2026.pem", "bundle.p7b"), "not a PKCS #7 bundle of certificates"},
		{"no pem block", replace("acme-2026.pem", "note.pem"), "no certificate in it"},
		{"text", replace("acme-2026.pem", "text.pem"), "not a readable certificate"},
		{"large", replace("acme-2026.pem", "large.pem"), "larger than"},
		{"ed25519", replace("acme-2026.pem", "ed25519.pem"), "a key of kind Ed25519"},
		{"encrypt by ec", replace("acme-2026.pem", "ec.pem, use: [encrypt, verify]"), "elliptic curve key cannot"},
		{"use", replace("acme-2026.pem", "acme-2026.pem, use: [sign]"), "use[0]: \"sign\": one of verify, encrypt"},
		{"date", replace("acme-2026.pem", "acme-2026.pem, until: 01.02.2027"), "certificates[0].until: \"01.02.2027\" is not a date"},
		{"year", replace("acme-2026.pem", "acme-2026.pem, from: 0001-01-01"), "the year is out of range"},
		{"ends first", replace("acme-2026.pem", "acme-2026.pem, from: 2026-05-01, until: 2026-04-30"), "ends before it begins"},
		{"ends before the certificate", replace("acme-2026.pem", "acme-2026.pem, until: 2025-04-30"), "ends before it begins, on 2026-01-01"},
		{"pinned twice", replace("{file: acme-2026.pem}", "{file: acme-2026.pem}, {file: globex.cer}"), "certificates[1].file: the same certificate as certificates[0]"},
		{"name twice", least + strings.TrimPrefix(replace("id: ACME", "id: B"), "partners:\n"), "line 8, column 5: partners[1].name: \"acme\" is partners[0] already"},
		{"pair twice", least + strings.TrimPrefix(replace("name: acme", "name: b"), "partners:\n"), "partners[1].as2.id: \"ACME\" with station \"HUB\" is partners[0] already"},
	} {
		all, _, err := partners.ParseFile(dir, []byte(test.yaml))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant an error saying %q", test.name, err, test.want)
		}
		if all != nil {
			t.Errorf("%s: agreements beside an error", test.name)
		}
	}
}

func TestParseFileReportsAllErrorsOnceAndInOrder(t *testing.T) {
	t.Parallel()
	_, _, err := partners.ParseFile(folder(t), []byte(`partners:
  - name: "no good"
    window: soon
    as2: {id: A, station: HUB, certificates: [{file: none.pem}], colour: red}
    sink: nowhere
  - {}
`))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not joined: %v", err)
	}
	var got []string
	for _, one := range joined.Unwrap() {
		fault, ok := errors.AsType[*strict.Error](one)
		if !ok {
			t.Fatalf("%T: %v", one, one)
		}
		got = append(got, fault.Path)
	}
	want := []string{"partners[0].name", "partners[0].window", "partners[0].as2.certificates[0].file", "partners[0].as2.colour",
		"partners[0].sink", "partners[1].name", "partners[1].sink", "partners[1].as2"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestParseFileWarnings(t *testing.T) {
	t.Parallel()
	_, warnings, err := partners.ParseFile(folder(t), []byte(`partners:
  - name: acme
    as2:
      id: 4012345000009
      station: HUB
      certificates: [{file: weak.pem}, {file: ec.pem}]
      require: {signed: false}
    window: 4d
    windows: {x12: 1h, edifact: infinity}
    sink: dir:/srv/acme
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"line 6: acme: RSA key of 1024 bits",
		"line 7: acme: signed: false",
		"line 8: acme: window of 4d: AS2 asks for at least 5d",
		"line 9: acme: window of 1h",
	}
	if len(warnings) != len(want) {
		t.Fatalf("got %v", warnings)
	}
	for i, w := range warnings {
		if !strings.HasPrefix(w.String(), want[i]) {
			t.Errorf("got %q, want %q…", w, want[i])
		}
	}
}

func TestSpellingsAreNormalised(t *testing.T) {
	t.Parallel()
	all, _, err := partners.ParseFile(folder(t), []byte(strings.Replace(least, "station:",
		"require: {digests: [SHA256, sha-1, sha256], ciphers: [AES-256-CBC, 3des]}\n      default_mic: SHA1\n      station:", 1)))
	if err != nil {
		t.Fatal(err)
	}
	as2 := all[0].AS2
	if got := strings.Join(as2.Require.Digests, " ") + "|" + strings.Join(as2.Require.Ciphers, " ") + "|" + as2.DefaultMIC; got != "sha-256 sha1|3des-cbc aes-256-cbc|sha1" {
		t.Errorf("got %s", got)
	}
}

func FuzzParseFile(f *testing.F) {
	example, err := os.ReadFile("../configs/agreements.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(least))
	f.Add([]byte("partners:\n  - &a {name: x}\n  - *a\n"))
	f.Add([]byte("partners: [{windows: {x12: 0d}, as2: {certificates: [{file: /dev/zero}]}}]"))
	dir := folder(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _, err := partners.ParseFile(dir, data)
		if (err == nil) == (len(all) == 0) {
			t.Fatalf("%d agreements and error %v", len(all), err)
		}
		for _, a := range all {
			if a.Name == "" || !a.HasAS2() && a.SFTP == nil || a.Sink == "" || a.Window("x12") == (partners.Window{}) || a.Limits.Payload < 1 {
				t.Fatalf("incomplete without an error: %+v", a)
			}
		}
	})
}
