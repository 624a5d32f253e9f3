package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var start = Place{1, 1}

func inJSON(text string) *Document { return &Document{Text: []byte(text), Start: start} }

func inYAML(text string) *Document { return &Document{Text: []byte(text), Start: start, YAML: true} }

// inNodes is inYAML, as if the text were not in block style.
func inNodes(text string) *Document {
	d := inYAML(text)
	d.from = nodesOf(d.Text)
	return d
}

// at is the expected result for one pointer. A place without a line means that the pointer is not found; near is then
// the place of the nearest value.
type at struct {
	ptr              jsontext.Pointer
	value, key, near Place
}

func check(t *testing.T, d *Document, text string, want []at) {
	t.Helper()
	var ptrs []jsontext.Pointer
	for _, w := range want {
		ptrs = append(ptrs, w.ptr)
	}
	for i, got := range d.Find(ptrs...) {
		w := want[i]
		if got.Found != (w.value != Place{}) {
			t.Errorf("%q: %q: found %v", text, w.ptr, got.Found)
		}
		if !got.Found {
			w.value, w.key = w.near, w.near
		}
		if got.Place != w.value || got.Key != w.key {
			t.Errorf("%q: %q: value at %v, key at %v, want %v and %v", text, w.ptr, got.Place, got.Key, w.value, w.key)
		}
		if alone := d.Find(w.ptr)[0]; alone != got {
			t.Errorf("%q: %q: asked for alone it is at %v, among others at %v", text, w.ptr, alone, got)
		}
	}
}

func found(ptr jsontext.Pointer, valueLine, valueColumn, keyLine, keyColumn int) at {
	return at{ptr: ptr, value: Place{valueLine, valueColumn}, key: Place{keyLine, keyColumn}}
}

func missing(ptr jsontext.Pointer, line, column int) at {
	return at{ptr: ptr, near: Place{line, column}}
}

func TestJSON(t *testing.T) {
	for _, test := range []struct {
		text string
		want []at
	}{
		{"{\n  \"a\": 1,\n\t\"b\" : [true, {\"c\": null}]\n}\n", []at{
			found("", 1, 1, 1, 1),
			found("/a", 2, 8, 2, 3),
			found("/b", 3, 8, 3, 2),
			found("/b/0", 3, 9, 3, 9),
			found("/b/1", 3, 15, 3, 15),
			found("/b/1/c", 3, 21, 3, 16),
			missing("/c", 1, 1),
			missing("/b/2", 3, 8),
			missing("/b/01", 3, 8),
			missing("/b/-1", 3, 8),
			missing("/b/c", 3, 8),
			missing("/b/1/d/e", 3, 15),
			missing("/a/0", 2, 8),
			missing("no slash", 1, 1),
		}},
		{"{\r\n\"é\": \"ü\", \"日本\": 1}\r\n", []at{found("/é", 2, 6, 2, 1), found("/日本", 2, 17, 2, 11)}},
		{"\ufeff {\"a\":1}", []at{found("", 1, 2, 1, 2), found("/a", 1, 7, 1, 3)}},
		{`{"a":{"x":1},"a":{"y":2}}`, []at{found("/a/y", 1, 23, 1, 19), missing("/a/x", 1, 18)}},
		{`{"\u0061/~":1,"":{"":2}}`, []at{found("/a~1~0", 1, 13, 1, 2), found("/", 1, 18, 1, 15), found("//", 1, 22, 1, 19)}},
		{"{\"a\xff\":1}", []at{found("/a\ufffd", 1, 7, 1, 2)}},
		{"17", []at{found("", 1, 1, 1, 1), missing("/0", 1, 1)}},
		{"{} {\"a\":1}", []at{missing("/a", 1, 1)}},

		{`{"a":{"b":1,"c":[2,`, []at{found("/a/b", 1, 11, 1, 7), found("/a/c/0", 1, 18, 1, 18), missing("/a/c/1", 1, 17)}},
		{`{"a":1,,"b":2}`, []at{found("/a", 1, 6, 1, 2), missing("/b", 1, 1)}},
		{`{"a":1 "b":2}`, []at{found("/a", 1, 6, 1, 2), missing("/b", 1, 1)}},
		{`{"a":tru,"b":2}`, []at{found("/a", 1, 6, 1, 2), missing("/b", 1, 1)}},
		{`{"a"`, []at{missing("/a", 1, 1)}},
	} {
		check(t, inJSON(test.text), test.text, test.want)
	}
}

func TestYAML(t *testing.T) {
	for _, test := range []struct {
		text string
		want []at
	}{
		{"schema: olm.channel\nentries:\n- name: a\n  skips: [b, {c: d}]\n- name:\t\te\n", []at{
			found("", 1, 1, 1, 1),
			found("/schema", 1, 9, 1, 1),
			found("/entries", 3, 1, 2, 1),
			found("/entries/0", 3, 3, 3, 3),
			found("/entries/0/name", 3, 9, 3, 3),
			found("/entries/0/skips/1/c", 4, 18, 4, 15),
			found("/entries/1/name", 5, 10, 5, 3),
			missing("/entries/2/name", 3, 1),
			missing("/entries/name", 3, 1),
			missing("/schema/x", 1, 9),
		}},
		{"--- # c\n\na: |\n  text\nb:\nc: >-\n", []at{
			found("/a", 3, 4, 3, 1), found("/b", 5, 3, 5, 1), found("/c", 6, 4, 6, 1),
		}},
		{"\ufeff---\r\né: {é: ü, z: 1}\r\nb: 2\r\n", []at{
			found("/é/é", 2, 8, 2, 5), found("/é/z", 2, 14, 2, 11), found("/b", 3, 4, 3, 1),
		}},
		{"\ufeffa: 1", []at{found("/a", 1, 4, 1, 1)}},
		{"a: 'x\u0085y'\nb: \"p\u2028q\"\nc: 1\n", []at{found("/b", 2, 4, 2, 1), found("/c", 3, 4, 3, 1)}},
		{"a: 1\rb: 2\n", []at{found("/b", 1, 9, 1, 6)}},

		{"y: 1\n0x10: 2\n1.50: 3\n'n': 4\n!!str 07: 5\n! on: 6\nOFF: 7\n.inf: 8\n0o7: 9\n", []at{
			found("/16", 2, 7, 2, 1), found("/1.5", 3, 7, 3, 1), found("/n", 4, 6, 4, 1),
			found("/07", 5, 11, 5, 1), found("/on", 6, 7, 6, 1), found("/true", 1, 4, 1, 1), found("/false", 7, 6, 7, 1),
			found("/.inf", 8, 7, 8, 1), found("/7", 9, 6, 9, 1), missing("/y", 1, 1), missing("/0x10", 1, 1),
		}},
		{"? [l]\n: 1\n~: 2\nc: 3\nd:: 4\n-: 5\n", []at{
			found("/d:", 5, 5, 5, 1), found("/-", 6, 4, 6, 1), found("/c", 4, 4, 4, 1),
			missing("/~0", 1, 1), missing("/null", 1, 1)}},
		{"a: {x: 1}\na: {z: 2}\n3: 3\n\"3\": 4\n", []at{
			found("/a/z", 2, 8, 2, 5), missing("/a/x", 2, 4), found("/3", 4, 6, 4, 1),
		}},

		{"a: &x {b: 1}\nc: *x\nd: [*x]\n&k e: 1\n", []at{
			found("/c", 2, 4, 2, 1), found("/c/b", 1, 11, 1, 8), found("/d/0", 3, 5, 3, 5), found("/d/0/b", 1, 11, 1, 8),
		}},
		{"&k a: {*k : 1}\n", []at{found("/a/a", 1, 13, 1, 8)}},
		{"x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  b: 5\n  <<: [*x, *y]\n  c: 6\n", []at{
			found("/z/a", 1, 11, 1, 8), found("/z/b", 1, 17, 1, 14), found("/z/c", 6, 6, 6, 3), missing("/z/<<", 4, 3),
		}},
		{"x: &x {a: 1}\nw: &w\n  <<: *x\n  b: 2\nz: {<<: *w, <<: {a: 3}}\n\"<<\": 4\n", []at{
			found("/w/a", 1, 11, 1, 8), found("/z/b", 4, 6, 4, 3), found("/z/a", 5, 21, 5, 18), found("/<<", 6, 7, 6, 1),
		}},
	} {
		check(t, inYAML(test.text), test.text, test.want)
		check(t, inNodes(test.text), test.text, test.want)
	}
}

// TestPart takes a text that does not start at the beginning of its file.
func TestPart(t *testing.T) {
	for _, d := range []*Document{
		{Text: []byte("{\"a\": 1,\n\"b\": 2}"), Start: Place{7, 5}},
		{Text: []byte("{a : 1,\nb:   2}"), Start: Place{7, 5}, YAML: true},
		{Text: []byte("a:   1\nb:   2"), Start: Place{7, 5}, YAML: true},
	} {
		check(t, d, string(d.Text), []at{found("/b", 8, 6, 8, 1)})
	}
}

func TestBroken(t *testing.T) {
	for _, text := range []string{"", " \n", "\n}", "# c\n", "a: 1\nb: [\n"} {
		want := []at{missing("", 1, 1), missing("/a", 1, 1)}
		check(t, inJSON(text), text, want)
		check(t, inYAML(text), text, want)
	}
}

func TestDuplicates(t *testing.T) {
	for _, test := range []struct {
		name string
		doc  func(string) *Document
		text string
		want []Duplicate
	}{
		{"none", inJSON, `{"a":{"a":1},"A":[{"a":2},{"a":3}]}`, nil},
		{"JSON", inJSON, "{\"a\":1,\n\"b\":[0,{\"c\":1,\"c\":{\"d/\":1,\"\\u0064/\":2}}],\n\"a\":3,\n\"a\":4}", []Duplicate{
			{"c", Place{2, 9}, Place{2, 15}},
			{"d/", Place{2, 20}, Place{2, 27}},
			{"a", Place{1, 2}, Place{3, 1}},
			{"a", Place{1, 2}, Place{4, 1}},
		}},
		{"replaced bytes are equal", inJSON, "{\"a\xff\":1,\"a\xfe\":2}", []Duplicate{
			{"a\ufffd", Place{1, 2}, Place{1, 9}},
		}},
		{"up to an error", inJSON, `{"a":1,"a":2,"a":tru`, []Duplicate{
			{"a", Place{1, 2}, Place{1, 8}},
			{"a", Place{1, 2}, Place{1, 14}},
		}},
		{"no value", inJSON, "", nil},
		{"YAML", inYAML, "a: {b: 1}\nyes: 1\nc:\n- d: 1\n  d: {e: 1, 'e': 2}\ny: 2\n3: 4\n\"3\": 5\n", []Duplicate{
			{"d", Place{4, 3}, Place{5, 3}},
			{"e", Place{5, 7}, Place{5, 13}},
			{"true", Place{2, 1}, Place{6, 1}},
			{"3", Place{7, 1}, Place{8, 1}},
		}},
		{"merges do not repeat", inYAML, "x: &x {a: 1}\ny: {<<: *x, a: 2, <<: *x}\nz: {<<: [*x, {a: 3}], a: 1}\n", nil},
		{"what is merged may", inYAML, "a: {<<: {b: 1, b: 2}}\nc: [{<<: [{d: 1, d: 2}]}]\n", []Duplicate{
			{"b", Place{1, 10}, Place{1, 16}},
			{"d", Place{2, 12}, Place{2, 18}},
		}},
		{"an alias is looked at once", inYAML, "a: &a {b: 1, b: 2}\nc: *a\n", []Duplicate{
			{"b", Place{1, 8}, Place{1, 14}},
		}},
	} {
		if got := slices.Collect(test.doc(test.text).Duplicates()); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %v\nwant %v", test.name, got, test.want)
		}
	}
}

// TestLongLine looks up places that are far apart, forwards and backwards.
func TestLongLine(t *testing.T) {
	const n = 50_000
	text := `["` + strings.Repeat("日本", 10_000) + `"` + strings.Repeat(`,"é"`, n) + "\n,0]"
	first := 1 + 1 + 20_000 + 2 + 1
	check(t, inJSON(text), "long line", []at{
		found("/1", 1, first, 1, first),
		found("/50000", 1, first+4*(n-1), 1, first+4*(n-1)),
		found("/50001", 2, 2, 2, 2),
		found("/25000", 1, first+4*24_999, 1, first+4*24_999),
	})
}

// TestPublished looks up every value of the smaller objects of published catalogs.
func TestPublished(t *testing.T) {
	for _, text := range published(t) {
		if doc := string(text); len(doc) <= 10_000 {
			checkConverted(t, inYAML(doc), doc)
		}
	}
}

// TestFindOneByOne checks that values that are looked up one by one do not cause a document to be read again each time:
// the text of an object is read for the object and for the list around it.
func TestFindOneByOne(t *testing.T) {
	const n = 2000
	text := `{"rules": {"": 0`
	for i := range n {
		text += fmt.Sprintf(`, "r%d": 0`, i)
	}
	text += `}, "entries": [0`
	for i := range n {
		text += fmt.Sprintf(`, {"name": "n%d", "Image": [0]}`, i)
	}
	text += "]}"
	for _, d := range []*Document{inJSON(text), inNodes(text)} {
		for i := 1; i < n; i++ {
			for format, want := range map[string]bool{
				"/rules/r%d": true, "/rules/R%d": true, "/entries/%d/name": true, "/entries/%d/image/0": true, "/entries/%d/x/y": false,
			} {
				ptr := jsontext.Pointer(fmt.Sprintf(format, i))
				if got := d.Find(ptr)[0].Found; got != want {
					t.Fatalf("%s: found %t", ptr, got)
				}
			}
		}
		if got, most := d.from.scanned, 3*len(text); got > most {
			t.Errorf("%d bytes of %d were read", got, len(text))
		}
		if got, most := len(d.from.mappings), n+2; got > most {
			t.Errorf("%d mappings were read, want %d", got, most)
		}
	}
}

// TestFindInOneLine checks the places of many values and keys of a document on one line, which are counted from marks.
func TestFindInOneLine(t *testing.T) { findInOneLine(t, 20_000) }

// BenchmarkFindInOneLine reports the time for a value, which does not depend on their number.
func BenchmarkFindInOneLine(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				findInOneLine(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
		})
	}
}

func findInOneLine(t testing.TB, n int) {
	t.Helper()
	text := "[" + strings.Repeat("é, ", n) + "é, {a: 1" + strings.Repeat(", a: 1", n) + "}]"
	d := inNodes(text)
	var ptrs []jsontext.Pointer
	for i := range n {
		ptrs = append(ptrs, jsontext.Pointer("/"+strconv.Itoa(i)))
	}
	for i, v := range d.Find(ptrs...) {
		if want := (Place{1, 2 + 3*i}); v.Place != want || !v.Found {
			t.Fatalf("%d is at %v, %t, want %v", i, v.Place, v.Found, want)
		}
	}
	duplicates := slices.Collect(d.Duplicates())
	if len(duplicates) != n {
		t.Fatalf("%d keys are repeated, want %d", len(duplicates), n)
	}
	if got, want := duplicates[n-1].Repeat, (Place{1, 2 + 3*n + 4 + 6*n}); got != want {
		t.Errorf("the last is repeated at %v, want %v", got, want)
	}
}
