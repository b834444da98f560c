package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"firstcopy/configs"
	"firstcopy/internal/pgtest"
)

func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "nowhere.yaml")
	for _, args := range []string{"serve", "migrate", "partner list", "ledger show X"} {
		r := command(t, append([]string{"-c", missing}, strings.Fields(args)...)...)
		if r.code != exitFailed {
			t.Errorf("%s: exit code %d", args, r.code)
		}
		contains(t, r.err, "error: there is no configuration file "+missing, "hint: name it with --config or FIRSTCOPY_CONFIG", "FIRSTCOPY_DATABASE_URL")
	}
}

func TestFaultyConfiguration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.write(t, "bad.yaml", "nod: x\nlisten: {path: as2}\n")
	r := command(t, "-c", file, "partner", "list")
	if r.code != exitFailed {
		t.Errorf("exit code %d", r.code)
	}
	contains(t, r.err, "firstcopy: error: configuration "+file, "firstcopy: error: line 1", "firstcopy: error: line 2", "firstcopy: hint: every key is explained")
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s := newSiteOn(t, fmt.Sprintf("postgres://somebody:geheim@%s/firstcopy?sslmode=disable", address))
	for _, args := range []string{"serve", "migrate", "partner list", "document list --stuck"} {
		r := s.run(t, strings.Fields(args)...)
		if r.code != exitFailed || r.out != "" {
			t.Errorf("%s: exit code %d, output %q", args, r.code, r.out)
		}
		contains(t, r.err, `error: database "firstcopy" at `+address+` as user "somebody": not reachable: `, "refused", "hint: ")
		if strings.Contains(r.err, "geheim") {
			t.Errorf("%s shows the password: %s", args, r.err)
		}
	}
}

func TestNotAConnectionString(t *testing.T) {
	t.Setenv(configs.EnvDatabaseURL, "postgres://u:ge%heim@127.0.0.1:1/x")
	r := command(t, "-c", filepath.Join(t.TempDir(), "none.yaml"), "partner", "list")
	if r.code != exitFailed || strings.Contains(r.err, "heim") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
	contains(t, r.err, "the database address is not a connection string", "hint: ", "FIRSTCOPY_DATABASE_URL")
}

func TestEnvironmentIsEnough(t *testing.T) {
	t.Setenv(configs.EnvDatabaseURL, pgtest.URL(t))
	contains(t, command(t, "-c", filepath.Join(t.TempDir(), "none.yaml"), "partner", "list").must(t), "PARTNER", "AS2 ID")
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, pgtest.EmptyURL(t))
	for _, args := range []string{"partner list", "serve"} {
		r := s.run(t, strings.Fields(args)...)
		if r.code != exitFailed {
			t.Errorf("%s: exit code %d", args, r.code)
		}
		contains(t, r.err, "error: database schema: ", "pending", "hint: bring it up to date with: firstcopy migrate")
	}
	contains(t, squeeze(s.run(t, "migrate", "--status").must(t)), "MIGRATION STATE APPLIED\n", "river/0001 pending -\n", "0001_partner pending -\n")
	before := decode[migrateOutput](t, s.run(t, "migrate", "--status", "--json").must(t))
	if len(before.Applied) != 0 || len(before.Pending) == 0 {
		t.Fatalf("status of an empty database: %+v", before)
	}
	contains(t, s.run(t, "migrate").must(t), "applied river/0001\n", "applied 0001_partner\n", fmt.Sprintf("up to date, %d migrations applied", len(before.Pending)))
	contains(t, s.run(t, "migrate").must(t), "the schema is up to date, nothing to do\n")
	after := decode[migrateOutput](t, s.run(t, "migrate", "--status", "--json").must(t))
	if len(after.Applied) != len(before.Pending) || len(after.Pending) != 0 || after.Applied[0].At.IsZero() || after.Applied[0].New {
		t.Errorf("status afterwards: %+v", after)
	}
	s.run(t, "partner", "list").must(t)
}
