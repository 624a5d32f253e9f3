package yamljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// The expected results are upstream's, apart from the order of keys and the form of numbers.
var conversions = []struct{ name, doc, want string }{
	{"order of keys", "b: 1\na: 2\n", `{"b":1,"a":2}`},
	{"keys with spaces", "a b : c\n\"d\": e\n'f #': g\nh#: i\n-j: k\n", `{"a b":"c","d":"e","f #":"g","h#":"i","-j":"k"}`},
	{"quoted keys with more in them", "\"a\\n\": 1\n'b''c': 2\n'd' : 3\n", `{"a\n":1,"b'c":2,"d":3}`},
	{"long key", strings.Repeat("k", 1010) + ": v\n", `{"` + strings.Repeat("k", 1010) + `":"v"}`},
	{"equal keys", "a: 1\nb: 2\na: 3\n", `{"a":1,"b":2,"a":3}`},
	{"marker", "--- # first\na: 1\n", `{"a":1}`},
	{"comment above the marker", "# first\n---\na: 1\n", `{"a":1}`},
	{"end", "a: 1\n...\n# done\n\n...\n", `{"a":1}`},
	{"byte order mark", "\uFEFFa: 1\n", `{"a":1}`},
	{"byte order mark and marker", "\uFEFF---\na: 1\n", `{"a":1}`},
	{"CR LF", "a: |\r\n  b\r\n  c\r\nd: \"e\r\n  f\"\r\n", `{"a":"b\nc\n","d":"e f"}`},
	{"CR", "a: b\rc: d\r", `{"a":"b","c":"d"}`},
	{"null document", "null\n", `null`},
	{"scalar", "text\n", `"text"`},
	{"list", "- a\n-\n- - b\n  - c: d\n    e:\n", `["a",null,["b",{"c":"d","e":null}]]`},
	{"list in a mapping", "a:\n- b\nc:\n  - d\n", `{"a":["b"],"c":["d"]}`},
	{"flow", `{a: [1, b c, "d"], "e":f, g}`, `{"a":[1,"b c","d"],"e":"f","g":null}`},
	{"empty collections", "a: {} # none\nb: []\n", `{"a":{},"b":[]}`},
	{"comments", "# 1\na: b # 2\n  # 3\nc: d#e\n# 4\n", `{"a":"b","c":"d#e"}`},
	{"text on its own line", "a:\n  b\n  c\nd:\n  'e'\n", `{"a":"b c","d":"e"}`},

	{"true", "[true, True, TRUE, yes, Yes, YES, on, On, ON, y, Y]",
		`[true,true,true,true,true,true,true,true,true,true,true]`},
	{"false", "[false, False, FALSE, no, No, NO, off, Off, OFF, n, N]",
		`[false,false,false,false,false,false,false,false,false,false,false]`},
	{"null", "a: [null, Null, NULL, ~]\nb:\n", `{"a":[null,null,null,null],"b":null}`},
	{"words that are text", "a: yep\nb: tRUE\nc: onn\nd: 'no'\ne: nULL\n",
		`{"a":"yep","b":"tRUE","c":"onn","d":"no","e":"nULL"}`},
	{"integers", "[0, -1, +1, 010, -017, 0o17, 0x1F, -0x1f, 0b101, 1_000_000, 08, -0, 00]",
		`[0,-1,1,8,-15,15,31,-31,5,1000000,8,0,0]`},
	{"integers beyond 64 bits",
		"[18446744073709551615, 18446744073709551616, -98765432109876543210, 0778888888888888888888]",
		`[18446744073709551615,18446744073709552000,-98765432109876540000,778888888888888900000]`},
	{"binary with an inner sign", "[0b-11, 0b+11]", `[-3,3]`},
	{"floats", "[1.0, 1.50, .5, 5., +5.5, 1e3, 1.5E-3, 007.5, -.5e+3, -0.0, 1_0.5_0]",
		`[1,1.5,0.5,5,5.5,1000,0.0015,7.5,-500,-0,10.5]`},
	{"float beyond 64 bits, text upstream", "a: 1e400\n", `{"a":1e400}`},
	{"near numbers", "- 1.2.3\n- 0x\n- 1e\n- 1:30\n- 0x1p3\n- 0xFFFFFFFFFFFFFFFFF\n- 1-2\n- ._5\n- +-1\n- 1 2\n- .\n",
		`["1.2.3","0x","1e","1:30","0x1p3","0xFFFFFFFFFFFFFFFFF","1-2","._5","+-1","1 2","."]`},
	{"times", "a: 2024-02-29\nb: 2024-02-29T12:30:00Z\nc: 2001-12-14 21:59:43.10 -5\n",
		`{"a":"2024-02-29","b":"2024-02-29T12:30:00Z","c":"2001-12-14 21:59:43.10 -5"}`},
	{"keys", "y: 1\n3: 2\n0x3: 3\n1.50: 4\n.inf: 5\n1e400: 6\n'yes': 7\n2020-01-01: 8\n1e30: 9\n",
		`{"true":1,"3":2,"3":3,"1.5":4,".inf":5,"1e400":6,"yes":7,"2020-01-01":8,"1e+30":9}`},

	{"tags",
		"[!!str 7, !!int '12', !!float 3, !!bool 'yes', !!null '', !mine 12, ! 12, !!timestamp 2020-01-01]",
		`["7",12,3,true,null,"12","12","2020-01-01"]`},
	{"long tag", "!<tag:yaml.org,2002:int> '1'", `1`},
	{"binary", "[!!binary aGVsbG8=, !!binary /w==]", `["hello","\ufffd"]`},
	{"tags on collections", "a: !!set {b}\nc: !x [d]\n", `{"a":{"b":null},"c":["d"]}`},
	{"explicit key", "? a\n: b\n", `{"a":"b"}`},

	{"alias", "a: &x [1, 2]\nb: *x\nc: &y d\n*y : e\n", `{"a":[1,2],"b":[1,2],"c":"d","d":"e"}`},
	{"anchor defined twice", "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", `{"a":1,"b":1,"c":2,"d":2}`},
	{"merge", "a: &x {b: 1, c: 2}\nd: {e: 0, <<: *x}\nf: {<<: {g: 1}}\n",
		`{"a":{"b":1,"c":2},"d":{"b":1,"c":2,"e":0},"f":{"g":1}}`},
	{"merge, the mapping's own below", "<<: {a: 1, b: 2}\na: 3\n", `{"a":3,"b":2}`},
	{"merge, the mapping's own above", "a: 3\n<<: {a: 1, b: 2}\n", `{"a":1,"b":2}`},
	{"merge, the mapping's own on both sides", "a: 3\n<<: {a: 1, b: 2}\na: 4\n", `{"a":4,"b":2}`},
	{"merge list", "<<: [{a: 1}, {a: 2, b: 3}]\n", `{"a":1,"b":3}`},
	{"merge in a merge", "<<: {<<: {a: 1, b: 1}, b: 2}\n", `{"a":1,"b":2}`},
	{"quoted merge key", "'<<': 1\n", `{"<<":1}`},

	{"literal", "a: |\n\n  b\n    c\n\n  d # e\n\n\nf: |-\n  g\n\nh: |+\n  i\n\nj: k\n",
		`{"a":"\nb\n  c\n\nd # e\n","f":"g","h":"i\n\n","j":"k"}`},
	{"literal, indent given", "a: |2+\n\n    b\n   c\n\nd:\n- |-1\n   e\n  f\n", `{"a":"\n  b\n c\n\n","d":["  e\n f"]}`},
	{"literal, empty", "a: |\nb: |+\n\nc: |-\n\n", `{"a":"","b":"\n","c":""}`},
	{"literal with blank lines", "a: |\n  b\n \n   \n  c\n", `{"a":"b\n\n \nc\n"}`},
	{"literal with an indent", "a: |2\n    b\n", `{"a":"  b\n"}`},
	{"literal, not ended", "a: |\n  b", `{"a":"b\n"}`},
	{"literal, not ended after spaces", "a: |\n  b\n   ", `{"a":"b\n \n"}`},
	{"folded", "a: >\n  b\n  c\n\n  d\nb: >-\n  e\n", `{"a":"b c\nd\n","b":"e"}`},
	{"double quotes", "a: \"b\\n\\\"\\u00fc\\x41\\U0001F600 \\\n  c\n\n  d \n  e\\ \n  f\"\n",
		`{"a":"b\n\"üA😀 c\nd e  f"}`},
	{"single quotes", "a: 'it''s \n\n\n  b\n  c'\nd: ''\n", `{"a":"it's\n\nb c","d":""}`},
	{"plain on several lines", "a: b\n  c # not more\nd: e\n", `{"a":"b c","d":"e"}`},
	{"blank lines in plain text", "a: b\n\n\n  - c\n  d\n", `{"a":"b\n\n- c d"}`},
	{"escapes in JSON", "a: \"\\0\\a\\b\\f\\e\\L<>&\"\n", `{"a":"\u0000\u0007\b\f\u001b` + "\u2028" + `<>&"}`},

	{"corner: colon in a flow mapping", "{a:}", `{"a:":null}`},
	{"corner: comment behind a quote", "b: 'x'#c\na: 1.50", `{"a":1.5,"b":"x"}`},
	{"corner: dash in a flow list", "[-, b]", `["-","b"]`},
}

func TestAppend(t *testing.T) {
	for _, c := range conversions {
		t.Run(c.name, func(t *testing.T) {
			prefix := []byte("before")
			got, err := Append(prefix, []byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "before"+c.want {
				t.Errorf("got  %s\nwant %s", got[len(prefix):], c.want)
			}
			upstream, err := yaml.YAMLToJSON(ended([]byte(c.doc)))
			if err != nil {
				t.Fatalf("upstream: %v", err)
			}
			if !sameJSON([]byte(c.want), upstream) {
				t.Errorf("want     %s\nupstream %s", c.want, upstream)
			}
			slow, _, err := appendSlow(nil, ended(bytes.TrimPrefix([]byte(c.doc), []byte(byteOrderMark))), nil)
			if err != nil || !sameJSON([]byte(c.want), slow) {
				t.Errorf("slow %s, %v\nwant %s", slow, err, c.want)
			}
		})
	}
}

func TestAppendEmpty(t *testing.T) {
	for _, doc := range []string{
		"", "\n", "  \n\t\n", "# a\n", "---\n", "--- # a\n", "---", "...\n", "---\n...\n# a\n", "\uFEFF", "\r\n",
	} {
		got, err := Append([]byte("before"), []byte(doc))
		if err != ErrEmpty || string(got) != "before" {
			t.Errorf("%q: got %q, %v", doc, got, err)
		}
	}
}

// The place of an error is where to look for it; the message need not be ours.
var failures = []struct{ name, doc, want string }{
	{"not ended", "a: 1\nname: [teapot\n", "2:7: "},
	{"quote not ended", "a: \"b\nc: d\n", "1:4: "},
	{"tab", "schema: s\nvalue:\n\tnested: 1\n", "3:1: a tab"},
	{"tab after a dash", "a:\n  -\tb\n", "2:4: a tab"},
	{"key beyond 1,024 characters", strings.Repeat("k", 1100) + ": v\n", "1:"},
	{"text after a comment", "a: b\n# c\n  d\n", "3:"},
	{"tab in a text block", "a: |\n \tb\n", "2:2: a tab"},
	{"second marker with a key", "a: 1\n--- b: 2\n", "2:1: a second document begins here"},
	{"key beside the end", "a: 1\n... b: 2\n", "2:5: content after ... without --- before it"},
	{"two colons", "a: 1\nb: c: d\n", "2:5: mapping values are not allowed in this context; put the value in quotes: b: 'c: d'"},
	{"indent", "a: 1\n  b: 2\n", `2:4: mapping values are not allowed in this context; begin the key "b" in column 1, ` +
		`as the key "a" above`},
	{"indent in a list", "- a: it's\n\n   b: 2\n", `3:5: mapping values are not allowed in this context; ` +
		`begin the key "b" in column 3, as the key "a" above`},
	{"too few spaces", "a:\n- b: 1\n c: 2\n", "3:2: while parsing a block mapping: did not find expected key; " +
		"no key above begins in column 2: correct the spaces before the key"},
	{"dash between columns", "a:\n  - b: 1\n - c: 2\n", "3:2: while parsing a block mapping: did not find expected key; " +
		"no list above begins in column 2: correct the spaces before the dash"},
	{"no space after a colon", "a: 1\nb:2\nc: 3\n", "2:1: while scanning a simple key: could not find expected ':'; " +
		"a colon and a space are missing after the key"},
	{"no space after a colon in a list", "- a:1\n  b: 2\n", "2:4: mapping values are not allowed in this context; " +
		"the line above has no space after its colon"},
	{"range without quotes", "a: >=1.0 <2.0\n", "1:5: while scanning a block scalar: did not find expected comment or line " +
		"break; put the value in quotes: a: '>=1.0 <2.0'"},
	{"conflict", "a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n", "2:1: a conflict marker of git: keep one of the two"},
	{"conflict in a list", "a:\n- b\n<<<<<<< HEAD\n- c\n=======\n- d\n>>>>>>> x\n", "3:1: a conflict marker of git"},
	{"end of a conflict", "a: 1\n=======\n", "2:1: a conflict marker of git"},
	{"conflict above a document", "<<<<<<< HEAD\n", "1:1: a conflict marker of git"},
	{"dash among keys", "a: 1\n- b\n", "2:1: "},
	{"escape", "a: \"\\q\"\n", "1:5: "},
	{"at sign", "a: 1\nb: @c\n", "2:4: "},
	{"list as a key", "a: 1\n? [b]\n: c\n", "2:3: a key must be a scalar"},
	{"mapping as a key", "{a: 1}: b\n", "1:1: a key must be a scalar"},
	{"alias to a list as a key", "a: &x [1]\n*x : b\n", "2:1: a key must be a scalar"},
	{"null as a key", "a: 1\n~: 2\n", "2:1: ~ cannot be a key"},
	{"large integer as a key", "a:\n- 18446744073709551615: b\n", "2:3: 18446744073709551615 cannot be a key"},
	{"infinity", "a: ü\nü: -.inf\n", "2:4: -.inf has no form in JSON"},
	{"not a number", "[1, .NaN]", "1:5: .NaN has no form in JSON"},
	{"tag", "a: !!int b\n", `1:4: "b" is not valid with the tag !!int`},
	{"tag on a large number", "a: !!float 18446744073709551615\n", "1:4: "},
	{"tag on no time", "a: !!timestamp today\n", `1:4: "today" is not valid with the tag !!timestamp`},
	{"not base64", "a: !!binary ä\n", `1:4: "ä" is not valid with the tag !!binary`},
	{"unknown anchor", "a: 1\nb: *c\n", "2:4: "},
	{"anchor in itself", "a: &x\n  b: [*x]\n", `2:7: anchor "x" contains itself`},
	{"merge of itself", "a: &x\n  <<: *x\n", `2:7: anchor "x" contains itself`},
	{"merge of a list", "a: &x [1]\n<<: *x\n", "2:5: a merge key takes a mapping or a list of mappings"},
	{"merge of a scalar", "<<: a\n", "1:5: a merge key takes a mapping or a list of mappings"},
	{"directive", "# a\n%YAML 1.1\n---\na: 1\n", "2:1: directives are not supported"},
	{"content beside the marker", "--- {a: 1}\n", "1:1: only a comment may follow ---"},
	{"second marker", "a: 1\n---\nb: 2\n", "2:1: a second document begins here"},
	{"two markers", "---\n---\nb: 2\n", "2:1: a second document begins here"},
	{"content after the end", "a: 1\n...\n# b\n  c: 2\n", "4:3: content after ... without --- before it"},
	{"content beside the end", "a: 1\n... b\n", "2:5: content after ... without --- before it"},
	{"content after an end at the start", "...\na: 1\n", "2:1: content after ... without --- before it"},
	{"second document after a rare break", "a: 1\u2028...\u2028b: 2\n", "1:10: content after"},
	{"content after a root in brackets", "{a: 1}\n{b: 2}\n", "2:1: content after the end"},
	{"not UTF-8", "a: 1\nbü: \xff\n", "2:5: not UTF-8"},
	{"UTF-16", "\xff\xfea\x00", "1:1: not UTF-8"},
	{"surrogate", "a: \xed\xa0\x80\n", "1:4: not UTF-8"},
	{"NUL", "a: \x00\n", "1:4: control character U+0000"},
	{"control character", "a: 1\nlong enough to be looked at: \x1b\n", "2:30: control character U+001B"},
	{"delete", "a: \x7f\n", "1:4: control character U+007F"},
	{"delete in a long text", "a: 012345678901234567890123456789\x7f0123456789\n", "1:34: control character U+007F"},
	{"C1 control character", "a: \u0080\n", "1:4: control character U+0080"},
	{"place after CR LF", "a: 1\r\nb: c: d\r\n", "2:5: "},
	{"place after CR", "a: 1\rb: @\r", "1:9: "},
	{"place after a byte order mark", "\uFEFFa: @\n", "1:4: "},
}

func TestAppendErrors(t *testing.T) {
	for _, c := range failures {
		t.Run(c.name, func(t *testing.T) {
			got, err := Append([]byte("before"), []byte(c.doc))
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got %s, %v", got, err)
			}
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if string(got) != "before" {
				t.Errorf("dst is now %q", got)
			}
		})
	}
}

// canonical prints JSON with sorted keys and numbers of 64-bit floating point.
func canonical(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// documents returns the documents of published catalogs.
func documents(t testing.TB) [][]byte {
	t.Helper()
	var docs [][]byte
	for _, path := range shared.CatalogFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			continue
		}
		docs = append(docs, bytes.Split(data, []byte("\n---\n"))...)
	}
	return docs
}

func TestCatalogs(t *testing.T) {
	docs := documents(t)
	slow := 0
	for i, doc := range docs {
		if isEmptyText(doc) {
			continue
		}
		found, _ := checkCharacters(doc)
		fast, ok := appendFast(nil, doc, found, nil)
		if !ok {
			slow++
		}
		if !ok || i%shared.Step(1, 16) > 0 {
			continue // the slow reader takes its time
		}
		if _, _, err := appendSlow(nil, doc, nil); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		upstream, err := yaml.YAMLToJSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := canonical(t, fast), canonical(t, upstream); got != want {
			t.Fatalf("got      %s\nupstream %s", got, want)
		}
	}
	if slow*100 > len(docs) {
		t.Errorf("the fast reader leaves %d of %d documents", slow, len(docs))
	}
}

// TestClash checks keys that are equal only in JSON, of which upstream takes any.
func TestClash(t *testing.T) {
	for doc, want := range map[string]string{
		"{a: 1, 8: b, 08: b, '8': c}": `1:14: the key "8" is there twice, in different notations`,
		"{y: d, 'true': e}":           `1:8: the key "true" is there twice, in different notations`,
	} {
		if got, err := Append(nil, []byte(doc)); err == nil || err.Error() != want {
			t.Errorf("%s: got %s, %v, want %s", doc, got, err, want)
		}
	}
}

func TestRepeated(t *testing.T) {
	for doc, want := range map[string]bool{
		"{a: 1, b: {a: 1}}": false, "{a: 1, a: 2}": true, "[{y: 1, yes: 2}]": true, "{8: 1, 010: 2, 0x8: 3}": true,
		"a: &a {b: 1}\nc: {<<: *a, b: 2}\n": false, "a: &a {b: 1, b: 2}\nc: *a\n": true,
		"a: 1\na: 2\n": false, // the JSON has both
	} {
		if _, got, err := Convert(nil, []byte(doc), nil, nil); got != want || err != nil {
			t.Errorf("%q: got %t, %v", doc, got, err)
		}
	}
}

func TestTrace(t *testing.T) {
	const doc = "\uFEFF--- # x\r\na: 1\r\n'b':\r\n- c\r\n-\r\n- - d: \"e\"\r\n    f:\r\ng: {}\r\n"
	var source Source
	out, _, err := Convert(nil, []byte(doc), &source, nil)
	if want := `{"a":1,"b":["c",null,[{"d":"e","f":null}]],"g":{}}`; err != nil || string(out) != want {
		t.Fatalf("got %s, %v", out, err)
	}
	for from, want := range map[string]string{
		`{"a"`: "a: 1", `"a"`: "a: 1", `1`: "1\n", `"b"`: "'b':", `["c"`: "- c", `"c"`: "c\n-", `null,`: "\n- - d", `[{"d"`: "- d",
		`{"d"`: "d: ", `"e"`: `"e"`, `null}`: "\ng", `{}`: "{}",
	} {
		offset := source.Offset(strings.Index(string(out), from))
		if !strings.HasPrefix(string(source.Text[offset:]), want) {
			t.Errorf("%s comes from %q, want %q", from, source.Text[offset:], want)
		}
	}
	if again := source.Trace([]byte(doc)); string(again) != string(out) {
		t.Errorf("got %s, then %s", out, again)
	}
	if _, _, err := Convert(nil, []byte("{a: 1}"), &source, nil); err != nil || source.Text != nil {
		t.Errorf("flow style is traced, %v", err)
	}
}
