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
			if !known(rows[0]) {
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
				if ic := identified[ix-1]; markup(ic.Standard) {
					compareDocument(t, r, ic)
				} else {
					compare(t, r, ic)
				}
			}
		})
	}
}

// known tells whether a row is about an interchange of a standard that is read, with an identity.
func known(r row) bool {
	standard, _, _ := strings.Cut(r["standard"], ":")
	switch standard {
	case "EDIFACT", "X12", "TRADACOMS", "HL7v2", "HL7v2-batch", "VDA", "UBL", "SBDH", "CII", "AS4", "EPCIS":
		return r["class"] != "unidentifiable" && r["class"] != "no-interchange"
	}
	return false
}

func compare(t *testing.T, r row, ic interchange.Interchange) {
	t.Helper()
	_, version, _ := strings.Cut(r["standard"], ":")
	sender, recipient := ic.Sender, ic.Recipient
	written, test := ic.AsWritten, map[bool]string{false: "0", true: "1"}[ic.Test]
	switch ic.Standard {
	case interchange.X12:
		test = map[bool]string{false: "P", true: "T"}[ic.Test]
	case interchange.HL7: // application and facility in one cell
		test = map[bool]string{false: "P", true: "T"}[ic.Test]
		sender, recipient = sender+"|"+ic.SenderQualifier, recipient+"|"+ic.RecipientQualifier
		written.SenderQualifier, written.RecipientQualifier = "", ""
	case interchange.VDA: // the sheet is in doubt who of them sends: the customer does, by the title of 4905
		sender, recipient = recipient, sender
		version = strings.TrimPrefix(version, "VDA:")
	}
	if r["test"] == "" || strings.HasPrefix(r["test"], "?") { // not said, or no code of the list
		r["test"] = map[bool]string{true: "P", false: "0"}[test == "P"]
	}
	check := func(column, want, got string) {
		if want != got && sheetDiffers[r["path"]] != column {
			t.Errorf("interchange %s: %s %q, want %q", r["ix"], column, got, want)
		}
	}
	check("test", r["test"], test)
	check("version", strings.TrimSuffix(version, ":"), ic.Version)
	check("sender", r["sender"], sender)
	check("recipient", r["recipient"], recipient)
	check("reference", r["reference"], ic.Control)
	check("date", r["date"], ic.Date)
	check("time", r["time"], ic.Time)
	types := strings.Join(ic.Types(), ",")
	if first, last, cut := strings.Cut(r["message_types"], "..."); !cut {
		check("message_types", r["message_types"], types)
	} else if !strings.HasPrefix(types, first) || !strings.HasSuffix(types, last) {
		t.Errorf("message types %q, want %q", types, r["message_types"])
	}
	check("sender_qual", r["sender_qual"], strings.Trim(written.SenderQualifier, " "))
	check("recipient_qual", r["recipient_qual"], strings.Trim(written.RecipientQualifier, " "))
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
