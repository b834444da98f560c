package forward

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"firstcopy/internal/failpoint"
)

// dirSink puts each document into a folder, under a name made of nothing but the document, so that delivering it again
// changes nothing. Beside it stands NAME.json with what the gateway knows of it. A file is complete when it has its name:
// both are written under a leading dot, synced, and renamed, the description first.
type dirSink struct{ path string }

func (d dirSink) Deliver(ctx context.Context, s Shipment) (string, error) {
	name := fileName(&s.Document)
	target := filepath.Join(d.path, name)
	if info, err := os.Stat(target); err == nil && info.Size() == s.Size {
		return "dir:" + target, d.settle(name, s.Attempt) // it may have been renamed, and its name not yet be on disk
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	description, err := json.MarshalIndent(describe(s), "", "  ")
	if err != nil {
		return "", err
	}
	if err := d.put(name+".json", strings.NewReader(string(description)+"\n"), -1); err != nil {
		return "", err
	}
	failpoint.Hit("dir.described")
	if err := d.put(name, s.Open(ctx), s.Size); err != nil {
		return "", err
	}
	failpoint.Hit("dir.renamed")
	return "dir:" + target, d.settle(name, s.Attempt)
}

// settle makes the names durable, and removes what earlier attempts that died have left of the file.
func (d dirSink) settle(name string, attempt int) error {
	if attempt > 1 {
		if err := d.sweep("." + name + "."); err != nil {
			return err
		}
	}
	return syncDir(d.path)
}

func (d dirSink) sweep(prefix string) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// put writes a file under a temporary name and renames it. A size that is known must be reached.
func (d dirSink) put(name string, octets io.Reader, size int64) (err error) {
	f, err := os.CreateTemp(d.path, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	n, err := io.Copy(f, octets)
	if err != nil {
		return err
	}
	if size >= 0 && n != size {
		return fmt.Errorf("%s: stored octets are %d, the document has %d", name, n, size)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(d.path, name))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// fileName is deterministic: the document's id, and what helps a person, reduced to letters, digits, dot and dash.
func fileName(d *Document) string {
	hint := d.FileName
	if hint == "" {
		hint = d.Standard + "-" + d.Reference
	}
	var b strings.Builder
	for _, r := range hint {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	return d.ID.String() + "_" + b.String()
}

// description is the sidecar's content, and the source of the CloudEvents attributes.
type description struct {
	Document
	Partner string `json:"partner"`
	Channel string `json:"channel"`
	SHA256  string `json:"sha256"`
}

func describe(s Shipment) description {
	return description{Document: s.Document, Partner: s.Partner, Channel: s.Channel, SHA256: hex.EncodeToString(s.Raw)}
}
