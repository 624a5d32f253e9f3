package bundle

import (
	"bytes"
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// bundleObject returns the property that holds a manifest.
func bundleObject(printed []byte) declcfg.Property {
	const before, after = `{"data":"`, `"}`
	size := len(before) + base64.StdEncoding.EncodedLen(len(printed)) + len(after)
	value := append(make([]byte, 0, size), before...)
	value = base64.StdEncoding.AppendEncode(value, printed)
	value = append(value, after...)
	return declcfg.Property{Type: declcfg.PropertyBundleObject, Value: value, Ordered: true}
}

// printManifest returns a manifest as opm holds it: compact, the keys sorted at every level, <, > and & escaped in
// strings. Numbers keep their digits as in package format, but zero has no sign. It is valid until the next call.
func (p *parser) printManifest(manifest jsontext.Value) jsontext.Value {
	p.sorted = format.AppendCompact(p.sorted[:0], manifest)
	p.printed = appendHTML(p.printed[:0], unsignedZeros(p.sorted))
	return p.printed
}

// appendHTML appends text, which is compact JSON, to dst with the special characters of HTML escaped.
func appendHTML(dst, text []byte) []byte {
	b := bytes.NewBuffer(dst)
	jsonv1.HTMLEscape(b, text)
	return b.Bytes()
}

// unsignedZeros turns -0 into 0 in text, which is compact JSON and is overwritten.
func unsignedZeros(text []byte) []byte {
	if !mayHoldNegativeZero(text) {
		return text
	}
	kept, quoted, escaped := text[:0], false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == '-' && !quoted && isZero(text[i+1:]):
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// mayHoldNegativeZero reports whether text may contain -0, which hardly any manifest does.
func mayHoldNegativeZero(text []byte) bool {
	for _, before := range ":,[" {
		if bytes.Contains(text, []byte(string(before)+"-0")) {
			return true
		}
	}
	return false
}

// isZero reports whether text, the rest of an object, begins with the number 0.
func isZero(text []byte) bool {
	return len(text) > 1 && text[0] == '0' && bytes.IndexByte([]byte(",]}"), text[1]) >= 0
}
