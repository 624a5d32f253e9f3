package position

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// key returns what a key is called in JSON. It reports false for keys that cannot be one, such as lists and null.
func (t *yamlTree) key(n *yaml.Node) (string, bool) {
	n = target(n)
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	doc, ok := keyDocument(n)
	if !ok {
		return n.Value, true
	}
	key, known := t.keys[doc]
	if !known {
		key = convertKey(doc)
		t.keys[doc] = key
	}
	return key, key != noKey
}

// noKey marks a key that cannot be converted. No JSON string holds such a byte.
const noKey = "\xff"

// keyDocument returns the text of a mapping with that key alone. It reports false for keys that are text as they stand,
// as most are.
func keyDocument(n *yaml.Node) (string, bool) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		value, _ := jsontext.AppendQuote(nil, n.Value)
		return "? !<" + n.LongTag() + "> " + string(value) + "\n: 0\n", true
	case n.Style&quoted != 0, n.Tag == "!", isText(n.Value):
		return "", false
	}
	return n.Value + ": 0\n", true
}

// plainKey returns what a plain scalar without a tag is called in JSON as a key. It reports false if it cannot be one.
func plainKey(plain string) (string, bool) {
	if isText(plain) {
		return plain, true
	}
	key := convertKey(plain + ": 0\n")
	return key, key != noKey
}

// isText tells of a plain scalar that it is neither a number nor a word such as "false" or "~". It may miss some text.
func isText(plain string) bool {
	if plain != "" && isLetter(rune(plain[0])) {
		return !isWord(plain)
	}
	return strings.ContainsFunc(plain, isTextual)
}

// isWord tells of a scalar whether it is a word that stands for a truth value or null, in some spelling.
func isWord(plain string) bool {
	if len(plain) > len("false") {
		return false
	}
	switch strings.ToLower(plain) {
	case "y", "yes", "true", "on", "n", "no", "false", "off", "null":
		return true
	}
	return false
}

// isTextual tells of a character that no number and no such word holds.
func isTextual(r rune) bool { return !isLetter(r) && !strings.ContainsRune("0123456789+-._~", r) }

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// convertKey returns the only key of a YAML mapping, as reading a catalog would, or noKey.
func convertKey(doc string) string {
	converted, err := yamljson.Append(nil, []byte(doc))
	if err != nil {
		return noKey
	}
	d := jsontext.NewDecoder(bytes.NewReader(converted))
	if _, err := d.ReadToken(); err != nil {
		return noKey
	}
	key, err := d.ReadToken()
	if err != nil || key.Kind() != jsontext.KindString {
		return noKey
	}
	return key.String()
}
