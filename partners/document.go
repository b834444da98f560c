package partners

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"firstcopy/configs/strict"
)

// document is an agreement as JSON, in the words of the agreements file. The
// whole of it is what changes record and what a diff compares; the partner
// row's agreement column holds the part that has no column or table.
type document struct {
	AS2            *as2JSON          `json:"as2,omitempty"`
	SFTP           *SFTP             `json:"sftp,omitempty"`
	Window         string            `json:"window,omitempty"`
	Windows        map[string]string `json:"windows,omitempty"`
	Key            keyJSON           `json:"key"`
	Drift          Drift             `json:"drift"`
	Stale          Drift             `json:"stale"`
	SameDocument   SameDocument      `json:"same_document"`
	OnDuplicate    DuplicateAnswer   `json:"on_duplicate"`
	Acknowledge    acknowledgeJSON   `json:"acknowledge,omitzero"`
	Sink           string            `json:"sink"`
	SinkSecretFile string            `json:"sink_secret_file,omitempty"`
	Limits         limitsJSON        `json:"limits"`
}

type as2JSON struct {
	ID      string `json:"id,omitempty"`
	Station string `json:"station,omitempty"`
	// By fingerprint, "sha256:…", in one line each.
	Certificates map[string]string `json:"certificates,omitempty"`
	Require      requireJSON       `json:"require"`
	AsyncURLs    []string          `json:"async_urls,omitempty"`
	URL          string            `json:"url,omitempty"`
	AllowPrivate bool              `json:"allow_private"`
	DefaultMIC   string            `json:"default_mic"`
}

type requireJSON struct {
	Signed    bool     `json:"signed"`
	Encrypted bool     `json:"encrypted"`
	Digests   []string `json:"digests,omitempty"`
	Ciphers   []string `json:"ciphers,omitempty"`
}

type acknowledgeJSON struct {
	EDIFACT AcknowledgeEDIFACT `json:"edifact,omitempty"`
	X12     []AcknowledgeX12   `json:"x12,omitempty"`
	OnDrift DriftAnswer        `json:"on_drift,omitempty"`
}

type limitsJSON struct {
	Payload    strict.Size `json:"payload"`
	Concurrent int         `json:"concurrent"`
}

// terms are the document without what is stored elsewhere.
func (a Agreement) terms() document {
	a.amendments()
	d := document{
		SFTP: a.SFTP,
		Key:  a.Key.json(), Drift: a.Drift, Stale: a.Stale, SameDocument: a.SameDocument, OnDuplicate: a.OnDuplicate,
		Acknowledge: acknowledgeJSON(a.Acknowledge),
		Sink:        a.Sink, SinkSecretFile: a.SinkSecretFile,
		Limits: limitsJSON(a.Limits),
	}
	if a.HasAS2() {
		d.AS2 = &as2JSON{
			Require: requireJSON(a.AS2.Require), AsyncURLs: a.AS2.AsyncURLs, URL: a.AS2.URL,
			AllowPrivate: a.AS2.AllowPrivate, DefaultMIC: a.AS2.DefaultMIC,
		}
	}
	return d
}

// whole is the document with everything.
func (a *Agreement) whole() document {
	d := a.terms()
	if d.AS2 != nil {
		d.AS2.ID, d.AS2.Station = a.AS2.ID, a.AS2.Station
		d.AS2.Certificates = map[string]string{}
		for _, c := range a.AS2.Certificates {
			f := c.Fingerprint()
			d.AS2.Certificates["sha256:"+hex.EncodeToString(f[:])] = c.describe()
		}
	}
	d.Window = a.Windows.Default.String()
	d.Windows = map[string]string{}
	for standard, w := range a.Windows.Standard {
		d.Windows[standard] = w.String()
	}
	return d
}

// setTerms is the reverse of terms. Keys it does not know are left alone: they
// come from a newer gateway on the same database.
func (a *Agreement) setTerms(stored []byte) error {
	var d document
	if err := json.Unmarshal(stored, &d); err != nil {
		return fmt.Errorf("stored agreement: %w", err)
	}
	if d.AS2 != nil {
		a.AS2.Require = Require(d.AS2.Require)
		a.AS2.AsyncURLs, a.AS2.AllowPrivate, a.AS2.DefaultMIC = d.AS2.AsyncURLs, d.AS2.AllowPrivate, d.AS2.DefaultMIC
		a.AS2.URL = d.AS2.URL
	}
	a.SFTP = d.SFTP
	a.Key, a.Drift, a.Stale, a.SameDocument, a.OnDuplicate = d.Key.key(), d.Drift, d.Stale, d.SameDocument, d.OnDuplicate
	a.Acknowledge = Acknowledge(d.Acknowledge)
	a.amendments()
	a.Sink, a.SinkSecretFile = d.Sink, d.SinkSecretFile
	a.Limits = Limits(d.Limits)
	return nil
}

// encode is the JSON to store; nil for no document.
func encode(d *document) ([]byte, error) {
	if d == nil {
		return nil, nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding agreement: %w", err)
	}
	return data, nil
}

// FieldChange is one value that differs, named like the key of the agreements
// file; "" is no value.
type FieldChange struct{ Field, Old, New string }

// String is "window: 30d → 14d", "sink: + dir:/x" or "windows.x12: - 30d".
func (f FieldChange) String() string {
	switch {
	case f.Old == "":
		return f.Field + ": + " + f.New
	case f.New == "":
		return f.Field + ": - " + f.Old
	}
	return f.Field + ": " + f.Old + " → " + f.New
}

// compare lists the differing values of two documents in JSON, either of which
// may be nil. Values that only one knows, of an older or newer gateway, count.
func compare(before, after []byte) ([]FieldChange, error) {
	old, err := flatten(before)
	if err != nil {
		return nil, err
	}
	updated, err := flatten(after)
	if err != nil {
		return nil, err
	}
	fields := maps.Clone(old)
	maps.Copy(fields, updated)
	var all []FieldChange
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if old[field] != updated[field] {
			all = append(all, FieldChange{field, old[field], updated[field]})
		}
	}
	return all, nil
}

// flatten names every value of a document by its path. A list is one value, unless its elements have names themselves.
func flatten(doc []byte) (map[string]string, error) {
	out := map[string]string{}
	if doc == nil {
		return out, nil
	}
	var root any
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		return nil, fmt.Errorf("stored agreement: %w", err)
	}
	flattenInto(out, "", root)
	return out, nil
}

func flattenInto(out map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			flattenInto(out, strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case []any:
		if slices.ContainsFunc(v, composite) {
			for i, inner := range v {
				flattenInto(out, fmt.Sprintf("%s[%d]", path, i), inner)
			}
			return
		}
		out[path] = list(v)
	case nil:
	default:
		out[path] = fmt.Sprint(v)
	}
}

// list is a list in one line. No two lists read alike, or a change between them would not be one.
func list(values []any) string {
	if len(values) == 0 {
		return "[]"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i] = fmt.Sprint(v); texts[i] == "" || texts[i] == "[]" || strings.ContainsAny(texts[i], `,"`) {
			texts[i] = strconv.Quote(texts[i])
		}
	}
	return strings.Join(texts, ", ")
}

func composite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
