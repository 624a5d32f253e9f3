package yamljson

import "go.yaml.in/yaml/v4"

// Nodes finds where the nodes of a parsed text start. Its methods must not be called at once.
type Nodes struct {
	text  []byte
	lines []int         // where the lines start that the parser counts
	marks map[int][]int // by line: the starts of characters, stride apart, as far as that was needed
}

// stride is how many characters of a line may be counted again for each node: all of a document may be on one line.
const stride = 1024

// NewNodes returns where nodes of the text start, which must be as [Parse] returns it.
func NewNodes(text []byte) *Nodes {
	return &Nodes{text: text, lines: lines(text), marks: map[int][]int{}}
}

// Offset returns where a node starts in the text. The parser counts characters.
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
