package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"firstcopy/partners"
)

func TestApplyShowsDifferencesAndDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.write(t, "partners.yaml", "partners:\n"+s.agreement("acme", "    window: 2d\n")+s.agreement("globex", ""))
	dry := s.run(t, "partner", "apply", "-f", file, "--dry-run")
	contains(t, dry.must(t), "+ acme (created)\n", "    + as2.id: ACME\n", "    + window: 2d\n", "+ globex (created)\n", "dry run, nothing was applied: 2 created\n")
	contains(t, dry.err, "firstcopy: warning: "+file+": line ", "acme: window of 2d: AS2 asks for at least 5d")
	if out := decode[[]partnerOutput](t, s.run(t, "partner", "list", "--json").must(t)); len(out) != 0 {
		t.Fatalf("the dry run left %+v", out)
	}
	contains(t, s.run(t, "partner", "apply", "-f", file).must(t), "+ acme (created)\n", "applied: 2 created\n")
	contains(t, s.run(t, "partner", "apply", "-f", file).must(t), "= acme (unchanged)\n= globex (unchanged)\napplied: 2 unchanged\n")

	file = s.write(t, "partners.yaml", "partners:\n"+s.agreement("acme", "    window: 30d\n    windows: {x12: 60d}\n"))
	changed := s.run(t, "partner", "apply", "-f", file).must(t)
	if want := "~ acme (changed)\n    ~ window: 2d → 30d\n    + windows.x12: 60d\napplied: 1 changed\n"; changed != want {
		t.Errorf("diff\n%swant\n%s", changed, want)
	}
	pruned := s.run(t, "partner", "apply", "-f", file, "--prune", "--as", "carol").must(t)
	if want := "- globex (removed)\n= acme (unchanged)\napplied: 1 removed, 1 unchanged\n"; pruned != want {
		t.Errorf("pruning\n%swant\n%s", pruned, want)
	}
	gone := s.run(t, "partner", "show", "globex")
	if gone.code != exitFailed {
		t.Errorf("exit code %d", gone.code)
	}
	contains(t, gone.err, "error: partner globex was removed ", " by carol", "hint: ", "firstcopy partner show globex --tenant default --history")
	contains(t, s.run(t, "partner", "show", "globex", "--history").must(t), "Partner globex is removed", "+ globex (created)", "revision 2 by carol", "- globex (removed)")
	s.run(t, "ledger", "search", "--partner", "globex").must(t) // its account stays
}

func TestApplyJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := s.write(t, "partners.yaml", "partners:\n"+s.agreement("acme", ""))
	out := decode[applyOutput](t, s.run(t, "partner", "apply", "-f", file, "--dry-run", "--json").must(t))
	if !out.DryRun || len(out.Changes) != 1 || out.Changes[0].Action != partners.Created || len(out.Changes[0].Fields) == 0 {
		t.Errorf("got %+v", out)
	}
}

func TestApplySeveralFilesAndStandardInput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.write(t, "one.yaml", "partners:\n"+s.agreement("acme", ""))
	two := s.write(t, "two.yaml", "partners:\n"+s.agreement("globex", "    tenant: other\n"))
	contains(t, s.run(t, "partner", "apply", "-f", one, "-f", two).must(t), "+ acme", "+ other/globex", "applied: 2 created\n")
	if out := decode[[]partnerOutput](t, s.run(t, "partner", "list", "--tenant", "other", "--json").must(t)); len(out) != 1 || out[0].Name != "globex" {
		t.Errorf("tenant other has %+v", out)
	}
	yaml := "partners:\n" + strings.ReplaceAll(s.agreement("initech", ""), "acme.crt", s.dir+"/acme.crt")
	contains(t, commandIn(t, yaml, "-c", s.config, "partner", "apply", "-f", "-").must(t), "+ initech (created)")
}

func TestApplyRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bad := s.write(t, "bad.yaml", "partners:\n"+s.agreement("acme", "    windw: 3d\n    drift: maybe\n"))
	good := s.write(t, "good.yaml", "partners:\n"+s.agreement("globex", ""))
	r := s.run(t, "partner", "apply", "-f", bad, "-f", good, "-f", s.dir+"/none.yaml", "--tenant", "other")
	if r.code != exitFailed || r.out != "" {
		t.Errorf("exit code %d, output %q", r.code, r.out)
	}
	contains(t, r.err, "error: "+bad+": line 5", "error: "+bad+": line 6", "error: "+good+": globex is of tenant default, not other", "none.yaml: no such file", "hint: nothing was applied")
	if out := decode[[]partnerOutput](t, s.run(t, "partner", "list", "--json").must(t)); len(out) != 0 {
		t.Errorf("there are partners: %+v", out)
	}
}

func TestPartnerListAndShow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", "    windows: {x12: infinity}\n    limits: {payload: 64MiB, concurrent: 3}\n"))
	contains(t, squeeze(s.run(t, "partner", "list").must(t)), "PARTNER AS2 ID STATION SFTP WINDOW DRIFT CERTIFICATES SINK REVISION CHANGED\n", "acme ACME HUB - 14d hold 1 dir:"+s.dir+"/out 1 20")

	fingerprint := fingerprintOf(t)
	page := squeeze(s.run(t, "partner", "show", "acme").must(t))
	contains(t, page, "Partner acme, revision 1 of ", " +02:00\n", "AS2 ACME to station HUB\n", "messages must be signed and encrypted\n", "window 14d\n",
		"window of x12 infinity\n", "limits 64 MiB a payload, 3 at once on each node\n", "1 certificate\n", "CN=acme.example\n",
		"used to encrypt and verify: now\n", ", 100 days left\n", "serial 7\n", "sha256 "+fingerprint+"\n")

	out := decode[partnerOutput](t, s.run(t, "partner", "show", "acme", "--json", "--history").must(t))
	c := out.AS2.Certificates[0]
	if hex.EncodeToString(c.Fingerprint) == "" || c.DaysLeft != 100 || !c.InUse || out.Windows["x12"] != "infinity" || out.PayloadLimit != 64<<20 {
		t.Errorf("got %+v", out)
	}
	if len(out.History) != 1 || out.History[0].Who != "setup" || out.History[0].Action != partners.Created {
		t.Errorf("history %+v", out.History)
	}
}

func fingerprintOf(t *testing.T) string {
	t.Helper()
	certificate, _ := keyPair()
	block, _ := pem.Decode([]byte(certificate))
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

func TestPartnerWindow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply(t, s.agreement("acme", ""))
	if got, want := s.run(t, "partner", "window", "acme", "1w2d", "--as", "dave").must(t), "~ acme (changed)\n    ~ window: 14d → 9d\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short := s.run(t, "partner", "window", "acme", "--standard", "x12", "36h")
	contains(t, short.must(t), "~ acme (changed)\n    + windows.x12: 36h\n")
	contains(t, short.err, "firstcopy: warning: AS2 asks for at least 5d")
	contains(t, s.run(t, "partner", "show", "acme", "--history").must(t), "revision 1 by setup", "revision 2 by dave", "~ window: 14d → 9d", "revision 3 by ", "@")
}

func TestUnknownPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	contains(t, s.run(t, "partner", "show", "acme").err, `error: there is no partner "acme" in tenant "default"`, "hint: there are no partners at all: firstcopy partner apply")
	s.apply(t, s.agreement("zenith", ""), s.agreement("acme", ""))
	for _, args := range []string{"partner show acne", "partner window acne 14d", "ledger search --partner acne", "ledger show X --partner acne",
		"delivery list --partner acne", "document list --partner acne", "drift list --partner acne"} {
		r := s.run(t, strings.Fields(args)...)
		if r.code != exitFailed {
			t.Errorf("%s: exit code %d", args, r.code)
		}
		contains(t, r.err, `error: there is no partner "acne" in tenant "default"`, "hint: the nearest are acme, zenith;")
	}
}
