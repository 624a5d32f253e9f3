package syntax

import "bytes"

// A remark is a comment or an empty line.
type remark struct {
	text     string // "" for an empty line
	column   int    // counted from 0
	end      int    // the offset of the end of the text
	trailing bool   // on the line of the value or the punctuation before it
}

func texts(remarks []remark) []string {
	var all []string
	for _, r := range remarks {
		all = append(all, r.text)
	}
	return all
}

// remarks reads blanks and comments.
func (r *yamlReader) remarks() (all []remark) {
	isFirst := r.at < len(r.Text) && r.at > 0 && r.Text[r.at-1] != '\n'
	isEmpty := !isFirst
	for ; r.at < len(r.Text); r.at++ {
		switch r.Text[r.at] {
		case ' ', '\t', '\r':
		case '\n':
			if isEmpty {
				all = append(all, remark{end: r.at})
			}
			isFirst, isEmpty = false, true
		case '#':
			column := Column(r.Text, r.at)
			text := r.restOfLine()
			all = append(all, remark{text, column, r.at, isFirst})
			r.Comments = append(r.Comments, text)
			isEmpty = false
			r.at--
		default:
			return all
		}
	}
	return all
}

// trailingComment reads the comment at the end of the line. It returns "" if there is none.
func (r *yamlReader) trailingComment() string {
	r.blanks()
	if r.next() != '#' {
		return ""
	}
	text := r.restOfLine()
	r.Comments = append(r.Comments, text)
	return text
}

// blanks reads spaces and tabs.
func (r *yamlReader) blanks() {
	for r.next() == ' ' || r.next() == '\t' || r.next() == '\r' {
		r.at++
	}
}

// restOfLine reads the rest of the line.
func (r *yamlReader) restOfLine() string {
	size := bytes.IndexByte(r.Text[r.at:], '\n')
	if size < 0 {
		size = len(r.Text) - r.at
	}
	line := r.Text[r.at : r.at+size]
	r.at += size
	return string(bytes.TrimRight(line, " \t\r"))
}

// tail reads the comments at the end of a list or mapping. They are indented at least as far as it is, and further than
// the list or mapping around it, which is at column outer.
func (r *yamlReader) tail(outer int, out *Node) {
	start, count := r.at, len(r.Comments)
	all := r.remarks()
	r.at, r.Comments = start, r.Comments[:count]
	n := 0
	for i, c := range all {
		if c.text == "" {
			continue
		}
		if c.column < r.column || c.column <= outer {
			break
		}
		n, r.at = i+1, c.end
		r.Comments = append(r.Comments, c.text)
	}
	out.Tail = texts(all[:n])
}
