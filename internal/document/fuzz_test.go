package document

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// offset returns the offset of a place, going through the text character by character.
func offset(text []byte, p Place) int {
	line, column := 1, 1
	for i, r := range string(text) {
		if (Place{line, column}) == p {
			return i
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	if (Place{line, column}) == p {
		return len(text)
	}
	return -1
}

// checkInside looks up pointers that may or may not exist, and checks that all places are in the text.
func checkInside(t *testing.T, d *Document, text []byte, ptr jsontext.Pointer) {
	t.Helper()
	if v := d.Find(ptr)[0]; offset(text, v.Place) < 0 || offset(text, v.Key) < 0 {
		t.Fatalf("%q: %q at %v, which is outside", text, ptr, v)
	}
	for dup := range d.Duplicates() {
		if offset(text, dup.First) < 0 || offset(text, dup.Repeat) <= offset(text, dup.First) {
			t.Fatalf("%q: %v", text, dup)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("{\n \"a\": [1, {\"é\": null}],\r\n\t\"b\": {\"c\": \"d\"}}", "/a/1/é")
	f.Add(`{"a":{"x":1},"a":{"y":[2,3]},"a":{}}`, "/a/y/1")
	f.Add(`{"a":{"b":1,"c":[2,`, "/a/c/0")
	f.Add("\ufeff[\"\\u0000\",{\"/~\":{\"\":1e400}}]", "/1/~1~0/")
	f.Add("{\"\xff\":1,\"\xfe\":2", "x")
	f.Fuzz(func(t *testing.T, doc, ptr string) {
		d := inJSON(doc)
		if text := strings.TrimPrefix(doc, "\ufeff"); isUTF8(text) {
			checkInside(t, d, []byte(text), jsontext.Pointer(ptr))
			checkVisited(t, d, []byte(text))
		}
	})
}

// isUTF8 reports whether characters can be counted by ranging over a text.
func isUTF8(text string) bool { return strings.ToValidUTF8(text, "") == text }

// checkVisited compares places with the pointers and offsets of the decoder. A value must be found there, unless an
// equal key follows.
func checkVisited(t *testing.T, d *Document, text []byte) {
	t.Helper()
	want := make(map[jsontext.Pointer]int)
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isKey := kind == '{' && length%2 == 1
		switch {
		case isKey:
			forget(want, dec.StackPointer())
		case token.Kind() == '}' || token.Kind() == ']':
		default:
			raw := int(dec.InputOffset()) - len(token.String())
			if token.Kind() == '"' {
				raw = startOfString(text, int(dec.InputOffset()))
			}
			want[dec.StackPointer()] = raw
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	for ptr, at := range want {
		if v := d.Find(ptr)[0]; !v.Found || offset(text, v.Place) != at {
			t.Fatalf("%q: %q at %v, want offset %d", text, ptr, v, at)
		}
	}
}

// forget removes the values that an equal key replaces.
func forget(want map[jsontext.Pointer]int, ptr jsontext.Pointer) {
	for earlier := range want {
		if ptr.Contains(earlier) {
			delete(want, earlier)
		}
	}
}

// startOfString returns the offset of the opening quote of the string that ends at an offset.
func startOfString(text []byte, end int) int {
	for i := end - 2; ; i-- {
		slashes := i
		for slashes > 0 && text[slashes-1] == '\\' {
			slashes--
		}
		if text[i] == '"' && (i-slashes)%2 == 0 {
			return i
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("a: 1\nb:\n- c\n- d: 'e'\n", "/b/1/d")
	f.Add("x: &x {a: 1, b: 2}\ny: &y {b: 3}\nz:\n  b: 5\n  <<: [*x, *y]\n  c: *x\n", "/z/a")
	f.Add("a: &a\n  <<: [*a, *a]\n  b: &b [*b]\n", "/a/b/0/0/x")
	f.Add("y: 1\n0x10: 2\n1.50: 3\n! \"on\": 4\n!!str 07: 5\n~: 6\n? [l]\n: 7\n", "/true")
	f.Add("\ufeff---\r\né: {é: ü, z: }\r\nb: \"\u2028\"\r\n", "/é/é")
	f.Add("a: 1\nb: [\nc", "/a")
	f.Add("k: |\n  text\nl: >-\n\n m\n? *k\n", "/l")
	f.Fuzz(func(t *testing.T, doc, ptr string) {
		text, ok := convertible(doc)
		if !ok {
			return
		}
		sameAsYAML(t, []byte(doc))
		for _, d := range []*Document{inYAML(doc), inNodes(doc)} {
			checkInside(t, d, text, jsontext.Pointer(ptr))
			if read := d.from.root != nil || d.from.json != nil; read && !disputed.MatchString(doc) {
				checkConverted(t, d, doc)
			}
		}
	})
}

// disputed matches texts that the two YAML libraries are known to read differently: in flow style, a colon without a
// blank after it, and text after the end of a document.
var disputed = regexp.MustCompile(`\s:|:[^\s]|(?m:^\.\.\.)`)

// convertible returns a YAML document without its byte order mark. It reports false for a document that the converter
// rejects, which has no places.
func convertible(doc string) (text []byte, ok bool) {
	_, err := yamljson.Append(nil, []byte(doc))
	doc = strings.TrimPrefix(doc, "\ufeff")
	return []byte(doc), err == nil && isUTF8(doc)
}

// checkConverted looks up every value of the output of sigs.k8s.io/yaml. Scalars of letters and digits must be at their
// place, unless they are quoted, tagged, anchored or aliases.
func checkConverted(t *testing.T, d *Document, doc string) {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		return
	}
	text := []byte(strings.TrimPrefix(doc, "\ufeff"))
	dec := json.NewDecoder(bytes.NewReader(converted))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if v == nil {
		return
	}
	var ptrs []jsontext.Pointer
	var values []any
	each("", v, func(ptr jsontext.Pointer, value any) {
		ptrs, values = append(ptrs, ptr), append(values, value)
	})
	for i, v := range d.Find(ptrs...) {
		if !v.Found {
			t.Fatalf("%q: no %q", doc, ptrs[i])
		}
		rest := text[offset(text, v.Place):]
		if s, isString := values[i].(string); isString && isPlain(s) && !bytes.HasPrefix(rest, []byte(s)) &&
			(len(rest) == 0 || !strings.ContainsRune("'\"|>&*!", rune(rest[0]))) {
			t.Fatalf("%q: %q is %q, but at %v is %q", doc, ptrs[i], s, v.Place, rest)
		}
	}
}

func isPlain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r > 'z' || r < '0' })
}

func each(ptr jsontext.Pointer, v any, visit func(jsontext.Pointer, any)) {
	visit(ptr, v)
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			each(ptr.AppendToken(key), child, visit)
		}
	case []any:
		for i, child := range v {
			each(ptr.AppendToken(strconv.Itoa(i)), child, visit)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	text := `[` + strings.Repeat(`{"schema":"olm.bundle","properties":[{"type":"a","value":{}}]},`, 100_000) + `0]`
	var ptrs []jsontext.Pointer
	for i := range 1000 {
		ptrs = append(ptrs, jsontext.Pointer("/"+strconv.Itoa(100*i)+"/properties/0/value"))
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range inJSON(text).Find(ptrs...) {
			if !v.Found {
				b.Fatal("not found")
			}
		}
	}
}

func BenchmarkDuplicates(b *testing.B) {
	text := `[` + strings.Repeat(`{"schema":"olm.bundle","properties":[{"type":"a","value":{}}]},`, 100_000) + `0]`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for range inJSON(text).Duplicates() {
			b.Fatal("duplicates")
		}
	}
}
