package console

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
)

// Fit returns a writer to out that, if out is a terminal, cuts lines that are too long for it.
func Fit(out io.Writer) io.Writer {
	if !IsTerminal(out) {
		return out
	}
	return &fitted{w: out, columns: New(legible.Unwrap(out)).columns()}
}

// A fitted is a writer that cuts lines after a number of characters.
type fitted struct {
	w       io.Writer
	columns int
	used    int // columns of the current line written so far
}

func (f *fitted) Write(p []byte) (int, error) {
	var text bytes.Buffer
	for rest := p; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch f.used++; {
		case r == '\n':
			f.used = 0
			text.WriteByte('\n')
		case f.used < f.columns:
			text.Write(rest[:size])
		case f.used == f.columns:
			text.WriteString("…")
		}
		rest = rest[size:]
	}
	if _, err := f.w.Write(text.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maxDiffLine is the maximum number of characters shown of a line in a diff. Base64 manifests have lines of thousands.
const maxDiffLine = 200

// Abbreviate returns a diff with long lines cut.
func Abbreviate(text []byte) []byte {
	var short []byte
	for line := range bytes.Lines(text) {
		if n := utf8.RuneCount(line); n > maxDiffLine+1 {
			line = fmt.Appendf(nil, "%s… (%s characters)\n", string([]rune(string(line))[:maxDiffLine]), plural.Number(n-1))
		}
		short = append(short, line...)
	}
	return short
}
