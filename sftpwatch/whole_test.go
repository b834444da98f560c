package sftpwatch

import (
	"bytes"
	"crypto/sha256"
	"io"
	"strings"
	"testing"

	"firstcopy/dedup/interchange"
)

// memoryPayload is a payload for tests.
type memoryPayload struct{ bytes.Buffer }

func (p *memoryPayload) Size() int64   { return int64(p.Len()) }
func (p *memoryPayload) Sum() [32]byte { return sha256.Sum256(p.Bytes()) }
func (p *memoryPayload) Section(start, end int64) io.Reader {
	return bytes.NewReader(p.Bytes()[start:end])
}
func (p *memoryPayload) Close() error { return nil }
func (p *memoryPayload) Interchanges() ([]interchange.Interchange, error) {
	return interchange.Scan(bytes.NewReader(p.Bytes()))
}

func judged(t *testing.T, content string) string {
	t.Helper()
	p := &memoryPayload{}
	p.WriteString(content)
	found, err := p.Interchanges()
	if err != nil {
		t.Fatal(err)
	}
	why, err := missing(found, p)
	if err != nil {
		t.Fatal(err)
	}
	return why
}

// wholes are payloads that have an end of their own.
var wholes = map[string]string{
	"EDIFACT": "UNB+UNOC:3+A+B+261201:1015+77'UNH+1+ORDERS:D:96A:UN'BGM+220+1+9'UNT+3+1'UNZ+1+77'",
	"X12": "ISA*00*          *00*          *ZZ*A              *ZZ*B              *261201*1015*U*00401*000000815*0*P*>~" +
		"GS*PO*A*B*20261201*1015*815*X*004010~ST*850*0001~BEG*00*SA*1**20261201~SE*3*0001~GE*1*815~IEA*1*000000815~",
	"UBL": `<?xml version="1.0"?><Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID xmlns="urn:oasis:names:` +
		`specification:ubl:schema:xsd:CommonBasicComponents-2">1</ID></Invoice>`,
	"XML":  "\xef\xbb\xbf<?xml version='1.0'?>\n<!-- an order --><!DOCTYPE order>\n<order n='1'><line>a</line><line>b</line></order>",
	"JSON": `{"orders": [[1], [2]]}`,
}

// Cut anywhere, none of them looks whole; as it is, each does.
func TestHalvesAreNotWhole(t *testing.T) {
	t.Parallel()
	for name, text := range wholes {
		if why := judged(t, text); why != "" {
			t.Errorf("%s: whole, and %q", name, why)
		}
		if why := judged(t, text+"\r\n"); why != "" {
			t.Errorf("%s with a line end: whole, and %q", name, why)
		}
		for n := 1; n < len(text); n++ {
			short := text[:n]
			if name == "EDIFACT" && n == len(text)-1 || name == "X12" && n == len(text)-1 {
				continue // all but the last terminator: nothing else can be missing
			}
			if name == "XML" && strings.HasSuffix(short, "-->") || name == "XML" && n <= 3 {
				continue // a mark, a comment: nothing can be told yet
			}
			if name == "JSON" && strings.HasSuffix(short, "}") {
				continue
			}
			if judged(t, short) == "" {
				t.Errorf("%s: %q looks whole", name, short)
			}
		}
	}
}

func TestUnknownContent(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"hello": "", "a;b;c\n1;2;3\n": "", "%PDF-1.4 …": "", "U": "an envelope's beginning", "\x00\x00\x00\x00\x00": "nothing but blanks at its end",
		"a;b\x00\x00\x00\x00": "nothing but blanks at its end", " \n": "nothing but blanks at its end", "<a/>": "", "<a></a >": "", "<a><a>": "an unclosed root element",
		"<?xml version='1.0'": "an unclosed declaration", "[1]": "", "[1": "an unclosed bracket",
	} {
		if got := judged(t, content); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}
