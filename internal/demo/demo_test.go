package demo

import (
	"strings"
	"testing"
)

func TestInviteTellsHowToDropFiles(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &world{Options: Options{Binary: "firstcopy", Dir: "/demo", Out: &out}, gateway: &process{operator: "127.0.0.1:1"},
		drops: &dropServer{address: "127.0.0.1:2222", user: "acme"}}
	w.invite()
	for _, line := range []string{"sftp -P 2222 -i /demo/drop/ssh/client_key acme@127.0.0.1\n", "put it into /demo/drop/in ",
		"firstcopy sftp status\n", "firstcopy partner test acme --dry-run\n", "curl http://127.0.0.1:1/metrics\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in:\n%s", line, out.String())
		}
	}
	if strings.Contains(out.String(), "%!") {
		t.Error(out.String())
	}
}
