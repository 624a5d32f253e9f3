package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// encoded returns a value as JSON; equal values give equal bytes.
func encoded(v any) jsontext.Value {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil { // impossible: the value is made of strings, or was decoded from JSON
		panic(err)
	}
	return format.AppendCompact(nil, raw)
}

// decoded decodes valid JSON.
func decoded(raw jsontext.Value) any {
	var v any
	if err := json.Unmarshal(raw, &v, document.Lenient); err != nil {
		panic(err)
	}
	return v
}

// spelled returns a key as an object spells it, which may differ in case.
func spelled(members map[string]any, name string) string {
	if _, ok := members[name]; ok {
		return name
	}
	for key := range members {
		if strings.EqualFold(key, name) {
			return key
		}
	}
	return name
}

// A style is the layout of new text.
type style struct {
	yaml    bool
	flow    bool   // in brackets or braces, like all JSON
	broken  bool   // in JSON: each member on its own line
	indent  string // of the line that contains the value
	unit    string // indent of one more level
	compact bool   // in JSON: no blanks after colons and commas
	dashed  bool   // in YAML: lists are indented further than their key
	quote   byte   // in YAML: around a scalar string value
	quotes  quotes // in YAML: around strings inside the value
}

// quotes are the quotes around strings, by the key of the string or of the list around it; 0 means plain. The key "" is
// for all other strings that cannot be plain.
type quotes map[string]byte

// append appends a value, starting in the middle of a line. It adds no line break at the end.
func (s style) append(dst []byte, raw jsontext.Value) ([]byte, error) {
	if s.yaml {
		return s.appendYAML(dst, raw)
	}
	opts := []jsontext.Options{jsontext.SpaceAfterColon(!s.compact), jsontext.SpaceAfterComma(!s.compact)}
	if s.broken {
		opts = []jsontext.Options{jsontext.WithIndentPrefix(s.indent), jsontext.WithIndent(s.unit)}
	}
	return jsontext.AppendFormat(dst, raw, opts...)
}

func (s style) appendYAML(dst []byte, raw jsontext.Value) ([]byte, error) {
	var doc yaml.Node
	escaped, err := jsontext.AppendFormat(nil, raw, jsontext.EscapeForJS(true)) // in YAML, U+2028 ends a line
	if err != nil {
		return nil, err
	}
	if err := yaml.Load(escaped, &doc); err != nil { // JSON is valid YAML
		return nil, err
	}
	s.restyle(&doc, s.quote)
	printed, err := yaml.Dump(&doc, yaml.WithIndent(len(s.unit)), yaml.WithCompactSeqIndent(!s.dashed),
		yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.SplitAfter(bytes.TrimSuffix(printed, []byte("\n")), []byte("\n")) {
		if i > 0 && len(bytes.TrimSpace(line)) > 0 {
			dst = append(dst, s.indent...)
		}
		dst = append(dst, line...)
	}
	return dst, nil
}

// restyle applies the style to nodes that were read from JSON, and the quote to the strings in a list.
func (s style) restyle(n *yaml.Node, quote byte) {
	isText := n.Style&yaml.DoubleQuotedStyle != 0
	n.Style = 0
	switch {
	case n.Kind != yaml.ScalarNode && (s.flow || len(n.Content) == 0):
		n.Style = yaml.FlowStyle
	case isText && quote == '\'':
		n.Style = yaml.SingleQuotedStyle
	case isText && quote == '"', isText && !isPlain(n.Value) && s.quotes[""] == '"':
		n.Style = yaml.DoubleQuotedStyle
	case isText && !isPlain(n.Value):
		n.Style = yaml.SingleQuotedStyle
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			s.restyle(c, quote)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		s.restyle(n.Content[i], 0)
		s.restyle(n.Content[i+1], s.quotes[strings.ToLower(n.Content[i].Value)])
	}
}

// isPlain reports whether a string needs no quotes in YAML. The YAML library does not know all words of YAML 1.1 that
// need quotes, such as y.
func isPlain(text string) bool {
	raw, err := yamljson.Append(nil, []byte(text))
	return err == nil && decoded(raw) == text || strings.Contains(text, "\n")
}

type member struct {
	name  string
	value jsontext.Value
}

// like returns an object with its keys in the order and the spelling of the other elements of its list.
func like(raw jsontext.Value, others []*syntax.Node) jsontext.Value {
	var names []string            // in the order of the other elements
	at := func(name string) int { // len(names) if no other element has it
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		return cmp.Or(i+1, len(names)+1) - 1
	}
	for _, other := range others {
		for i, c := range other.Children {
			if other.Kind == syntax.Object && at(c.Name) == len(names) {
				names = slices.Insert(names, behind(names, other.Children[:i]), c.Name)
			}
		}
	}
	if raw.Kind() != jsontext.KindBeginObject {
		return raw
	}
	var members []member
	for name, value := range document.Children(raw) {
		if k := at(name); k < len(names) {
			name = names[k]
		}
		members = append(members, member{name, value.Clone()})
	}
	slices.SortStableFunc(members, func(a, b member) int { return at(a.name) - at(b.name) })
	return joined(members)
}

// behind returns the index after the last member that is in names.
func behind(names []string, members []*syntax.Node) int {
	for _, m := range slices.Backward(members) {
		if i := slices.Index(names, m.Name); i >= 0 {
			return i + 1
		}
	}
	return 0
}

func joined(members []member) jsontext.Value {
	raw := jsontext.Value{'{'}
	for i, m := range members {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw, _ = jsontext.AppendQuote(raw, m.name) // it was read from JSON
		raw = append(append(raw, ':'), m.value...)
	}
	return append(raw, '}')
}
