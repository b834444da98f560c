package interchange_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

const corpus = "../../../shared/corpus"

// A row is what the sheet of the corpus says of one interchange.
type row map[string]string

// sheet reads the expectations, by file; it is empty where the corpus is not
// laid out beside the repository.
func sheet(t *testing.T) map[string][]row {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, "expected.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := make(map[string][]row)
	lines := bufio.NewScanner(f)
	lines.Scan()
	names := strings.Split(lines.Text(), "\t")
	for lines.Scan() {
		r := make(row)
		for i, value := range strings.Split(lines.Text(), "\t") {
			r[names[i]] = value
		}
		rows[r["path"]] = append(rows[r["path"]], r)
	}
	if len(rows) == 0 || lines.Err() != nil {
		t.Fatalf("no rows in the sheet: %v", lines.Err())
	}
	return rows
}

// sheetDiffers names cells whose meaning is another one than ours, or that are
// wrong in the sheet.
var sheetDiffers = map[string]string{
	"edifact/desadv_d96a_unoc1.edi":        "functions",     // 700101 is no code of 1225
	"x12/940_multi_interchange_groups.edi": "message_types", // the second interchange has three sets
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	for path, rows := range sheet(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			payload, err := os.ReadFile(filepath.Join(corpus, path))
			if err != nil {
				t.Fatal(err)
			}
			var identified []interchange.Interchange
			for _, ic := range scan(t, string(payload)) {
				if ic.Standard != interchange.Content {
					identified = append(identified, ic)
				}
			}
			standard := rows[0]["standard"]
			if !strings.HasPrefix(standard, "EDIFACT:") && !strings.HasPrefix(standard, "X12:") ||
				rows[0]["class"] == "unidentifiable" || rows[0]["class"] == "no-interchange" {
				if len(identified) > 0 {
					t.Errorf("identified as %+v", identified[0].Reference)
				}
				return
			}
			for _, r := range rows {
				ix, err := strconv.Atoi(r["ix"])
				if err != nil || ix > len(identified) {
					t.Fatalf("interchange %s of %d", r["ix"], len(identified))
				}
				compare(t, r, identified[ix-1])
			}
		})
	}
}

func compare(t *testing.T, r row, ic interchange.Interchange) {
	t.Helper()
	_, version, _ := strings.Cut(r["standard"], ":")
	test := "0"
	if ic.Test {
		test = "1"
	}
	want, got := r["test"], test
	if ic.Standard == interchange.X12 {
		got = strings.NewReplacer("0", "P", "1", "T").Replace(test)
	}
	if strings.HasPrefix(want, "?") { // no code of the list
		want = "0"
	}
	check := func(column, want, got string) {
		if want != got && sheetDiffers[r["path"]] != column {
			t.Errorf("interchange %s: %s %q, want %q", r["ix"], column, got, want)
		}
	}
	check("test", want, got)
	check("version", strings.TrimSuffix(version, ":"), ic.Version)
	check("sender", r["sender"], ic.Sender)
	check("recipient", r["recipient"], ic.Recipient)
	check("reference", r["reference"], ic.Control)
	check("date", r["date"], ic.Date)
	check("time", r["time"], ic.Time)
	check("message_types", r["message_types"], strings.Join(ic.Types(), ","))
	check("sender_qual", r["sender_qual"], strings.Trim(ic.AsWritten.SenderQualifier, " "))
	check("recipient_qual", r["recipient_qual"], strings.Trim(ic.AsWritten.RecipientQualifier, " "))
	if ack := r["ack_requested"]; ack == "0" || ack == "1" {
		check("ack_requested", ack, map[bool]string{false: "0", true: "1"}[ic.AckRequested])
	}
	functions, _, _ := strings.Cut(r["functions"], "(")
	if strings.HasPrefix(functions, "W0501") { // an order status, no function
		functions = ""
	}
	check("functions", functions, strings.Join(ic.Functions(), ","))
}

// TestCorpusPairs compares files that hold one interchange in other words.
func TestCorpusPairs(t *testing.T) {
	t.Parallel()
	if sheet(t) == nil {
		return
	}
	digest := func(path string) [32]byte {
		payload, err := os.ReadFile(filepath.Join(corpus, path))
		if err != nil {
			t.Fatal(err)
		}
		found := scan(t, string(payload))
		return found[len(found)-1].Content
	}
	for _, pair := range []struct {
		a, b string
		same bool
	}{
		{"edifact/ifcsum_d01b_password_appref.edi", "edifact/ifcsum_d01b_newline_terminated_no_una.edi", true},
		{"edifact/pnrgov_backslash_release.edi", "edifact/pnrgov_backslash_release_star_rep.edi", false},
		{"edifact/invoic_una_caret_star_dollar.edi", "edifact/invoic_unoe_cyrillic.edi", false},
		{"edifact/groups_mixed_with_ungrouped_unz_mismatch.edi", "edifact/una_star_at_hash_8digit_date.edi", false},
	} {
		if same := digest(pair.a) == digest(pair.b); same != pair.same {
			t.Errorf("%s and %s: same content %t", pair.a, pair.b, same)
		}
	}
}
