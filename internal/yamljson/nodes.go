package yamljson

import "go.yaml.in/yaml/v4"

// Nodes finds where the nodes of a parsed text start. Its methods must not be called at once.
type Nodes struct {
	text  []byte
	lines []int         // where the lines start that the parser counts
	marks map[int][]int // by line: where every markedth character starts, as far as that was needed
}

// markedth is how many characters of a line are counted again and again: all of YAML may be on one line.
const markedth = 1024

// NewNodes returns where nodes of the text start, which must be as [Parse] returns it.
func NewNodes(text []byte) *Nodes { return &Nodes{text: text, lines: Lines(text)} }

// Offset returns where a node starts in the text. The parser counts characters.
func (p *Nodes) Offset(n *yaml.Node) int {
	line, characters := min(max(n.Line, 1), len(p.lines))-1, n.Column-1
	at := p.lines[line]
	if characters >= markedth {
		marks := p.marks[line]
		if marks == nil {
			marks = []int{at}
		}
		for len(marks) <= characters/markedth {
			last := marks[len(marks)-1]
			marks = append(marks, last+Characters(p.text[last:], markedth))
		}
		if p.marks == nil {
			p.marks = map[int][]int{}
		}
		p.marks[line] = marks
		at, characters = marks[characters/markedth], characters%markedth
	}
	return at + Characters(p.text[at:], characters)
}
