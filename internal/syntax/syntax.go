// Package syntax reads a YAML or JSON text that people edit as one tree: each value with its position, its style and
// the comments around it.
//
//	tree, err := syntax.Parse([]byte("name: kiln # of clay\n"), true)
//	path := tree.Root.Find("/name")
//	name := path[len(path)-1] // {Name: "name", Start: 0, From: 6, To: 10, Comment: "# of clay", …}
//
// The YAML library reports the value and the start of each node. Its end, its comments and the punctuation around it
// are read from the text, in which nothing else may be between two nodes.
package syntax

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is the kind of a node: a scalar, a list or an object. An alias is a scalar.
type Kind byte

// The kinds of nodes.
const (
	Scalar Kind = iota
	List
	Object
)

// A Tree is the tree of one JSON value or YAML document.
type Tree struct {
	Text     []byte // that the offsets in nodes refer to
	Root     *Node
	Comments []string // of YAML: all comments, in the order of the text
	Aliases  bool     // the document has aliases
}

// A Node is a value of a text. Offsets are in bytes.
type Node struct {
	Kind     Kind
	Flow     bool   // in brackets or braces, like all JSON
	Block    bool   // a literal or folded block of YAML
	Quote    byte   // around a scalar: ', " or 0
	Value    string // of a string, or of any scalar in YAML, without quotes and escapes
	Children []*Node

	Name string // in JSON, of a member of an object
	Key  *Node  // of a member; nil for others

	Start    int // of the key of a member, the dash of an element, or otherwise the value
	From, To int // of the value; To is the offset after its last character. Both are equal if the value is missing
	Body     int // start of the value after its anchor and tag

	*Around // never nil; all JSON shares one, which must not be changed
}

// Around has the parts around a value that only YAML has. Large files are JSON: with these fields in each of its nodes,
// their trees would take more than twice the memory.
type Around struct {
	Props  string // the anchor and the tag
	Shared string // why the text has a meaning elsewhere: an anchor, an alias, a merge or a tag; "" if it has none
	Alias  *Node  // of an alias, the value that it refers to
	Merge  bool   // the key is a merge key

	props int // maximum number of properties in Props

	// Comments are lines; "" is an empty line.

	Head    []string // above the key or dash
	Lead    []string // before the first child
	Tail    []string // after the last child or, for the root, at the end of the text
	Comment string   // at the end of the line of the value or, for a list or object in block style, of its key

	Lines []string // of a block: the lines after the first, without their common indentation
}

var byteOrderMark = []byte("\ufeff")

// An Error is a problem at an offset of a text.
type Error struct {
	At  int
	Msg string
}

func (e *Error) Error() string { return e.Msg }

// Parse returns the tree of a JSON value, or of a YAML document that [yamljson.Append] accepts. The error is an
// [*Error] for a valid text with an unsupported layout.
func Parse(text []byte, yaml bool) (*Tree, error) {
	if yaml {
		return parseYAML(text)
	}
	r := NewJSONReader(text)
	at, _ := r.Next()
	root, err := r.node(at)
	return &Tree{Text: text, Root: root}, err
}

// Find returns the nodes on the path to the value at ptr, starting with n. The path is incomplete if there is no such
// value. Keys match in any case, as in decoding.
func (n *Node) Find(ptr jsontext.Pointer) []*Node {
	path := []*Node{n}
	for token := range ptr.Tokens() {
		if n = n.Child(token); n == nil {
			break
		}
		path = append(path, n)
	}
	return path
}

// Child returns the element with an index, or the member with a name; nil if there is none. An exact name wins over one
// in another case.
func (n *Node) Child(token string) *Node {
	if n.Kind == List {
		if i, ok := Index(token); ok && i < len(n.Children) {
			return n.Children[i]
		}
		return nil
	}
	var folded *Node
	for _, c := range n.Children {
		if c.Name == token {
			return c
		}
		if strings.EqualFold(c.Name, token) {
			folded = c
		}
	}
	return folded
}

// Index returns the index of an element that a token of a pointer refers to. It reports false for other tokens.
func Index(token string) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && token == strconv.Itoa(i)
}

// Last returns the last child; n must have one.
func (n *Node) Last() *Node { return n.Children[len(n.Children)-1] }

// InBlockStyle reports whether n is a list or an object without brackets.
func (n *Node) InBlockStyle() bool { return n.Kind != Scalar && !n.Flow }

// LineStart returns the start of the line that contains an offset.
func LineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// LineEnd returns the end of the line that contains an offset, after its line break.
func LineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// Column returns the column of an offset in its line in bytes, counted from 0. A byte order mark has no column.
func Column(text []byte, at int) int {
	return len(bytes.TrimPrefix(text[LineStart(text, at):at], byteOrderMark))
}
