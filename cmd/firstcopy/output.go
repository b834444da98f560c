package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// print writes v as JSON if that was asked for, and else what human writes.
func (a *app) print(cmd *cobra.Command, v any, human func(w io.Writer) error) error {
	if !a.json {
		return human(cmd.OutOrStdout())
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false) // Message-IDs have angle brackets
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table aligns columns. Cells are cleaned: what a partner sent must not move
// the cursor or change the order of letters on an administrator's screen.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, columns ...string) *table {
	t := &table{tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)}
	if len(columns) > 0 {
		fmt.Fprintln(t.w, strings.Join(columns, "\t"))
	}
	return t
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		if texts[i] = printable(fmt.Sprint(c)); texts[i] == "" {
			texts[i] = "-"
		}
	}
	fmt.Fprintln(t.w, strings.Join(texts, "\t"))
}

// line is a row whose empty cells stay empty.
func (t *table) line(cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// pair is a row of a description: name and value.
func (t *table) pair(name string, value any) {
	fmt.Fprintf(t.w, "  %s\t%s\n", name, printable(fmt.Sprint(value)))
}

func (t *table) flush() error { return t.w.Flush() }

// printable replaces whatever does not print, tabs and line ends included.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// hash is a digest that is hexadecimal in JSON.
type hash []byte

// MarshalText is the whole digest in hexadecimal.
func (h hash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// short is enough of a digest to tell copies apart on a page.
func (h hash) short() string {
	return hex.EncodeToString(h[:min(len(h), 6)])
}

// when is a time for people: in the local zone, which is named by its offset.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 -07:00")
}

// whenExactly has milliseconds: a retry can come right behind its original.
func whenExactly(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000 -07:00") }

// size is a number of octets for people: "1.5 MiB".
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n)/1024, 0
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit]
}

// count is "1 partner", "2 partners".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
