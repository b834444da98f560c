// Package strict reads one YAML document into Go structs and refuses whatever
// the structs do not name.
//
// It is meant for files that people write and that decide what a gateway does:
// an unknown key is an error, a value of the wrong kind is an error, and every
// error of the file is reported at once, with its line and its path. YAML's
// indirections (anchors, aliases, merge keys, tags, several documents) are
// refused: they have no use in such files and hide what a reader sees.
//
// The syntax is read by github.com/goccy/go-yaml; the mapping to structs is
// done here, because that decoder stops at the first fault.
//
// Struct fields are named by a `yaml:"name"` tag; a field without one is not
// settable from the file. A key without a value leaves the field as it was, so
// defaults are set beforehand. A Document is not safe for concurrent use.
package strict

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The YAML parser needs time and memory quadratic in the
// nesting, so nesting is bounded before it is called: by brackets, and by the
// length of a line ("- - - -" nests without brackets).
const (
	MaxBytes = 1 << 20
	maxLine  = 4096
	maxDepth = 64
)

// Error is one fault of a document, placed.
type Error struct {
	Line, Column int    // counted from 1; 0 when the place is not known
	Path         string // "partners[0].as2.id"; "" for the document
	Err          error
}

// Error is "line 3, column 5: partners[0].window: cause".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

type position struct{ line, column int }

// Document collects the faults of one file: those of its syntax and shape,
// found by Decode, and those of its meaning, which the caller reports.
type Document struct {
	positions map[string]position
	faults    []*Error
	broken    bool // not YAML at all: what is missing is not the author's fault
}

// Decode reads data into v, a pointer to a struct, as far as it goes. Faults
// are in the Document: see [Document.Err].
func Decode(data []byte, v any) *Document {
	d := &Document{positions: map[string]position{}}
	body, err := parse(data)
	if err != nil {
		d.faults, d.broken = append(d.faults, err), true
		return d
	}
	if body == nil {
		return d // empty, or comments alone
	}
	d.value(body, reflect.ValueOf(v).Elem(), "")
	return d
}

// Report adds a fault at path, unless a fault was found there, or beneath, or
// above it already: a second message about one mistake helps nobody.
func (d *Document) Report(path string, err error) {
	if d.broken || slices.ContainsFunc(d.faults, func(f *Error) bool { return related(f.Path, path) }) {
		return
	}
	d.faults = append(d.faults, d.At(path, err))
}

// Reportf is Report of a formatted error.
func (d *Document) Reportf(path, format string, args ...any) {
	d.Report(path, fmt.Errorf(format, args...))
}

// At places err at path, or at the closest enclosing value that the file has.
func (d *Document) At(path string, err error) *Error {
	for p := path; ; p = parent(p) {
		if at, ok := d.positions[p]; ok {
			return &Error{Line: at.line, Column: at.column, Path: path, Err: err}
		}
		if p == "" {
			return &Error{Path: path, Err: err}
		}
	}
}

// Err joins all faults in the order of the file; nil if there are none.
func (d *Document) Err() error {
	faults := slices.Clone(d.faults)
	slices.SortStableFunc(faults, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	all := make([]error, len(faults))
	for i, f := range faults {
		all[i] = f
	}
	return errors.Join(all...)
}

// related: equal, or one encloses the other. The document itself ("") is
// related to nothing but itself.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b {
		return true
	}
	return a != "" && strings.HasPrefix(b, a) && (b[len(a)] == '.' || b[len(a)] == '[')
}

// parent is the path of the enclosing value.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// parse returns the root of the only document, or nil when there is none.
func parse(data []byte) (root ast.Node, fault *Error) {
	if fault := bounds(data); fault != nil {
		return nil, fault
	}
	// The parser is large and has had panics on malformed input; one more must
	// not end a running program.
	defer func() {
		if p := recover(); p != nil {
			root, fault = nil, &Error{Err: fmt.Errorf("not readable as YAML: %v", p)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if fault := depth(tokens); fault != nil {
		return nil, fault
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, nil
	case 1:
		return bodies[0], nil
	}
	at := bodies[1].GetToken().Position
	return nil, &Error{Line: at.Line, Column: at.Column, Err: errors.New("a second document: the file holds one")}
}

func bounds(data []byte) *Error {
	if len(data) > MaxBytes {
		return &Error{Err: fmt.Errorf("%d bytes: more than %d is not read", len(data), MaxBytes)}
	}
	if !utf8.Valid(data) {
		return &Error{Err: errors.New("not UTF-8")}
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if len(line) > maxLine {
			return &Error{Line: n, Column: 1, Err: fmt.Errorf("a line of more than %d bytes", maxLine)}
		}
	}
	return nil
}

// depth refuses what the parser would need quadratic time for.
func depth(tokens token.Tokens) *Error {
	open := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		}
		if open > maxDepth {
			return &Error{Line: t.Position.Line, Column: t.Position.Column, Err: fmt.Errorf("nested deeper than %d", maxDepth)}
		}
	}
	return nil
}

// syntaxError keeps the message and the place, and leaves out the excerpt of
// the source that the parser adds: it may show a secret.
func syntaxError(err error) *Error {
	if s, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		e := &Error{Err: errors.New(s.Message)}
		if s.Token != nil && s.Token.Position != nil {
			e.Line, e.Column = s.Token.Position.Line, s.Token.Position.Column
		}
		return e
	}
	return &Error{Err: errors.New("not readable as YAML")}
}
