package configs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"firstcopy/configs"
)

func TestStationKeys(t *testing.T) {
	t.Parallel()
	config, err := load(t, folder(t), `database: {url: postgres://db/x}
node: gw1
stations:
  - as2_id: HUB
    keys:
      - {certificate_file: old.crt, key_file: hub.key, until: 2026-06-30}
      - {certificate_file: hub.crt, key_file: hub.key, from: 2026-02-01}
      - {certificate_file: hub.der, key_file: pkcs1.key, use: [decrypt]}
`)
	if err != nil {
		t.Fatal(err)
	}
	station := config.Stations[0]
	name := func(k configs.StationKey) string { // the year of the certificate, and whether no beginning is agreed
		return fmt.Sprint(k.Certificate.SerialNumber, "/", k.From.IsZero())
	}
	for _, test := range []struct {
		name    string
		now     string
		sign    string
		decrypt string
	}{
		{"before all", "2023-06-01", "", ""},
		{"the first alone", "2025-06-01", "2024/true", "2024/true"},
		{"the next may decrypt", "2026-01-15", "2024/true", "2026/true 2024/true"},
		{"overlap: valid ones newest first", "2026-03-01", "2026/false", "2026/false 2026/true 2024/true"},
		{"the last day", "2026-06-30", "2026/false", "2026/false 2026/true 2024/true"},
		{"past the agreed end", "2026-07-01", "2026/false", "2026/false 2026/true"},
		{"certificates expired", "2030-01-01", "2026/false", "2026/false 2026/true"},
	} {
		now, err := time.Parse(time.DateOnly, test.now)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(12 * time.Hour)
		sign := ""
		if key, ok := station.SigningKey(now); ok {
			sign = name(key)
		}
		var decrypt []string
		for _, key := range station.DecryptionKeys(now) {
			decrypt = append(decrypt, name(key))
		}
		if sign != test.sign || strings.Join(decrypt, " ") != test.decrypt {
			t.Errorf("%s: sign %q, decrypt %q; want %q, %q", test.name, sign, decrypt, test.sign, test.decrypt)
		}
	}
}

// A key that came into use last is no better when its certificate is over.
func TestValidCertificateGoesBeforeNewerUse(t *testing.T) {
	t.Parallel()
	const oldKey, newKey = "{certificate_file: old.crt, key_file: hub.key, from: 2026-03-01}", "{certificate_file: hub.crt, key_file: hub.key}"
	for _, keys := range []string{oldKey + ", " + newKey, newKey + ", " + oldKey} {
		config, err := load(t, folder(t), "database: {url: postgres://db/x}\nstations: [{as2_id: HUB, keys: ["+keys+"]}]\n")
		if err != nil {
			t.Fatal(err)
		}
		key, ok := config.Stations[0].SigningKey(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
		if !ok || key.Certificate.SerialNumber.Int64() != 2026 {
			t.Errorf("%s: signs with %v", keys, key)
		}
	}
}
