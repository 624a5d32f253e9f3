package yamljson

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
	upstream "sigs.k8s.io/yaml"
)

// maxDepth is the maximum nesting depth of collections. encoding/json, which upstream uses, has the same limit.
const maxDepth = 10_000

var errDepth = errors.New("nested deeper than 10,000 levels")

// appendSlow appends any document, whose characters have been checked, as the JSON from sigs.k8s.io/yaml. The nodes of
// yaml/v4 are for the places of errors, and for problems that sigs.k8s.io/yaml does not detect: dropped content,
// aliases that expand without end, and repeated keys.
func appendSlow(dst, text []byte, expanded *int) (out []byte, repeated bool, err error) {
	if isEmptyText(text) {
		return nil, false, ErrEmpty
	}
	body, err := untilEnd(text)
	if err != nil {
		return nil, false, err
	}
	if err := checkLength(body); err != nil {
		return nil, false, err
	}
	if expanded == nil {
		expanded = new(int)
	}
	c := checker{text: body, anchors: make(map[*yaml.Node]*extent), expanded: *expanded}
	err = c.document()
	*expanded = c.expanded
	if c.final || err != nil && mayHaveAliases(body) {
		return nil, false, err // upstream does not limit the size of expanded aliases
	}
	converted, upstreamErr := upstream.YAMLToJSON(body)
	switch {
	case upstreamErr == nil: // only yaml/v4 refuses the document, and upstream decides
		return append(dst, converted...), c.repeated, nil
	case err != nil:
		return nil, false, err // of the two it has the better place
	}
	return nil, false, upstreamError(body, upstreamErr.Error())
}

// maxValues is the maximum number of values in a document for the slow reader, which needs 250 bytes of memory and
// three microseconds for each. It is a variable for tests.
var maxValues = 1_000_000

// checkLength refuses a document with too many values, or with as many lines, commas and so on in a text.
func checkLength(text []byte) error {
	values := 0
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			values++
		case ' ':
			if i > 0 && (text[i-1] == '-' || text[i-1] == ':') {
				values++
			}
		}
		if values > maxValues {
			return errorAt(text, i, "more than 1,000,000 values in a document with brackets, anchors or tags; "+
				"write it without them, or as JSON")
		}
	}
	return nil
}

func mayHaveAliases(body []byte) bool {
	return bytes.IndexByte(body, '&') >= 0 && bytes.IndexByte(body, '*') >= 0
}

// parse returns the root node of body, which has content. Upstream drops content after a root in brackets, in quotes or
// further right, as after a line `...`; in both cases it is a final error.
func parse(body []byte) (root *yaml.Node, final bool, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(body), yaml.WithPlugin(loaderlimits.New(
		loaderlimits.AliasNone(), // the checker has its own limit
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
	if found := Conflict(body); found != nil && failure.Msg != errDepth.Error() {
		return nil, false, found
	}
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

// syntaxError returns an error of the YAML parser with its place in text. An error at the end of the text is moved to
// the start of the unterminated value.
func syntaxError(text []byte, err error) *Error {
	var syntax *yaml.LoadError
	if !errors.As(err, &syntax) {
		return &Error{Line: 1, Column: 1, Msg: err.Error()}
	}
	offset := offsetOf(text, syntax.Mark.Line, syntax.Mark.Column)
	isKey := syntax.ContextMsg == "while scanning a simple key" // whose colon the parser looks for in the lines below
	if (isKey || isBlank(text[offset:])) && syntax.ContextMark.Line > 0 {
		offset = offsetOf(text, syntax.ContextMark.Line, syntax.ContextMark.Column)
	}
	switch {
	case syntax.Message == errDepth.Error():
		return errorAt(text, offset, syntax.Message)
	case syntax.ContextMsg == "":
		return errorAt(text, offset, syntax.Message+mend(text, offset, syntax.Message))
	case offset < len(text) && text[offset] == '\t':
		return errorAt(text, offset, "a tab, where only spaces may indent")
	}
	msg := syntax.ContextMsg + ": " + syntax.Message
	return errorAt(text, offset, msg+mend(text, offset, msg))
}

var upstreamMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// upstreamError returns an error of upstream with a place: the first tab of its line, the most common reason, or else
// the first character.
func upstreamError(body []byte, msg string) error {
	offset := 0
	if m := upstreamMessage.FindStringSubmatch(msg); m != nil {
		line, _ := strconv.Atoi(m[1])
		offset, msg = offsetOf(body, line, 1), m[2]
	}
	line := firstLine(body[offset:])
	if tab := bytes.IndexByte(line, '\t'); tab >= 0 {
		return errorAt(body, offset+tab, "a tab, where YAML 1.1 takes only spaces")
	}
	return errorAt(body, offset+len(line)-len(bytes.TrimLeft(line, " ")), msg)
}
