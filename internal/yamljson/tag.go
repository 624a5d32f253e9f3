package yamljson

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// resolve tells what a scalar node stands for: its kind, its text, and the JSON form of a number.
// Tags that YAML does not define and tags on collections mean nothing upstream.
func (w *walker) resolve(n *yaml.Node) (k kind, s, number string, err error) {
	switch tag := explicitTag(n); tag {
	case "":
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return kindText, n.Value, "", nil
		}
		k, number = resolve(n.Value)
		return k, n.Value, number, nil
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return 0, "", "", w.fail(n, "!!binary is not base64")
		}
		return kindText, replaceInvalid(data), "", nil
	case "!!null", "!!bool", "!!int", "!!float":
		k, number = resolve(n.Value)
		if !fits(k, number, tag) {
			return 0, "", "", w.fail(n, "%q is not of type %s", n.Value, tag)
		}
		return k, n.Value, number, nil
	case "!!timestamp":
		if !isTime(n.Value) {
			return 0, "", "", w.fail(n, "%q is not of type %s", n.Value, tag)
		}
	}
	return kindText, n.Value, "", nil
}

// explicitTag returns the tag that is written before a node in its short form, or "".
func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		return n.Tag
	}
	return ""
}

// isMerge reports whether a key is the merge key: plain << without a tag, or << with the tag ! or !!merge.
func isMerge(key *yaml.Node) bool {
	if key.Kind != yaml.ScalarNode || key.Value != "<<" {
		return false
	}
	return key.Tag == "!!merge" || key.Tag == "!"
}

// fits reports whether a scalar of kind k may have the tag. Upstream takes an integer for a float, unless it needs all
// of 64 bits unsigned.
func fits(k kind, number, tag string) bool {
	switch tag {
	case "!!null":
		return k == kindNull
	case "!!bool":
		return k == kindTrue || k == kindFalse
	case "!!int":
		return k == kindInteger
	}
	if k == kindInteger {
		_, err := strconv.ParseInt(number, 10, 64)
		return err == nil
	}
	return k == kindFloat || k == kindInfinite
}

// isTime reports whether s is a time in one of the forms that upstream knows.
func isTime(s string) bool {
	for _, layout := range []string{
		"2006-1-2T15:4:5.999999999Z07:00",
		"2006-1-2t15:4:5.999999999Z07:00",
		"2006-1-2 15:4:5.999999999",
		"2006-1-2",
	} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// replaceInvalid replaces each byte of data that is not UTF-8, as encoding/json does.
func replaceInvalid(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var b strings.Builder
	for _, r := range string(data) {
		b.WriteRune(r)
	}
	return b.String()
}
