package yamljson

import "go.yaml.in/yaml/v4"

// Nodes finds the offsets of the nodes of a parsed text. Its methods must not be called concurrently.
type Nodes struct {
	text  []byte
	lines []int         // offsets of the lines that the parser counts
	marks map[int][]int // by line: the starts of characters, stride apart, as far as that was needed
}

// stride is the maximum number of characters that are counted again for each node: a document may have only one line.
const stride = 1024

// NewNodes returns the Nodes of a text that was returned by [Parse].
func NewNodes(text []byte) *Nodes {
	return &Nodes{text: text, lines: lines(text), marks: map[int][]int{}}
}

// Offset returns the offset of a node in the text. The parser counts characters.
func (p *Nodes) Offset(n *yaml.Node) int {
	line, count := min(max(n.Line, 1), len(p.lines))-1, n.Column-1
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
