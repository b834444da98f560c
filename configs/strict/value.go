package strict

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

var durationType = reflect.TypeFor[time.Duration]()

// value stores node in v and recurses into mappings and sequences.
func (d *Document) value(node ast.Node, v reflect.Value, path string) {
	at := begin(node)
	if _, keyed := d.positions[path]; !keyed { // a key's own place is the better one
		d.positions[path] = position{at.Line, at.Column}
	}
	switch node.(type) {
	case *ast.NullNode:
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.Reportf(path, "anchors, aliases and tags are not used here: write the value out")
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.scalar(node, path, u.UnmarshalText)
		return
	}
	switch {
	case v.Type() == durationType:
		d.scalar(node, path, func(text []byte) error { return setDuration(v, string(text)) })
	case v.Kind() == reflect.Struct:
		d.structure(node, v, path)
	case v.Kind() == reflect.Map:
		d.dictionary(node, v, path)
	case v.Kind() == reflect.Slice:
		d.list(node, v, path)
	default:
		d.plain(node, v, path)
	}
}

// begin is where a value begins. The parser gives a mapping the place of its
// first colon, if it has no brackets.
func begin(node ast.Node) *token.Position {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position
	}
	return node.GetToken().Position
}

func (d *Document) structure(node ast.Node, v reflect.Value, path string) {
	fields := map[string]reflect.Value{}
	known := named(v, fields, nil)
	d.entries(node, path, func(key, at string, value ast.Node) {
		field, ok := fields[key]
		if !ok {
			d.Reportf(at, "unknown key; known here: %s", strings.Join(known, ", "))
			return
		}
		d.value(value, field, at)
	})
}

// named collects the fields of a struct by their keys, and the keys in order.
// Those of a struct tagged ",inline" are the enclosing one's.
func named(v reflect.Value, fields map[string]reflect.Value, known []string) []string {
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Tag.Get("yaml"); name {
		case "", "-":
		case ",inline":
			known = named(v.Field(i), fields, known)
		default:
			fields[name] = v.Field(i)
			known = append(known, name)
		}
	}
	return known
}

func (d *Document) dictionary(node ast.Node, v reflect.Value, path string) {
	m := reflect.MakeMap(v.Type())
	d.entries(node, path, func(key, at string, value ast.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, at)
		m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), element)
	})
	v.Set(m)
}

// entries calls each for every key of a mapping, after recording its place.
func (d *Document) entries(node ast.Node, path string, each func(key, at string, value ast.Node)) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		d.Reportf(path, "%s where keys with values are expected", kind(node))
		return
	}
	seen := map[string]bool{}
	for _, entry := range mapping.Values {
		name := entry.Key.GetToken()
		key := name.Value
		at := join(path, key)
		if !seen[key] {
			d.positions[at] = position{name.Position.Line, name.Position.Column}
		}
		switch entry.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode:
		default:
			d.Reportf(at, "a key must be a plain word")
			continue
		}
		if seen[key] {
			d.Reportf(at, "key given twice")
			continue
		}
		seen[key] = true
		each(key, at, entry.Value)
	}
}

// join makes the path of a key; one that is no plain word is quoted, so that
// what stands in the file cannot look like a path.
func join(path, key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *Document) list(node ast.Node, v reflect.Value, path string) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.Reportf(path, "%s where a list is expected", kind(node))
		return
	}
	items := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, value := range sequence.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if value.Type() == ast.NullType {
			d.positions[at] = position{value.GetToken().Position.Line, value.GetToken().Position.Column}
			d.Reportf(at, "empty list item")
			continue
		}
		d.value(value, items.Index(i), at)
	}
	v.Set(items)
}

// plain stores a value of one of Go's basic kinds.
func (d *Document) plain(node ast.Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		d.scalar(node, path, func(text []byte) error { v.SetString(string(text)); return nil })
	case reflect.Bool:
		b, ok := node.(*ast.BoolNode)
		if !ok {
			d.Reportf(path, "%s where true or false is expected", kind(node))
			return
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Int64:
		d.scalar(node, path, func(text []byte) error {
			n, err := strconv.ParseInt(string(text), 10, v.Type().Bits())
			if err != nil {
				return fmt.Errorf("%q is not a whole number", text)
			}
			v.SetInt(n)
			return nil
		})
	default:
		// A mistake in the program, but not worth ending it for.
		d.Reportf(path, "cannot be set from a file (%s)", v.Type())
	}
}

// scalar hands the text of node, as written, to set. Numbers keep their
// spelling: an identifier like 0012345 is digits, not a quantity.
func (d *Document) scalar(node ast.Node, path string, set func([]byte) error) {
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		text = node.GetToken().Value
	default:
		d.Reportf(path, "%s where a single text or number is expected", kind(node))
		return
	}
	if err := set([]byte(text)); err != nil {
		d.Report(path, err)
	}
}

func setDuration(v reflect.Value, text string) error {
	n, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration like 500ms, 10s, 5m", text)
	}
	if n < 0 {
		return errors.New("a duration cannot be negative")
	}
	v.SetInt(int64(n))
	return nil
}

// kind names what stands in the file, for an error.
func kind(node ast.Node) string {
	switch node.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	case ast.SequenceType:
		return "a list"
	case ast.BoolType:
		return "true or false (quote it if text is meant)"
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType, ast.FloatType:
		return "a number"
	}
	return "something else"
}
