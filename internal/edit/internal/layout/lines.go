package layout

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// mergeKey is the key that merges mappings, unless it is quoted.
const mergeKey = "<<"

// lines returns the lines of a value that is not a list or mapping in block style. The first one starts with its anchor
// and tag. The lines after it are indented by the returned number of spaces, relative to the list or mapping around the
// value, which is at a column.
func (w *printer) lines(v *syntax.Node, column int) (lines []string, indent int) {
	text := string(w.text[v.Body:v.To])
	indent = 2
	switch lines = strings.Split(text, "\n"); {
	case v.Block:
		lines = append([]string{blockHeader(v, text)}, v.Lines...)
	case v.Flow:
		indent = dedent(lines[1:], column)
	case len(lines) == 1 && v.Quote != 0 && v.Props == "":
		lines[0] = requote(text, v.Value)
	default:
		for i, line := range lines[1:] {
			lines[i+1] = strings.TrimLeft(line, " \t")
		}
	}
	lines[0] = join(v.Props, lines[0])
	return lines, indent
}

// dedent removes the common indentation of the lines of a value in brackets, and the blanks after them. It returns the
// new indentation: 0 for lines that were not further right than the column.
func dedent(lines []string, column int) (indent int) {
	least := -1
	for _, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent < len(line) && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(max(least, 0), len(line)):], " \t")
	}
	if least > column {
		return 2
	}
	return 0
}

// requote returns quoted text in the default style: without quotes if it is text without them, too, and otherwise in
// double quotes. A text that has escapes, or would need them, is not changed.
func requote(quoted, value string) string {
	switch {
	case quoted[0] == '"' && strings.Contains(quoted, `\`):
	case format.IsPlain([]byte(value)) && value != mergeKey:
		return value
	case !strings.ContainsAny(value, `"\`):
		return `"` + value + `"`
	}
	return quoted
}

// blockHeader returns the first line of a block that is indented by two spaces.
func blockHeader(v *syntax.Node, text string) string {
	old := text[:len(text)-len(strings.TrimLeft(text, "|>+-0123456789"))]
	header := old[:1]
	if i := slices.IndexFunc(v.Lines, func(line string) bool { return line != "" }); i >= 0 && v.Lines[i][0] == ' ' {
		header += "2"
	}
	switch {
	case strings.Contains(old, "+"):
		header += "+"
	case strings.Contains(old, "-"), v.Value != "" && !strings.HasSuffix(v.Value, "\n"): // the file ends with the block
		header += "-"
	}
	return join(header, v.Comment)
}
