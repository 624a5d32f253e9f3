package layout_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/edit/internal/layout"
	"github.com/opm-toolchain/opm/internal/skim"
)

type object struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Icon   struct {
		Data string `json:"data"`
		Type string `json:"type"`
	} `json:"icon"`
	Entries []jsontext.Value `json:"entries"`
}

type entry struct {
	Name string `json:"name"`
}

type entryX struct {
	Z string `json:"z"`
}

var order = &layout.Order{
	Shapes: map[string]*skim.Shape{"": skim.ShapeOf(reflect.TypeFor[object]())},
	Any: &layout.Order{Shapes: map[string]*skim.Shape{
		"": skim.ShapeOf(reflect.TypeFor[entry]()), "x": skim.ShapeOf(reflect.TypeFor[entryX]()),
	}},
}

func TestYAML(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"order", "b: 1\nname: n\na: 2\nschema: s\n", "schema: s\nname: n\nb: 1\na: 2\n"},
		{"order inside", "icon: {}\nentries:\n- a: 1\n  name: n\n- a: 1\n  z: 2\n  schema: x\n",
			"icon: {}\nentries:\n- name: n\n  a: 1\n- z: 2\n  a: 1\n  schema: x\n"},
		{"case", "Name: n\nSCHEMA: s\n", "SCHEMA: s\nName: n\n"},
		{"indentation", "entries:\n    -   name: a\n        b:\n           c: d\n    -   name: b\n",
			"entries:\n- name: a\n  b:\n    c: d\n- name: b\n"},
		{"lists in lists", "a:\n  - - 1\n    -   2\n  -\n    - 3\n", "a:\n- - 1\n  - 2\n- - 3\n"},
		{"no value", "a:\nb: # none\nc:\n-\n- # none\n- d\n", "a:\nb: # none\nc:\n-\n- # none\n- d\n"},
		{"explicit keys", "? a # c\n: b\n", "# c\na: b\n"},
		{"line breaks", "a: b # c\r\nd: |\r\n  e\r\n", "a: b # c\nd: |\n  e\n"},
		{"blanks", "a:\tb\t \n\n\n\nc:  d   # e  \n\n\n", "a: b\n\nc: d # e\n"},

		{"quotes", "a: 'b'\nc: \"d\"\n'e': f\n", "a: b\nc: d\ne: f\n"},
		{"needed quotes", "a: '1.0'\nb: 'yes'\nc: ''\nd: '>=1.0.0 <2.0.0'\ne: '2024-01-01'\nf: 'null'\n'<<': '- g'\nh: 'i: j'\n",
			"a: \"1.0\"\nb: \"yes\"\nc: \"\"\nd: \">=1.0.0 <2.0.0\"\ne: \"2024-01-01\"\nf: \"null\"\n\"<<\": \"- g\"\nh: \"i: j\"\n"},
		{"escapes", `a: "b\nc"` + "\n" + `d: "\u200b"` + "\n" + `e: '"f" #'` + "\n" + `g: '>\d'` + "\n",
			`a: "b\nc"` + "\n" + `d: "\u200b"` + "\n" + `e: '"f" #'` + "\n" + `g: '>\d'` + "\n"},
		{"numbers", "a: 1.50\nb: 0x10\nc: 1_000\nd: 1e3\ne: yes\n", "a: 1.50\nb: 0x10\nc: 1_000\nd: 1e3\ne: yes\n"},
		{"text below its key", "icon:\n  data:\n    aGVsbG8=\n", "icon:\n  data: aGVsbG8=\n"},
		{"text over several lines", "a: b\n     c\n\n     d\ne: 'f\n     g'\nh: \"i\\\n     \\ j\"\n",
			"a: b\n  c\n\n  d\ne: 'f\n  g'\nh: \"i\\\n  \\ j\"\n"},
		{"blocks", "a: |\n      b\n       c\n\n      d\ne: >-   # f\n   g\n\n   h\n",
			"a: |\n  b\n   c\n\n  d\ne: >- # f\n  g\n\n  h\n"},
		{"blocks that start with blanks", "a: |3\n     b\n   c\nd:\n- |1-\n  e\n", "a: |2\n    b\n  c\nd:\n- |2-\n   e\n"},
		{"blocks that end with empty lines", "a: |+\n   b\n\n\nc: |\n   d\n\n\ne: f\n", "a: |+\n  b\n\n\nc: |\n  d\n\ne: f\n"},
		{"a block without an end", "a: |\n   b", "a: |\n  b\n"},
		{"empty block", "a: |\nb: c\n", "a: |\nb: c\n"},
		{"brackets", "a: [b,   'c']\nd: {e: f}\ng: [\n     h, # i\n   ]\nj: {\n k: l\n}\n",
			"a: [b,   'c']\nd: {e: f}\ng: [\n    h, # i\n  ]\nj: {\n k: l\n}\n"},
		{"root in brackets", "# a\n{b: [c, {d: e}], 'f': \"g]\"} # h\n# i\n", "# a\n{b: [c, {d: e}], 'f': \"g]\"} # h\n# i\n"},

		{"anchors", "b: &a  {c: d}\nname:   &e f\ng: &h\n   i: j\nk:\n-  &l m\n-  &n\n   o: p\n",
			"name: &e f\nb: &a {c: d}\ng: &h\n  i: j\nk:\n- &l m\n- &n\n  o: p\n"},
		{"aliases keep the order", "b: &a  c\nname:   *a\nd:\n   <<:   {e: f}\n", "b: &a c\nname: *a\nd:\n  <<: {e: f}\n"},
		{"tags", "b: !!str   1\nname: !!str  '2'\nc: !!map\n   d: e\n", "name: !!str '2'\nb: !!str 1\nc: !!map\n  d: e\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { lays(t, tt.in, tt.want) })
	}
}

func TestComments(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"move with their keys", "# top\nb: 1 # one\n# about name\nname: n # n\n# about c\nc: 2\n# end\n",
			"# top\n# about name\nname: n # n\nb: 1 # one\n# about c\nc: 2\n# end\n"},
		{"move with empty lines", "b: 1\n\n\n# about name\n\nname: n\n", "# about name\n\nname: n\nb: 1\n"},
		{"in lists", "entries: # all\n  # first\n  - name: a\n  # - name: c\n  - # fourth\n    b: 1\n    # of name\n    name: d\n" +
			"    # end of d\n  # end of list\n# about schema\nschema: s\n",
			"# about schema\nschema: s\nentries: # all\n# first\n- name: a\n# - name: c\n- # fourth\n  # of name\n  name: d\n  b: 1\n" +
				"  # end of d\n# end of list\n"},
		{"belong to the key below", "entries:\n- name: a\n# about schema\nschema: s\n",
			"# about schema\nschema: s\nentries:\n- name: a\n"},
		{"end of a mapping", "icon:\n    type: t\n    # of icon\n  # of icon's end\nname: n\n",
			"# of icon's end\nname: n\nicon:\n  type: t\n  # of icon\n"},
		{"before a value", "name: # a\n  # b\n  n # c\nicon: # d\n  # e\n  type: t\n",
			"# a\n# b\nname: n # c\nicon: # d\n  # e\n  type: t\n"},
		{"in brackets", "b: [1, # one\n   2] # end\nname: n\n", "name: n\nb: [1, # one\n  2] # end\n"},
		{"like comments", "a: \"b # c\"\nd: |\n  # e\nf: g#h\n", "a: \"b # c\"\nd: |\n  # e\nf: g#h\n"},
		{"behind an end", "a: b\n# c\n... # d\n# e\n", "a: b\n# c\n# d\n# e\n"},
		{"around anchors", "a: &b # c\n  # d\n  e: f\n", "a: &b\n  # c\n  # d\n  e: f\n"},
		{"in an empty list", "a: [ # b\n  ]\n", "a: [ # b\n  ]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { lays(t, tt.in, tt.want) })
	}
}

// lays checks that in is printed as want, and that printing want again does not change it.
func lays(t *testing.T, in, want string) {
	t.Helper()
	for _, text := range []string{in, want} {
		got, err := layout.YAML(nil, []byte(text), order)
		if err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		if string(got) != want {
			t.Errorf("of %q\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestYAMLErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"syntax", "a: [\n", "while parsing a flow node: did not find expected node content"},
		{"a key over several lines", "? a\n  b\n: c\n", "a key on several lines is not supported"},
		{"other line breaks", "a: b\u0085c: d\n", "unsupported syntax"},
		{"carriage return", "a: b\n\rc: d\n", "a carriage return that does not end a line"},
		{"comments in many levels", strings.Repeat("- ", 9_000) + "a: 1\n" + strings.Repeat("#\n", 4_000) +
			strings.Repeat("  ", 9_000) + "b: 2\n", "more than 64 MB once it is indented"},
		{"lines in many levels", strings.Repeat("- ", 9_000) + "\"" + strings.Repeat("a\n", 4_000) + "\"\n",
			"more than 64 MB once it is indented"},
		{"too many lines", strings.Repeat("\n", 250_001), "more than 250,000 lines in a document"},
	}
	for _, tt := range tests {
		out, err := layout.YAML([]byte("before"), []byte(tt.in), order)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %s", tt.name, err, tt.want)
		}
		if !bytes.HasPrefix(out, []byte("before")) {
			t.Errorf("%s: what was there is lost", tt.name)
		}
	}
}

func TestJSON(t *testing.T) {
	const in = `{"b": 1.50, "name": "\u00e9", "entries": [{"a": [1, 2], "name": "n"}, {"z": {"y": 1, "x": 2}, "a": 0,
		"schema": "x"}], "SCHEMA": "s", "icon": {}}`
	const want = `{
    "SCHEMA": "s",
    "name": "\u00e9",
    "icon": {},
    "entries": [
        {
            "name": "n",
            "a": [
                1,
                2
            ]
        },
        {
            "z": {
                "y": 1,
                "x": 2
            },
            "a": 0,
            "schema": "x"
        }
    ],
    "b": 1.50
}
`
	for _, text := range []string{in, want} {
		got, err := layout.JSON(nil, []byte(text), order)
		if err != nil || string(got) != want {
			t.Errorf("got %v\n%s", err, got)
		}
	}
	if _, err := layout.JSON(nil, []byte(`{"a": 1, "a": 2}`), order); err == nil {
		t.Error("a repeated key is accepted")
	}
}

// TestJSONDeep checks that values below 100 levels are printed on one line, in their order.
func TestJSONDeep(t *testing.T) {
	const depth = 4_900
	text := strings.Repeat(`{"b":`, depth) + `{"b":"\u00e9","a":1.50}` + strings.Repeat("}", depth)
	got, err := layout.JSON(nil, []byte(text), order)
	if want := `"b": {"b":{`; err != nil || len(got) > 100_000 || !strings.Contains(string(got), want) {
		t.Errorf("%d bytes without %s, error %v", len(got), want, err)
	}
	if want := `{"b":{"b":"\u00e9","a":1.50}}`; !strings.Contains(string(got), want) {
		t.Errorf("no %s", want)
	}
}

func TestJSONTooLarge(t *testing.T) {
	for _, tt := range []struct {
		levels, values int
		want           string
	}{
		{99, 200_001, "more than 64 MB once it is indented"},
		{101, 2_000_000, "more than 2,000,000 keys and values in an object"},
	} {
		text := strings.Repeat("[", tt.levels) + strings.Repeat("1,", tt.values-1) + "1" + strings.Repeat("]", tt.levels)
		if _, err := layout.JSON(nil, []byte(text), order); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d values in %d lists: the error is %v, want %s", tt.values, tt.levels, err, tt.want)
		}
	}
}
