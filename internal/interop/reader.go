package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Versions of the EDI libraries that read our acknowledgements back.
const (
	pydifactVersion = "0.2.3"
	pyx12Version    = "4.0.0"
)

// Readers are the two of them, for the document.
const Readers = "pydifact " + pydifactVersion + " and pyx12 " + pyx12Version

// Sample is an acknowledgement of ours.
type Sample struct {
	Case     string `json:"case"`
	Standard string `json:"standard"` // "edifact", read by pydifact, or "x12", read by pyx12
	Octets   string `json:"octets"`   // UTF-8
}

// Reading is what a library makes of a sample.
type Reading struct {
	Case      string   `json:"case"`
	Sender    string   `json:"sender"` // with its qualifier
	Recipient string   `json:"recipient"`
	Control   string   `json:"control"`
	Types     []string `json:"types"`
	Segments  []string `json:"segments"` // elements apart by "|", components by ":", without release characters
	Detail    string   `json:"detail"`   // what the library objects to
}

// Read installs the libraries, unless they are there, and has them read the
// samples. scratch is a folder for the exchange.
func Read(ctx context.Context, scratch string, samples []Sample) (map[string]Reading, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "edi")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("installing EDI readers: %w", err)
	}
	if err := copyDriver("edi", dir); err != nil {
		return nil, fmt.Errorf("installing EDI readers: %w", err)
	}
	err = once(ctx, dir, pydifactVersion+"-"+pyx12Version,
		[]string{"python3", "-m", "venv", "venv"},
		[]string{"venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "pydifact==" + pydifactVersion, "pyx12==" + pyx12Version})
	if err != nil {
		return nil, fmt.Errorf("installing EDI readers: %w", err)
	}
	content, err := json.Marshal(samples)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(scratch, "samples.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "reader.py"), file)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading acknowledgements: %w: %s", err, tail(complaints.Bytes()))
	}
	readings := map[string]Reading{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r Reading
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("reading acknowledgements: %w", err)
		}
		readings[r.Case] = r
	}
	return readings, nil
}

const acknowledgements = "## Functional acknowledgements"

// WithAcknowledgements is the document with the section about acknowledgements,
// in place of the one that it has.
func WithAcknowledgements(document string, rows [][2]string) string {
	document, _, _ = strings.Cut(document, acknowledgements)
	var b strings.Builder
	b.WriteString(strings.TrimRight(document, "\n") + "\n\n" + acknowledgements + "\n\n")
	fmt.Fprintf(&b, "Composed by `mdn/functional`, and read back by %s. \"accepted\" says that the library finds nothing\n", Readers)
	b.WriteString("wrong with the envelopes, and the parties, the reference and the answer that were meant.\n\n| acknowledgement | verdict |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(r[0]), cell(r[1]))
	}
	return b.String()
}

// Acknowledgements is that section as it stands in a document; "" if there is none.
func Acknowledgements(document string) string {
	_, section, found := strings.Cut(document, acknowledgements)
	if !found {
		return ""
	}
	return "\n" + acknowledgements + section
}
