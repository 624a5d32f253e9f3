package edit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/syntax"
)

// A textCase is one change of a document.
type textCase struct {
	name, doc string
	how       string // append (to the list at ptr), set or remove
	ptr       jsontext.Pointer
	value     string
	want      string // "error: " and the message if it fails
}

var textCases = []textCase{
	{"block list", "a:\n- name: x\n", "append", "/a", `{"name":"k","replaces":"x"}`,
		"a:\n- name: x\n- name: k\n  replaces: x\n"},
	{"indented list with wide dashes", "a:\n  -   name: x # c\n# d\nb: 1\n", "append", "/a", `{"name":"k"}`,
		"a:\n  -   name: x # c\n  -   name: k\n# d\nb: 1\n"},
	{"comments that belong to the list", "a:\n  - x\n  # y\nb: 1\n", "append", "/a", `"z"`, "a:\n  - x\n  # y\n  - z\nb: 1\n"},
	{"empty lines between elements", "a:\n- x\n\n- y\n", "append", "/a", `"z"`, "a:\n- x\n\n- y\n\n- z\n"},
	{"no line break at the end", "a:\n- x", "append", "/a", `"z"`, "a:\n- x\n- z"},
	{"CR LF", "a:\r\n- x\r\n", "append", "/a", `"z"`, "a:\r\n- x\r\n- z\r\n"},
	{"byte order mark", "\ufeffa:\n- ü\n- y\n", "append", "/a", `"z"`, "\ufeffa:\n- ü\n- y\n- z\n"},
	{"member after a byte order mark", "\ufeffa: x\n", "set", "/b", `"z"`, "\ufeffa: x\nb: z\n"},
	{"key order and spelling", "a:\n- B: 1\n  A: 2\n", "append", "/a", `{"a":3,"b":4}`, "a:\n- B: 1\n  A: 2\n- B: 4\n  A: 3\n"},
	{"double quotes", "a:\n- name: \"x\"\n", "append", "/a", `{"name":"y"}`, "a:\n- name: \"x\"\n- name: \"y\"\n"},
	{"single quotes", "a:\n- 'x'\n", "append", "/a", `"y's"`, "a:\n- 'x'\n- 'y''s'\n"},
	{"text that YAML 1.1 takes for something else", "a:\n- x\n", "append", "/a", `"1.0"`, "a:\n- x\n- '1.0'\n"},
	{"word of YAML 1.1", "a:\n- \"1.0\"\n- x\n", "append", "/a", `"no"`, "a:\n- \"1.0\"\n- x\n- \"no\"\n"},
	{"lists as others are indented", "a:\n- name: x\n  skips:\n    - v\n", "append", "/a", `{"name":"k","skips":["w"]}`,
		"a:\n- name: x\n  skips:\n    - v\n- name: k\n  skips:\n    - w\n"},
	{"flow list", "a: [x, y] # c\n", "append", "/a", `"z"`, "a: [x, y, z] # c\n"},
	{"flow list over lines", "a: [\n  x,\n  y\n]\n", "append", "/a", `"z"`, "a: [\n  x,\n  y,\n  z\n]\n"},
	{"flow mappings in a block list", "a:\n- {name: x}\n", "append", "/a", `{"name":"k","skips":["z"]}`,
		"a:\n- {name: x}\n- {name: k, skips: [z]}\n"},
	{"empty flow list", "a: []\n", "append", "/a", `"z"`, "a: [z]\n"},
	{"text block before", "a:\n- m: |\n    # no comment\n\n# c\nb: 1\n", "append", "/a", `{"m":"x"}`,
		"a:\n- m: |\n    # no comment\n- m: x\n\n# c\nb: 1\n"},
	{"text over lines", "a:\n- b\n  c\n- \"d\n  # e\"\n", "append", "/a", `"f"`, "a:\n- b\n  c\n- \"d\n  # e\"\n- \"f\"\n"},
	{"text on its own line", "a:\n- b:\n    c\n", "append", "/a", `{"b":"d"}`, "a:\n- b:\n    c\n- b: d\n"},

	{"JSON", "{\"a\": [\n  {\n    \"n\": \"x\"\n  }\n]}", "append", "/a", `{"n":"y"}`,
		"{\"a\": [\n  {\n    \"n\": \"x\"\n  },\n  {\n    \"n\": \"y\"\n  }\n]}"},
	{"minified JSON", `{"a":["x"]}`, "append", "/a", `"y"`, `{"a":["x","y"]}`},
	{"JSON on one line", `{"a": [{"n": "x"}]}`, "append", "/a", `{"n":"y","s":["z"]}`,
		`{"a": [{"n": "x"}, {"n": "y", "s": ["z"]}]}`},
	{"empty JSON list", `{"a": []}`, "append", "/a", `"y"`, `{"a": ["y"]}`},
	{"member of JSON", "{\n\t\"a\": 1\n}", "set", "/b", `["c"]`, "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t\"c\"\n\t]\n}"},
	{"member of minified JSON", `{"a":1}`, "set", "/b", `["c"]`, `{"a":1,"b":["c"]}`},
	{"text of JSON", `{"a": "x\u0041"}`, "set", "/a", `"y"`, `{"a": "y"}`},

	{"new member", "a:\n- n: x # c\n\nb: 1\n", "set", "/a/0/s", `["k"]`, "a:\n- n: x # c\n  s:\n  - k\n\nb: 1\n"},
	{"new member of a flow mapping", "a: {n: x}\n", "set", "/a/s", `["k"]`, "a: {n: x, s: [k]}\n"},
	{"plain text", "a: x # c\n", "set", "/a", `"k"`, "a: k # c\n"},
	{"quoted text", "a: 'x' # c\n", "set", "/a", `"y\nz"`, "a: \"y\\nz\" # c\n"},
	{"text block", "a: |\n  x\n\n  y\n# c\nb: 1\n", "set", "/a", `"z"`, "a: z\n# c\nb: 1\n"},
	{"text block above a comment", "a:\n  b: |\n    x\n   # c\n", "set", "/a/b", `"z"`, "a:\n  b: z\n   # c\n"},
	{"nothing", "a:\nb: 1\n", "set", "/a", `"z"`, "a: z\nb: 1\n"},
	{"nothing before a comment", "a: # c\n", "set", "/a", `"z"`, "a: z # c\n"},
	{"key in another case", "DefaultChannel: x\n", "set", "/defaultChannel", `"k"`, "DefaultChannel: k\n"},

	{"element", "a:\n- x\n# c\n- y # d\n- z\n", "remove", "/a/1", "", "a:\n- x\n# c\n- z\n"},
	{"element behind an empty line", "a:\n- x\n\n- y\n\n- z\n", "remove", "/a/1", "", "a:\n- x\n\n- z\n"},
	{"first element", "a:\n- x\n\n- y\n", "remove", "/a/0", "", "a:\n- y\n"},
	{"last element without a line break", "a:\n- x\n- y", "remove", "/a/1", "", "a:\n- x"},
	{"element in brackets", "a: [x, y, z]\n", "remove", "/a/1", "", "a: [x, z]\n"},
	{"first element in brackets", "{\n  \"a\": [\n    1,\n    2\n  ]\n}", "remove", "/a/0", "", "{\n  \"a\": [\n    2\n  ]\n}"},
	{"member on the line of a dash", "- r: x\n  n: y\n", "remove", "/0/r", "", "- n: y\n"},
	{"member of several lines", "n: y\ns:\n- a\n- b\nt: |\n  # c\nu: 1\n", "remove", "/t", "", "n: y\ns:\n- a\n- b\nu: 1\n"},

	{"element as a member", "a:\n- x\n", "set", "/a/0", `"y"`, "error: f:4:1: cannot be edited safely: it is not an object with keys"},
	{"member of a null", "a:\n", "set", "/a/b", `"y"`, "error: f:3:3: cannot be edited safely: it is not an object with keys"},
	{"member of a null in JSON", `{"a": null}`, "set", "/a/b", `"y"`,
		"error: f:3:7: cannot be edited safely: it is not an object with keys"},
	{"anchor", "a: &x\n- b\nc: *x\n", "append", "/a", `"d"`, "error: f:3:4: cannot be edited safely: it has an anchor"},
	{"alias", "a: &x\n- b\nc: *x\n", "append", "/c", `"d"`, "error: f:5:4: cannot be edited safely: it has an alias"},
	{"alias in an element", "b: &x 1\na:\n- n: *x\n", "remove", "/a/0", "", "error: f:5:6: cannot be edited safely: it has an alias"},
	{"merge", "b: &x {c: 1}\na:\n  <<: *x\n", "set", "/a/d", `"d"`, "error: f:5:3: cannot be edited safely: it has a merge"},
	{"tag", "a: !!set\n  b:\n", "set", "/a/d", `"d"`, "error: f:3:4: cannot be edited safely: it has a tag"},
	{"repeated key", "a: x\nb: 1\nA: y\n", "set", "/a", `"d"`, `error: f:5:1: cannot be edited safely: the key "A" is repeated`},
	{"repeated key in JSON", `{"a": 1, "a": 2}`, "set", "/a", `"d"`,
		`error: f:3:10: cannot be edited safely: the key "a" is repeated`},
	{"question mark", "? a\n: - b\n", "append", "/a", `"d"`,
		"error: f:3:3: cannot be edited safely: a key that is not plain text or in quotes"},
	{"only element", "a:\n- x\n", "remove", "/a/0", "", "error: f:4:1: cannot be edited safely: nothing would be left in it"},
	{"list in a list", "a:\n- - x\n", "append", "/a/0", `"y"`, "error: f:4:3: cannot be edited safely: it shares a line with other values"},
	{"kept line breaks", "a:\n- |+\n  x\n\nb: 1\n", "append", "/a", `"y"`,
		"error: f:6:1: cannot be edited safely: the text around it does not allow that"},
	{"not a list", "a: x\n", "append", "/a", `"y"`, "error: f:3:4: cannot be edited safely: it is not a list"},
	{"no such value", "a: x\n", "append", "/b", `"y"`, "error: f:3:1: cannot be edited safely: it has no /b"},
}

func (c textCase) text() *text {
	isYAML := !strings.HasPrefix(c.doc, "{")
	return &text{file: "f", start: document.Place{Line: 3, Column: 1}, source: source{[]byte(c.doc), isYAML}}
}

// edit applies the change.
func (c textCase) edit(x *text) error {
	switch c.how {
	case "append":
		return x.append(c.ptr, jsontext.Value(c.value))
	case "set":
		return x.set(c.ptr, jsontext.Value(c.value))
	}
	if i, ok := syntax.Index(c.ptr.LastToken()); ok {
		return x.removeElements(c.ptr.Parent(), i)
	}
	return x.remove(c.ptr)
}

func TestText(t *testing.T) {
	for _, c := range textCases {
		t.Run(c.name, func(t *testing.T) {
			x := c.text()
			err := c.edit(x)
			if want, fails := strings.CutPrefix(c.want, "error: "); fails {
				if err == nil || !strings.HasPrefix(err.Error(), want) || string(x.bytes) != c.doc {
					t.Errorf("got  %v, %q\nwant %s", err, x.bytes, want)
				}
				return
			}
			if err != nil || string(x.bytes) != c.want {
				t.Errorf("got  %q, %v\nwant %q", x.bytes, err, c.want)
			}
		})
	}
}

// FuzzText checks that a change that succeeds changes the decoded document as intended and nothing else, and that
// removing the added element restores the original bytes.
func FuzzText(f *testing.F) {
	for _, c := range textCases {
		f.Add([]byte(c.doc), string(c.ptr), c.value)
	}
	f.Fuzz(func(t *testing.T, doc []byte, ptr, value string) {
		c := textCase{doc: string(doc), how: "append", ptr: jsontext.Pointer(ptr), value: value}
		raw := jsontext.Value(value)
		if !raw.IsValid() || !c.ptr.IsValid() || ptr == "" {
			t.Skip()
		}
		x := c.text()
		before, err := x.value()
		if err != nil {
			t.Skip()
		}
		elements := count(before, c.ptr)
		if c.edit(x) != nil {
			if !bytes.Equal(x.bytes, doc) {
				t.Errorf("it failed, and changed %q to %q", doc, x.bytes)
			}
			return
		}
		added := string(x.bytes)
		after, err := x.value()
		if err != nil || count(after, c.ptr) != elements+1 {
			t.Fatalf("%q became %q with %v, %v", doc, added, after, err)
		}
		withoutLast := func(list any) any { return list.([]any)[:elements] } //nolint:forcetypeassert // it is a list
		if elements > 0 && !bytes.Equal(encoded(changed(after, c.ptr, withoutLast)), encoded(before)) {
			t.Errorf("%q became %q, which changes more than the list at %s", doc, added, ptr)
		}
		if err := x.removeElements(c.ptr, elements); err != nil {
			return // for example, an empty list that now has one element
		}
		if !bytes.Equal(x.bytes, doc) && elements > 0 {
			t.Errorf("%q became %q, and then %q", doc, added, x.bytes)
		}
	})
}

// count returns the number of elements of the list at ptr.
func count(v any, ptr jsontext.Pointer) (n int) {
	changed(v, ptr, func(list any) any {
		elements, _ := list.([]any)
		n = len(elements)
		return list
	})
	return n
}
