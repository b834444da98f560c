package partners

import (
	"fmt"
	"slices"
	"strings"

	"firstcopy/configs/strict"
)

// Warning is something in an agreement that is allowed but unwise.
type Warning struct {
	Partner string
	Line    int // in the file; 0 when not from a file
	Text    string
}

// String is "line 12: acme: text".
func (w Warning) String() string {
	s := w.Partner + ": " + w.Text
	if w.Line > 0 {
		s = fmt.Sprintf("line %d: %s", w.Line, s)
	}
	return s
}

// The YAML of an agreements file. What the tags name is the format;
// configs/agreements.example.yaml explains it.
type fileYAML struct {
	Partners []partnerYAML `yaml:"partners"`
}

type partnerYAML struct {
	Name           string            `yaml:"name"`
	Tenant         string            `yaml:"tenant"`
	AS2            *as2YAML          `yaml:"as2"`
	SFTP           *SFTP             `yaml:"sftp"`
	Window         Window            `yaml:"window"`
	Windows        map[string]Window `yaml:"windows"`
	Key            keyYAML           `yaml:"key"`
	Drift          Drift             `yaml:"drift"`
	Stale          Drift             `yaml:"stale"`
	SameDocument   SameDocument      `yaml:"same_document"`
	OnDuplicate    DuplicateAnswer   `yaml:"on_duplicate"`
	Acknowledge    acknowledgeYAML   `yaml:"acknowledge"`
	Sink           string            `yaml:"sink"`
	SinkSecretFile string            `yaml:"sink_secret_file"`
	Limits         limitsYAML        `yaml:"limits"`
}

type as2YAML struct {
	ID           string            `yaml:"id"`
	Station      string            `yaml:"station"`
	Certificates []certificateYAML `yaml:"certificates"`
	Require      requireYAML       `yaml:"require"`
	AsyncURLs    []string          `yaml:"async_urls"`
	URL          string            `yaml:"url"`
	AllowPrivate bool              `yaml:"allow_private"`
	DefaultMIC   string            `yaml:"default_mic"`
}

type acknowledgeYAML struct {
	EDIFACT AcknowledgeEDIFACT `yaml:"edifact"`
	X12     []AcknowledgeX12   `yaml:"x12"`
	OnDrift DriftAnswer        `yaml:"on_drift"`
}

type certificateYAML struct {
	File  string         `yaml:"file"`
	From  strict.Instant `yaml:"from"`
	Until strict.Instant `yaml:"until"`
	Use   []Use          `yaml:"use"`
}

type requireYAML struct {
	Signed    *bool    `yaml:"signed"`
	Encrypted *bool    `yaml:"encrypted"`
	Digests   []string `yaml:"digests"`
	Ciphers   []string `yaml:"ciphers"`
}

type limitsYAML struct {
	Payload    *strict.Size `yaml:"payload"`
	Concurrent *int         `yaml:"concurrent"`
}

// ParseFile reads an agreements file. The certificate files it names are
// relative to dir. The agreements are complete, with defaults filled in, and
// in the order of the file; they are only valid without an error. The error
// joins all faults of the file, each a *strict.Error with its line.
func ParseFile(dir string, data []byte) ([]Agreement, []Warning, error) {
	var file fileYAML
	r := &reader{dir: dir, doc: strict.Decode(data, &file)}
	if len(file.Partners) == 0 {
		r.doc.Reportf("partners", "no partners")
	}
	for i, p := range file.Partners {
		r.partner(fmt.Sprintf("partners[%d]", i), p)
	}
	r.unique()
	if err := r.doc.Err(); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(r.warnings, func(a, b Warning) int { return a.Line - b.Line })
	return r.agreements, r.warnings, nil
}

// reader turns the YAML into agreements and collects what is wrong with it.
type reader struct {
	dir        string
	doc        *strict.Document
	agreements []Agreement
	warnings   []Warning
}

// check reports err at path, if it is one.
func (r *reader) check(path string, err error) {
	if err != nil {
		r.doc.Report(path, err)
	}
}

func (r *reader) warn(path, partner, text string) {
	if text != "" {
		r.warnings = append(r.warnings, Warning{Partner: partner, Line: r.doc.At(path, nil).Line, Text: text})
	}
}

// unique finds names and AS2 pairs that two agreements share: either would
// make it a matter of chance whose message it is.
func (r *reader) unique() {
	names, pairs := map[[2]string]int{}, map[pair]int{}
	for i, a := range r.agreements {
		path := fmt.Sprintf("partners[%d]", i)
		if first, ok := names[[2]string{a.Tenant, a.Name}]; ok && a.Name != "" {
			r.doc.Reportf(path+".name", "%q is partners[%d] already", a.Name, first)
		} else {
			names[[2]string{a.Tenant, a.Name}] = i
		}
		if first, ok := pairs[a.pair()]; ok && a.AS2.ID != "" {
			r.doc.Reportf(path+".as2.id", "%q with station %q is partners[%d] already", a.AS2.ID, a.AS2.Station, first)
		} else {
			pairs[a.pair()] = i
		}
	}
}

// pair is what an AS2 message says about who sends it to whom.
type pair struct{ from, to string }

func (a *Agreement) pair() pair { return pair{a.AS2.ID, a.AS2.Station} }

// oneOf refuses a word that is not among those allowed.
func oneOf[T ~string](word T, allowed ...T) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	texts := make([]string, len(allowed))
	for i, a := range allowed {
		texts[i] = string(a)
	}
	return fmt.Errorf("%q: one of %s", word, strings.Join(texts, ", "))
}
