package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firstcopy/internal/pgtest"
)

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contains(t, squeeze(s.run(t, "check-config").must(t)), "ok configuration "+s.config+" is read, node gw1\n", "ok station HUB, 1 key\n",
		"ok database is reachable\n", "ok schema is up to date\n", "warning partner there are no agreements")
	s.apply(t, s.agreement("acme", ""))
	contains(t, squeeze(s.run(t, "check-config").must(t)), "ok schema is up to date\n", "ok partner acme\n")
}

func TestCheckConfigFindsErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	lost := strings.ReplaceAll(s.agreement("globex", ""), "station: HUB", "station: OTHER")
	hook := fmt.Sprintf("  - {name: hooli, as2: {id: HOOLI, station: HUB, certificates: [{file: acme.crt}]}, sink: \"https://hooli.example/in\", sink_secret_file: %q}\n",
		filepath.Join(s.dir, "none.secret"))
	s.apply(t, s.agreement("acme", ""), lost, hook)
	if err := os.Remove(filepath.Join(s.dir, "out")); err != nil {
		t.Fatal(err)
	}
	r := s.run(t, "check-config")
	if r.code != exitFailed || r.err != "" {
		t.Errorf("exit code %d, %q", r.code, r.err)
	}
	contains(t, squeeze(r.out), "ok schema", "error partner acme: sink: stat "+s.dir+"/out: no such file or directory\n",
		"error partner globex sends to station OTHER, which is not configured: its messages will be refused\n",
		"error partner hooli: sink secret: open "+s.dir+"/none.secret: no such file or directory\n")
	r = s.run(t, "check-config", "--json")
	if found := decode[findings](t, r.out); r.code != exitFailed || !found.failed() {
		t.Errorf("exit code %d, %+v", r.code, found)
	}
}

func TestCheckConfigOfOldSchemaAndNoFile(t *testing.T) {
	t.Parallel()
	r := newSiteOn(t, pgtest.EmptyURL(t)).run(t, "check-config")
	if r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
	contains(t, squeeze(r.out), "ok database is reachable\n", "error schema database schema: ", "\nhint: bring it up to date with: firstcopy migrate\n")
	r = command(t, "check-config", "-c", filepath.Join(t.TempDir(), "none.yaml"))
	if r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
	contains(t, squeeze(r.out), "error configuration there is no configuration file ", "\nhint: name it with --config")
}
