package main

import (
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		says []string
	}{
		{"", []string{"firstcopy needs a subcommand: check-config, delivery, ", "document, drift, ledger, migrate, partner", "hint: firstcopy --help"}},
		{"serv", []string{`"serv" is no command of firstcopy`, "hint: did you mean serve"}},
		{"partner shwo", []string{`"shwo" is no command of firstcopy partner`, "hint: did you mean show?"}},
		{"partner", []string{"firstcopy partner needs a subcommand: apply, list, show, test, window"}},
		{"version --bogus", []string{"unknown flag: --bogus", "hint: firstcopy version --help"}},
		{"version now", []string{`takes no arguments, not "now"`}},
		{"ledger show", []string{"firstcopy ledger show needs a control reference"}},
		{"ledger show A B", []string{`takes a control reference alone, not "B" too`}},
		{"ledger search --hash abc", []string{`--hash "abc": a SHA-256 has 64 hexadecimal digits`}},
		{"ledger search --since yesterday", []string{`--since "yesterday": a length of time like 7d`}},
		{"ledger search --since infinity", []string{`--since "infinity"`}},
		{"ledger search --limit 0", []string{"--limit 0: from 1 to 100000"}},
		{"delivery show 0195", []string{`"0195" is no id of a delivery: it is a whole UUID`}},
		{"delivery show 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1 --kind signed", []string{"--kind goes with --receipt or --acknowledgement"}},
		{"delivery show 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1 --receipt --json", []string{"--receipt without --json"}},
		{"document show {0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1}", []string{"is no id of a document"}},
		{"drift release 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1", []string{"needs --reason TEXT"}},
		{"drift discard 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1 --reason", []string{"flag needs an argument"}},
		{"drift discard 0195ed6e-29f2-7dbc-a4a8-9a6b52b7a8a1 --reason=\t", []string{"needs --reason TEXT"}},
		{"partner apply", []string{"needs a file: -f FILE"}},
		{"partner window acme", []string{"needs a partner's name and a window, like 14d"}},
		{"partner window acme 0d", []string{"a window of 0 protects nothing"}},
		{"partner window acme 14d --standard udl", []string{`--standard "udl": one of as4, cii, content, cxml, edifact`}},
	} {
		r := command(t, strings.FieldsFunc(test.args, func(r rune) bool { return r == ' ' })...)
		if r.code != exitUsage || r.out != "" {
			t.Errorf("%q: exit code %d, output %q", test.args, r.code, r.out)
		}
		contains(t, r.err, test.says...)
		for line := range strings.Lines(r.err) {
			if !strings.HasPrefix(line, "firstcopy: error: ") && !strings.HasPrefix(line, "firstcopy: hint: ") {
				t.Errorf("%q: line %q", test.args, line)
			}
		}
	}
}

func TestHelpAndVersionNeedNothing(t *testing.T) {
	t.Parallel()
	contains(t, command(t, "ledger", "show", "--help").must(t), "Shows, for every reference", "--partner NAME", "Global Flags", "--config FILE")
	contains(t, command(t, "version").must(t), "firstcopy ", ", go1.", "schema ")
	if v := decode[versionOutput](t, command(t, "version", "--json").must(t)); v.Version == "" || len(v.Schema) != 64 {
		t.Errorf("version %+v", v)
	}
}

// TestCommands holds the tree: every command has a sentence of help, and its
// errors name it fully.
func TestCommands(t *testing.T) {
	t.Parallel()
	var names []string
	for _, group := range newRoot().Commands() {
		if group.Short == "" {
			t.Errorf("%s has no help", group.Name())
		}
		names = append(names, group.Name())
		for _, c := range group.Commands() {
			if c.Short == "" {
				t.Errorf("%s has no help", c.CommandPath())
			}
			names = append(names, group.Name()+" "+c.Name())
		}
	}
	all := "\n" + strings.Join(names, "\n") + "\n"
	for _, want := range []string{"serve", "migrate", "check-config", "version", "partner apply", "partner list", "partner show", "partner window",
		"ledger show", "ledger search", "delivery list", "delivery show", "document list", "document show", "document resend", "document cat",
		"drift list", "drift release", "drift discard"} {
		if !strings.Contains(all, "\n"+want+"\n") {
			t.Errorf("there is no command %s", want)
		}
	}
}
