package position

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// retries is how often a text with errors is cut short and parsed again.
const retries = 4

// parse returns the first document. With an error it is what can be parsed of the lines before that, or nil.
func parse(text []byte) (root *yaml.Node, err error) {
	root, err = load(text)
	failure := err
	for range retries {
		if failure == nil {
			break
		}
		text = before(text, failure)
		root, failure = load(text)
	}
	return root, err
}

func load(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc, yaml.WithSingleDocument()); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("no document")
	}
	return doc.Content[0], nil
}

// before returns the lines above the one that err is about, and always less than text.
func before(text []byte, err error) []byte {
	lines := yamlLines(text)
	last := len(lines) - 1
	if lines[last] == len(text) {
		last = max(last-1, 0)
	}
	var at *yaml.LoadError
	if errors.As(err, &at) && at.Mark.Line > 0 {
		last = min(last, at.Mark.Line-1)
	}
	return text[:lines[last]]
}

// yamlLines returns where the lines start that the parser counts. To YAML 1.1 more ends a line than a line feed.
func yamlLines(text []byte) []int {
	starts := []int{0}
	for i := 0; i < len(text); {
		size := lineBreak(text[i:])
		i += max(size, 1)
		if size > 0 {
			starts = append(starts, i)
		}
	}
	return starts
}

// lineBreak returns the length of the line break that text begins with, or 0.
func lineBreak(text []byte) int {
	switch {
	case text[0] == '\n':
		return 1
	case text[0] == '\r' && len(text) > 1 && text[1] == '\n':
		return 2
	case text[0] == '\r':
		return 1
	case text[0] < utf8.RuneSelf:
		return 0
	}
	for _, separator := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(text, []byte(separator)) {
			return len(separator)
		}
	}
	return 0
}
