package list

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
)

// A Row is a listed object: a [Package], [Channel], [Bundle], [Version], [Image] or [Update], or a match of a search.
// JSON and YAML write its fields.
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

// Result returns the answer with these rows. It keeps a bounded number of rows in memory, except for YAML, and may
// iterate over them twice.
func Result[R Row](rows iter.Seq[R]) *output.Result {
	return &output.Result{
		Value: output.List[R](rows), Streams: true,
		Names: mapped(rows, R.title),
		Other: map[output.Format]func(io.Writer) error{
			output.Text: func(w io.Writer) error { return writeTable(w, rows, false) },
			output.Wide: func(w io.Writer) error { return writeTable(w, rows, true) },
		},
	}
}

// mapped yields the results of fn for the values of a sequence.
func mapped[A, B any](all iter.Seq[A], fn func(A) B) iter.Seq[B] {
	return func(yield func(B) bool) {
		for a := range all {
			if !yield(fn(a)) {
				return
			}
		}
	}
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
