package document

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

func TestBlock(t *testing.T) {
	for _, test := range []struct {
		text string
		want []at
	}{
		{"schema: olm.channel\nentries:\n- name: a\n  skips: []\n- name:    e # f\nz: {}\n", []at{
			found("", 1, 1, 1, 1),
			found("/schema", 1, 9, 1, 1),
			found("/entries", 3, 1, 2, 1),
			found("/entries/0", 3, 3, 3, 3),
			found("/entries/0/name", 3, 9, 3, 3),
			found("/entries/0/skips", 4, 10, 4, 3),
			found("/entries/1/name", 5, 12, 5, 3),
			found("/z", 6, 4, 6, 1),
			missing("/entries/2/name", 3, 1),
			missing("/entries/name", 3, 1),
			missing("/entries/0/skips/0", 4, 10),
			missing("/schema/x", 1, 9),
			missing("/name", 1, 1),
		}},
		{"a:\n\n # b: 1\n  # c\n  c: 2\n#\n  d: 3\n\n\ne: 4", []at{
			found("/a", 5, 3, 1, 1), found("/a/c", 5, 6, 5, 3), found("/a/d", 7, 6, 7, 3), found("/e", 10, 4, 10, 1),
			missing("/b", 1, 1), missing("/a/b", 5, 3),
		}},
		{"- - a\n  -  - b\n     - c: d\n       e: f\n  - g\n-\n  h\n- - i", []at{
			found("", 1, 1, 1, 1), found("/0", 1, 3, 1, 3), found("/0/1/1/e", 4, 11, 4, 8), found("/0/2", 5, 5, 5, 5),
			found("/1", 7, 3, 7, 3), found("/2/0", 8, 5, 8, 5), missing("/0/3", 1, 3), missing("/3", 1, 1),
		}},
		{"a:\n- b: |\n    c: 1\n    - d\n\n   # e: 2\n  f:\n  - \"x\n    y: z\"\n  - g\n   - h\n- i:\nj:\n  k\n  l\n", []at{
			found("/a/0/b", 2, 6, 2, 3), found("/a/0/f", 8, 3, 7, 3), found("/a/0/f/0", 8, 5, 8, 5),
			found("/a/0/f/1", 10, 5, 10, 5), found("/a/1/i", 12, 5, 12, 3), found("/j", 14, 3, 13, 1),
			missing("/a/0/c", 2, 3), missing("/a/0/e", 2, 3), missing("/a/0/f/2", 8, 3),
		}},
		{"a:\nb: # c\n d:\ne:   \nf:\n  -\n  - # g\n  -\n-: 1\n-h: 2", []at{
			found("/a", 1, 3, 1, 1), found("/b/d", 3, 4, 3, 2), found("/e", 4, 3, 4, 1), found("/f/0", 6, 4, 6, 4),
			found("/f/1", 7, 4, 7, 4), found("/f/2", 8, 4, 8, 4), found("/-", 9, 4, 9, 1), found("/-h", 10, 5, 10, 1),
		}},
		{"--- # c\n\n\"a: b\": 1\n'#': 2\nc:d : 3\n", []at{
			found("", 3, 1, 3, 1), found("/a: b", 3, 9, 3, 1), found("/#", 4, 6, 4, 1), found("/c:d", 5, 7, 5, 1),
		}},
		{"\ufeff---\r\né: ü\r\nb:\r\n  - 日: 本 \r\n\r\n    \"c\":\r\n  -\r\n", []at{
			found("/é", 2, 4, 2, 1), found("/b/0/日", 4, 8, 4, 5), found("/b/0/c", 6, 9, 6, 5), found("/b/1", 7, 4, 7, 4),
		}},
		{"y: 1\n0x10: 2\n1.50: 3\n'n': 4\nOFF: 5\n.inf: 6\n\"<<\": 7\nNames: 8\nnil: 9\n", []at{
			found("/true", 1, 4, 1, 1), found("/16", 2, 7, 2, 1), found("/1.5", 3, 7, 3, 1), found("/n", 4, 6, 4, 1),
			found("/false", 5, 6, 5, 1), found("/.inf", 6, 7, 6, 1), found("/<<", 7, 7, 7, 1), found("/Names", 8, 8, 8, 1),
			found("/nil", 9, 6, 9, 1), missing("/y", 1, 1), missing("/0x10", 1, 1),
		}},
		{"a:\n  x: 1\na:\n  z: 2\n3: 3\n\"3\": 4\n", []at{
			found("/a/z", 4, 6, 4, 3), missing("/a/x", 4, 3), found("/3", 6, 6, 6, 1),
		}},
		{"- \"a\\\": b\"\n- 'c: d'\n- - 'e'': f'\n- x # y: z\n", []at{
			found("/0", 1, 3, 1, 3), found("/3", 4, 3, 4, 3), missing("/0/a\\", 1, 3), missing("/3/x # y", 4, 3),
		}},
	} {
		check(t, inYAML(test.text), test.text, test.want)
		if !sameAsYAML(t, []byte(test.text)) {
			t.Errorf("%q is not in block style", test.text)
		}
	}
}

func TestBlockDuplicates(t *testing.T) {
	const text = "a:\n  b: 1\nyes: 1\nc:\n- d: 1\n  d:\n    e: 1\n    'e': 2\n- d: 1\n  d: |\n    d: 2\n" +
		"y: 2\n3: 4\n\"3\": 5\n3: 6\n"
	want := []Duplicate{
		{"d", Place{5, 3}, Place{6, 3}},
		{"e", Place{7, 5}, Place{8, 5}},
		{"d", Place{9, 3}, Place{10, 3}},
		{"true", Place{3, 1}, Place{12, 1}},
		{"3", Place{13, 1}, Place{14, 1}},
		{"3", Place{13, 1}, Place{15, 1}},
	}
	if !sameAsYAML(t, []byte(text)) {
		t.Error("not in block style")
	}
	if got := slices.Collect(inYAML(text).Duplicates()); !slices.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

// sameAsYAML asks for every value of a document, and for some that are not in it. It reports false if the document is
// not in block style.
func sameAsYAML(t *testing.T, doc []byte) bool {
	t.Helper()
	var source yamljson.Source
	converted := source.Trace(doc)
	if source.Text == nil {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(converted))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	got, want := inYAML(string(doc)), inNodes(string(doc))
	var ptrs []jsontext.Pointer
	each("", root, func(ptr jsontext.Pointer, v any) {
		ptrs = append(ptrs, ptr, ptr.AppendToken("no such"))
		if list, ok := v.([]any); ok {
			ptrs = append(ptrs, ptr.AppendToken(strconv.Itoa(len(list))))
		}
	})
	places := got.Find(ptrs...)
	for i, want := range want.Find(ptrs...) {
		if places[i] != want {
			t.Fatalf("%q: %q: got %v, want %v", doc, ptrs[i], places[i], want)
		}
	}
	if got, want := slices.Collect(got.Duplicates()), slices.Collect(want.Duplicates()); !slices.Equal(got, want) {
		t.Fatalf("%q:\n got %v\nwant %v", doc, got, want)
	}
	return true
}

// TestBlockPublished asks for every value of the documents of published catalogs.
func TestBlockPublished(t *testing.T) {
	docs := published(t)
	asked, block := 0, 0
	for i := 0; i < len(docs); i += shared.Step(1, 10) {
		asked++
		if sameAsYAML(t, docs[i]) {
			block++
		}
	}
	if block < asked*9/10 {
		t.Errorf("only %d documents of %d are in block style", block, asked)
	}
}

// published returns the documents of published catalogs.
func published(t testing.TB) [][]byte {
	t.Helper()
	var docs [][]byte
	for _, file := range shared.CatalogFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			docs = append(docs, []byte(doc))
		}
	}
	return docs
}

func FuzzBlock(f *testing.F) {
	f.Add("--- # c\na: 1\nb:\n- c\n-\n- - d: 'e'\n    \"f\":\n\n  # g\n  - h\n", "/b/2/0/f")
	f.Add("a:\n- b: |\n    c: 1\n\n    - d\n   # e: 2\n  f: \"x\n    y: \\\" z\"\n  g: h\n   i\nj:\n  k # l\n", "/a/0/g")
	f.Add("y: 1\n0x10: 2\n1.50: 3\n'y': 4\n\"16\": 5\non: 6\n", "/true")
	f.Add("\ufeff---\r\né: ü\r\nb:\r\n - 日: 本 \r\n\r\n   \"c\":\r\n -\r\n", "/b/0/c")
	f.Add("- \"a\\\": b\"\n- 'c: d'\n- x # y: z\n- {}\n- [] # z\n", "/0")
	f.Add("a:\n b: 1\n b:\n  c: 1\n  c: 2\na:\n", "/a/b")
	f.Add("a: [\n- : \n -\n'\n\": :\n", "/a")
	f.Add("? 'a\u2028 b'\n: |\n c\u2028 d\n? e\n: - f: g\n", "/e/0/f")
	f.Fuzz(func(t *testing.T, doc, ptr string) {
		if text, ok := convertible(doc); ok && sameAsYAML(t, []byte(doc)) {
			checkInside(t, inYAML(doc), text, jsontext.Pointer(ptr))
		}
	})
}

// BenchmarkBlock looks for a value at the end of a bundle of the usual size, with both readers.
func BenchmarkBlock(b *testing.B) {
	const gvk = "- type: olm.gvk\n  value:\n    group: example.com\n    kind: Thing\n    version: v1alpha1\n"
	text := "schema: olm.bundle\nproperties:\n" + strings.Repeat(gvk, 310) + "relatedImages:\n- image: i\n"
	for _, bench := range []struct {
		name string
		doc  func(string) *Document
	}{
		{"Block", inYAML},
		{"YAML", inNodes},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if !bench.doc(text).Find("/relatedImages/0/image")[0].Found {
					b.Fatal("not found")
				}
			}
		})
	}
}
