package yamljson

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// maxDepth is how deep collections may nest. encoding/json, through which upstream reads, has the same limit.
const maxDepth = 10_000

var errDepth = errors.New("nested deeper than 10,000 levels")

// appendFull appends any document, whose characters have been checked.
func appendFull(dst, text []byte) ([]byte, error) {
	if holdsNothing(text) {
		return nil, ErrEmpty
	}
	body, err := untilEnd(text)
	if err != nil {
		return nil, err
	}
	w := walker{text: body, open: make(map[*yaml.Node]bool)}
	final, err := w.convert()
	if final {
		return nil, err
	}
	out, err := confirm(&w, err)
	if err != nil {
		return nil, err
	}
	return append(dst, out...), nil
}

// convert makes JSON of the text by way of its nodes. A final error holds whatever upstream says.
func (w *walker) convert() (final bool, err error) {
	root, final, err := parse(w.text)
	if err != nil {
		return final, err
	}
	err = w.value(root)
	return w.limited, err
}

// parse returns the root node of body, which holds something. What follows after a root in brackets, in quotes or
// further right vanishes upstream, as after a line `...`, and as there it is a final error.
func parse(body []byte) (root *yaml.Node, final bool, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(body), yaml.WithPlugin(loaderlimits.New(
		loaderlimits.AliasNone(), // the walker has its own limit
		loaderlimits.DepthFunc(checkDepth),
	)))
	if err != nil {
		return nil, true, err
	}
	var doc yaml.Node
	err = loader.Load(&doc)
	if err == nil {
		return doc.Content[0], false, nil
	}
	failure := syntaxError(body, err)
	switch failure.Msg {
	case "did not find expected <document start>":
		failure.Msg = "content after the end of the document"
		return nil, true, failure
	case errDepth.Error():
		return nil, true, failure
	}
	return nil, false, failure
}

func checkDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errDepth
	}
	return nil
}

// syntaxError is an error of the YAML parser with its place in text. An error at the end of the text is moved to the
// beginning of what has no end, which is where to look.
func syntaxError(text []byte, err error) *Error {
	var syntax *yaml.LoadError
	if !errors.As(err, &syntax) {
		return &Error{Line: 1, Column: 1, Msg: err.Error()}
	}
	offset := offsetOf(text, syntax.Mark.Line, syntax.Mark.Column)
	if isBlank(text[offset:]) && syntax.ContextMark.Line > 0 {
		offset = offsetOf(text, syntax.ContextMark.Line, syntax.ContextMark.Column)
	}
	switch {
	case syntax.Message == errDepth.Error(), syntax.ContextMsg == "":
		return errorAt(text, offset, syntax.Message)
	case offset < len(text) && text[offset] == '\t':
		return errorAt(text, offset, "a tab, where only spaces may indent")
	}
	return errorAt(text, offset, syntax.ContextMsg+": "+syntax.Message)
}
