package yamljson

import (
	"bytes"

	"go.yaml.in/yaml/v4"
)

// Parse returns the root node of a document that [Append] accepts, and a function that returns the offset of a node in
// doc. Calls of the function must not be concurrent.
func Parse(doc []byte) (root *yaml.Node, offset func(*yaml.Node) int, err error) {
	text := bytes.TrimPrefix(doc, []byte(byteOrderMark))
	body, err := untilEnd(ended(text))
	if err != nil {
		return nil, nil, err
	}
	root, _, err = parse(body)
	p, mark := newPositions(text), len(doc)-len(text)
	return root, func(n *yaml.Node) int { return mark + p.offset(n.Line, n.Column) }, err
}

// Positions find the offsets of lines and columns of the YAML parser.
type positions struct {
	text  []byte
	lines []int         // offsets of the lines that the parser counts
	marks map[int][]int // by line: the starts of characters, stride apart, as far as that was needed
}

// stride is the maximum number of characters that are counted again for each node: a document may have only one line.
const stride = 1024

func newPositions(text []byte) *positions {
	p := &positions{text: text, lines: []int{0}, marks: map[int][]int{}}
	for at := 0; at < len(text); {
		at += lineLength(text[at:])
		p.lines = append(p.lines, at)
	}
	return p
}

// offsetOf returns the offset of a line and column of the YAML parser.
func offsetOf(text []byte, line, column int) int { return newPositions(text).offset(line, column) }

// offset returns the offset of a line and column. The parser counts characters.
func (p *positions) offset(line, column int) int {
	line, count := min(max(line, 1), len(p.lines))-1, column-1
	at := p.lines[line]
	if count >= stride {
		marks := p.marks[line]
		if marks == nil {
			marks = []int{at}
		}
		for len(marks) <= count/stride {
			last := marks[len(marks)-1]
			marks = append(marks, last+characters(p.text[last:], stride))
		}
		p.marks[line] = marks
		at, count = marks[count/stride], count%stride
	}
	return at + characters(p.text[at:], count)
}
