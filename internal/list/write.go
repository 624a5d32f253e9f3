package list

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
)

// A Format is an output format for rows.
type Format string

// The formats.
const (
	Text  Format = "text" // a table
	Wide  Format = "wide" // a table with more columns
	Names Format = "name" // each name once, one per line
	JSON  Format = "json" // a list of objects
	YAML  Format = "yaml" // same as JSON, with sorted keys
)

// Formats returns all formats, the default first.
func Formats() []Format { return []Format{Text, JSON, YAML, Wide, Names} }

// A Row is a listed object: a [Package], [Channel], [Bundle], [Version], [Update] or [Match]. JSON and YAML write its
// fields.
type Row interface {
	title() string // the name
	layout() layout
	cells(wide bool) []string
}

// A layout describes the columns of a table.
type layout struct {
	columns, wide []string
	raw           bool // leave empty cells of columns empty, like upstream
}

// Write writes rows. It keeps a bounded number of rows in memory, except for YAML, and may iterate over them twice.
func Write[R Row](w io.Writer, rows iter.Seq[R], f Format) error {
	switch f {
	case JSON:
		return writeRows(w, rows)
	case YAML:
		return writeYAML(w, slices.Collect(rows))
	case Names:
		return writeNames(w, rows)
	}
	return writeTable(w, rows, f == Wide)
}

// writeRows writes rows as a JSON list.
func writeRows[R Row](w io.Writer, rows iter.Seq[R]) error {
	text := jsontext.NewEncoder(w, jsontext.WithIndent("  "))
	if err := text.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for r := range rows {
		if err := json.MarshalEncode(text, r); err != nil {
			return err
		}
	}
	return text.WriteToken(jsontext.EndArray)
}

func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func writeYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(format.AppendYAML(nil, text))
	return err
}

func writeNames[R Row](w io.Writer, rows iter.Seq[R]) error {
	text := bufio.NewWriter(w)
	seen := map[string]bool{}
	for r := range rows {
		if name := r.title(); !seen[name] {
			seen[name] = true
			text.WriteString(legible.Name(name) + "\n")
		}
	}
	return text.Flush()
}

// writeTable writes rows below a header. Cells are escaped for terminals. Unless the table is raw, an empty cell is
// written as a dash, so that the number of columns is constant for scripts.
func writeTable[R Row](w io.Writer, rows iter.Seq[R], wide bool) error {
	var zero R
	l := zero.layout()
	columns := l.columns
	if wide {
		columns = slices.Concat(columns, l.wide)
	}
	return align(w, len(columns), func(yield func([]string) bool) {
		if !yield(columns) {
			return
		}
		for r := range rows {
			cells := r.cells(wide)
			for i := range cells {
				cells[i] = legible.Name(cells[i])
				if wide || !l.raw {
					cells[i] = cmp.Or(cells[i], "-")
				}
			}
			if !yield(cells) {
				return
			}
		}
	})
}

// maxHeld is the maximum number of table rows kept in memory between computing the widths of the columns and writing
// them. If there are more, align iterates over the rows again.
const maxHeld = 10_000

// align writes columns two spaces apart, the last column without padding. text/tabwriter, which upstream uses, is too
// slow for 100,000 rows.
func align(w io.Writer, columns int, rows iter.Seq[[]string]) error {
	widths := make([]int, columns)
	var held [][]string
	n := 0
	for row := range rows {
		if n++; n <= maxHeld {
			held = append(held, row)
		}
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if n == len(held) {
		rows = slices.Values(held)
	}
	buffered := bufio.NewWriter(w)
	for row := range rows {
		for i, cell := range row {
			buffered.WriteString(cell)
			if i == len(row)-1 {
				break
			}
			for range widths[i] - utf8.RuneCountInString(cell) + 2 {
				buffered.WriteByte(' ')
			}
		}
		buffered.WriteByte('\n')
	}
	return buffered.Flush()
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
