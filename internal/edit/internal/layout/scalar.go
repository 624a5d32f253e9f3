package layout

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/format"
)

// linesFrom returns the lines of the text that was read since start, without their indentation.
func (r *reader) linesFrom(start int) []string {
	if r.at > len(r.text) {
		r.fail("cannot find the end of this value")
		return []string{""}
	}
	lines := strings.Split(string(r.text[start:r.at]), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = strings.TrimLeft(lines[i], " \t")
	}
	return lines
}

// scalar reads a scalar that is not a block. It drops unnecessary quotes, unless the scalar has a tag.
func (r *reader) scalar(n *yaml.Node, untagged bool) []string {
	start := r.at
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for r.at++; r.at < len(r.text) && r.text[r.at] != '"'; r.at++ {
			if r.text[r.at] == '\\' {
				r.at++
			}
		}
		r.at++
	case n.Style&yaml.SingleQuotedStyle != 0:
		for r.at++; r.at < len(r.text) && (r.text[r.at] != '\'' || bytes.HasPrefix(r.text[r.at:], []byte("''"))); r.at++ {
			if r.text[r.at] == '\'' {
				r.at++
			}
		}
		r.at++
	default:
		r.plain(n.Value)
		return r.linesFrom(start)
	}
	lines := r.linesFrom(start)
	if len(lines) == 1 && untagged {
		lines[0] = requote(lines[0], n.Value)
	}
	return lines
}

// mergeKey is the key that merges mappings, unless it is quoted.
const mergeKey = "<<"

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

// plain reads a scalar without quotes. Its text is its value, except for line breaks and the blanks around them.
func (r *reader) plain(value string) {
	const blanks = " \t\n"
	for i := 0; i < len(value); {
		if strings.IndexByte(blanks, value[i]) < 0 {
			if r.next() != value[i] {
				r.fail("cannot find the end of this text")
				return
			}
			i++
			r.at++
			continue
		}
		i = len(value) - len(strings.TrimLeft(value[i:], blanks))
		r.at = len(r.text) - len(bytes.TrimLeft(r.text[r.at:], blanks))
	}
}

// block reads a literal or folded block. It returns the header with its comment as the first line, and the other lines
// without their common indentation.
func (r *reader) block(n *yaml.Node) []string {
	start := r.at
	for r.next() != 0 && strings.IndexByte("|>+-0123456789", r.next()) >= 0 {
		r.at++
	}
	header := string(r.text[start:r.at])
	if header == "" {
		r.fail("unsupported header of a block")
		return []string{""}
	}
	comment := r.trailingComment()
	width := -1 // unknown
	if i := strings.IndexAny(header, "123456789"); i >= 0 {
		width = max(r.column, 0) + int(header[i]-'0')
	}
	lines := r.blockLines(width, strings.Contains(header, "+"))
	header = blockHeader(header, n.Value, lines)
	if comment != "" {
		header += " " + comment
	}
	return append([]string{header}, lines...)
}

// blockLines reads the lines of a block that are indented by width or, if width is negative, by the width of the first
// line. If keep is set, empty lines at the end belong to the block.
func (r *reader) blockLines(width int, keep bool) (lines []string) {
	empty, next := 0, r.at+1
	for next < len(r.text) {
		line, _, _ := bytes.Cut(r.text[next:], newline)
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if isEmpty := indent == len(line) && (width < 0 || indent <= width); isEmpty {
			empty++
			next += len(line) + 1
			continue
		}
		if width < 0 {
			width = indent
		}
		if indent < width || width <= r.column {
			break
		}
		lines = append(lines, make([]string, empty)...)
		lines = append(lines, string(line[width:]))
		empty, r.at = 0, next+len(line)
		next = r.at + 1
	}
	if keep && empty > 0 {
		lines = append(lines, make([]string, empty)...)
		r.at = min(next, len(r.text))
	}
	return lines
}

// blockHeader returns the header of a block that is indented by two spaces.
func blockHeader(old, value string, lines []string) string {
	header := old[:1]
	if i := slices.IndexFunc(lines, func(line string) bool { return line != "" }); i >= 0 && lines[i][0] == ' ' {
		header += "2"
	}
	switch {
	case strings.Contains(old, "+"):
		return header + "+"
	case strings.Contains(old, "-"), value != "" && !strings.HasSuffix(value, "\n"): // the file ends with the block
		return header + "-"
	}
	return header
}

// flow reads a list or mapping in brackets, and returns its lines and the indentation of the lines after the first.
func (r *reader) flow(n *yaml.Node) (lines []string, indent int) {
	start := r.at
	r.brackets(n)
	lines = strings.Split(string(r.text[start:min(r.at, len(r.text))]), "\n")
	least := -1
	for _, line := range lines[1:] {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent < len(line) && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i, line := range lines[1:] {
		lines[i+1] = strings.TrimRight(line[min(max(least, 0), len(line)):], " \t")
	}
	if least > r.column {
		return lines, 2
	}
	return lines, 0
}

// brackets reads a list or mapping in brackets. A mapping with a single pair needs no brackets in a list.
func (r *reader) brackets(n *yaml.Node) {
	ends := map[byte]byte{'[': ']', '{': '}'}
	end, bracketed := ends[r.next()]
	if n.Kind == yaml.MappingNode && end == ']' {
		bracketed = false // the key of the pair is a list
	}
	if bracketed {
		r.at++
	}
	for _, child := range n.Content {
		if isMissing(child) {
			continue
		}
		r.between(r.offset(child))
		r.properties(child)
		switch child.Kind {
		case yaml.AliasNode:
			r.aliases = true
			r.at += len("*") + len(child.Value)
		case yaml.ScalarNode:
			r.scalar(child, false)
		default:
			r.brackets(child)
		}
	}
	if bracketed {
		r.between(len(r.text))
		r.expect(end)
	}
}

// between reads the punctuation and comments within brackets, up to an offset.
func (r *reader) between(end int) {
	for r.remarks(); r.at < end && strings.IndexByte(",:?", r.next()) >= 0; r.remarks() {
		r.at++
	}
}
