package syntax

import (
	"bytes"
	"strings"
)

// scalar reads a scalar or an alias.
func (r *yamlReader) scalar(n *Node) {
	switch {
	case n.Alias != nil:
		r.at += len("*") + len(n.Value)
	case n.Quote != 0:
		r.quoted(n.Quote)
	case n.Block:
		r.block(n)
		return
	default:
		r.plain(n.Value)
	}
	if r.at > len(r.Text) {
		r.fail("cannot find the end of this value")
		r.at = len(r.Text)
	}
	n.To = r.at
}

// quoted reads a text in quotes. If it has no end, more than the text is read.
func (r *yamlReader) quoted(quote byte) {
	escape := []byte("''")
	if quote == '"' {
		escape = []byte(`\`)
	}
	for r.at++; r.at < len(r.Text); r.at++ {
		if bytes.HasPrefix(r.rest(), escape) {
			r.at++
		} else if r.Text[r.at] == quote {
			break
		}
	}
	r.at++
}

// plain reads a scalar without quotes. Its text is its value, except for line breaks and the blanks around them.
func (r *yamlReader) plain(value string) {
	const blanks = " \t\r\n"
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
		r.at = len(r.Text) - len(bytes.TrimLeft(r.rest(), blanks))
	}
}

// block reads a literal or folded block, and the comment in its first line.
func (r *yamlReader) block(out *Node) {
	for r.next() != 0 && strings.IndexByte("|>+-0123456789", r.next()) >= 0 {
		r.at++
	}
	header := string(r.Text[out.Body:r.at])
	if header == "" {
		r.fail("unsupported header of a block")
	}
	out.Comment = r.trailingComment()
	width := -1 // unknown
	if i := strings.IndexAny(header, "123456789"); i >= 0 {
		width = max(r.column, 0) + int(header[i]-'0')
	}
	r.blockLines(out, width, strings.Contains(header, "+"))
}

// blockLines reads the lines of a block that are indented by width or, if width is negative, by the width of the first
// line. If keep is set, empty lines at the end belong to the block, but the end of the node is before them.
func (r *yamlReader) blockLines(out *Node, width int, keep bool) {
	out.To = len(bytes.TrimRight(r.Text[:r.at], "\r"))
	empty, next := 0, r.at+1
	for next < len(r.Text) {
		line, _, _ := bytes.Cut(r.Text[next:], []byte("\n"))
		end := next + len(line)
		line = bytes.TrimSuffix(line, []byte("\r"))
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if isEmpty := indent == len(line) && (width < 0 || indent <= width); isEmpty {
			empty++
			next = end + 1
			continue
		}
		if width < 0 {
			width = indent
		}
		if indent < width || width <= r.column {
			break
		}
		out.Lines = append(out.Lines, make([]string, empty)...)
		out.Lines = append(out.Lines, string(line[width:]))
		empty, r.at, out.To = 0, end, next+len(line)
		next = end + 1
	}
	if keep && empty > 0 {
		out.Lines = append(out.Lines, make([]string, empty)...)
		r.at = min(next, len(r.Text))
	}
}
