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
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// encoded returns a value as JSON, the same for equal values.
func encoded(v any) jsontext.Value {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil { // it is made of texts, or was read from JSON
		panic(err)
	}
	return format.AppendCompact(nil, raw)
}

// decoded returns what valid JSON means.
func decoded(raw jsontext.Value) any {
	var v any
	if err := json.Unmarshal(raw, &v, document.Lenient); err != nil {
		panic(err)
	}
	return v
}

// spelled returns a key as an object spells it, which may be in another case.
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

// A style is how new text is written.
type style struct {
	yaml    bool
	flow    bool   // in brackets, which JSON always is
	broken  bool   // in JSON: each member on a line of its own
	indent  string // of the line that the value is in
	unit    string // by which a level is indented further
	compact bool   // in JSON: no blanks behind colons and commas
	dashed  bool   // in YAML: lists are indented further than their key
	quote   byte   // in YAML: around a value that is a text
	quotes  quotes // in YAML: around texts in the value
}

// quotes are those around texts, by the key that they or the list around them have; 0 is for plain texts. Those of ""
// are for others that cannot be plain.
type quotes map[string]byte

// append appends a value, whose first line continues a line. There is no line break at its end.
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
	escaped, err := jsontext.AppendFormat(nil, raw, jsontext.EscapeForJS(true)) // for U+2028 ends a line of YAML
	if err != nil {
		return nil, err
	}
	if err := yaml.Load(escaped, &doc); err != nil { // as JSON is YAML
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

// restyle gives nodes that were read from JSON the style, and texts in lists the quotes.
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

// isPlain reports whether a text means itself without quotes. The library does not know all words of YAML 1.1 that do
// not, such as y.
func isPlain(text string) bool {
	raw, err := yamljson.Append(nil, []byte(text))
	return err == nil && decoded(raw) == text || strings.Contains(text, "\n")
}

// A member is a key of an object and its value.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf returns the members of an object in their order.
func membersOf(raw jsontext.Value) (all []member) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if d.PeekKind() != jsontext.KindBeginObject {
		return nil
	}
	_, _ = d.ReadToken() // raw is valid
	for d.PeekKind() == jsontext.KindString {
		name, _ := d.ReadToken()
		key := name.String()
		value, _ := d.ReadValue()
		all = append(all, member{key, value.Clone()})
	}
	return all
}

// like returns an object with the order and spelling of keys that others in the list have.
func like(raw jsontext.Value, others []*node) jsontext.Value {
	var names []string            // in the order of the others
	at := func(name string) int { // the length for one that no other has
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		return cmp.Or(i+1, len(names)+1) - 1
	}
	for _, other := range others {
		for i, c := range other.children {
			if other.kind == object && at(c.name) == len(names) {
				names = slices.Insert(names, behind(names, other.children[:i]), c.name)
			}
		}
	}
	members := membersOf(raw)
	if len(members) == 0 {
		return raw
	}
	for i, m := range members {
		if k := at(m.name); k < len(names) {
			members[i].name = names[k]
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return at(a.name) - at(b.name) })
	return joined(members)
}

// behind returns the index behind the last of the names that the members have.
func behind(names []string, members []*node) int {
	for _, m := range slices.Backward(members) {
		if i := slices.Index(names, m.name); i >= 0 {
			return i + 1
		}
	}
	return 0
}

// joined returns the object with these members.
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

// listOf returns the list with one element.
func listOf(v jsontext.Value) jsontext.Value { return append(append(jsontext.Value{'['}, v...), ']') }
