package list

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
)

// A Format is how rows are written.
type Format string

// The formats.
const (
	Text  Format = "text" // a table
	Wide  Format = "wide" // a table with more columns
	Names Format = "name" // every name once, on a line of its own
	JSON  Format = "json" // a list of objects
	YAML  Format = "yaml" // as JSON, with the keys sorted
)

// Formats returns all formats, the default first.
func Formats() []Format { return []Format{Text, JSON, YAML, Wide, Names} }

// A Row is a listed object: a [Package], [Channel], [Bundle], [Version], [Update] or [Match]. JSON
// and YAML write its fields.
type Row interface {
	title() string // the name
	layout() layout
	cells(wide bool) []string
}

// A layout is that of a table.
type layout struct {
	columns, wide []string
	raw           bool // print cells of columns unescaped, as upstream
}

// Write writes rows.
func Write[R Row](w io.Writer, rows []R, f Format) error {
	switch f {
	case JSON:
		return writeJSON(w, rows)
	case YAML:
		return writeYAML(w, rows)
	case Names:
		return writeNames(w, rows)
	}
	return writeTable(w, rows, f == Wide)
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

func writeNames[R Row](w io.Writer, rows []R) error {
	var text strings.Builder
	seen := map[string]bool{}
	for _, r := range rows {
		if name := r.title(); !seen[name] {
			seen[name] = true
			text.WriteString(legible.Name(name) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeTable writes rows below a header. Unless the table is raw, cells are escaped for terminals and an empty cell is
// a dash, which keeps the number of columns constant for scripts.
func writeTable[R Row](w io.Writer, rows []R, wide bool) error {
	var zero R
	l := zero.layout()
	columns := l.columns
	if wide {
		columns = slices.Concat(columns, l.wide)
	}
	all := [][]string{columns}
	for _, r := range rows {
		cells := r.cells(wide)
		for i := range cells {
			if wide || !l.raw {
				cells[i] = cmp.Or(legible.Name(cells[i]), "-")
			}
		}
		all = append(all, cells)
	}
	return align(w, all)
}

// align writes columns two spaces apart, the last one without padding. text/tabwriter, which upstream uses, is too slow
// for 100,000 rows.
func align(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	buffered := bufio.NewWriter(w)
	for _, row := range rows {
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
