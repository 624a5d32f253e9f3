package declcfg_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// streams are files with the results of reading them; see readStream.
var streams = []struct {
	name, in string
	want     []string
}{
	{"nothing", "", nil},
	{"space", " \n\t\r\n", nil},
	{"a byte order mark", "\ufeff", nil},

	{"JSON on one line", `{"schema":"a"}`, []string{`1:1 {"schema":"a"}`}},
	{
		"JSON objects without a break, and after spaces and lines", `{"schema":"a"}{"schema":"b"}  {"schema":"c"}` + "\n\r\n\t{\"schema\":\"d\"}\n",
		[]string{`1:1 {"schema":"a"}`, `1:15 {"schema":"b"}`, `1:31 {"schema":"c"}`, `3:2 {"schema":"d"}`},
	},
	{
		"JSON over lines", "{\n  \"schema\": \"a\",\n  \"x\": [{},\n{}]\n}\n{\n\"schema\": \"b\"}",
		[]string{"1:1 {\n  \"schema\": \"a\",\n  \"x\": [{},\n{}]\n}", "6:1 {\n\"schema\": \"b\"}"},
	},
	{
		"JSON with CRLF", "{\r\n\"schema\":\"a\"}\r\n{\"schema\":\"b\"}\r\n",
		[]string{"1:1 {\r\n\"schema\":\"a\"}", `3:1 {"schema":"b"}`},
	},
	{
		"brackets in strings", `{"schema":"a}{\"","x":"\\"}{"schema":"[{\\\""}{"schema":"b"}`,
		[]string{`1:1 {"schema":"a}{\"","x":"\\"}`, `1:28 {"schema":"[{\\\""}`, `1:47 {"schema":"b"}`},
	},
	{
		"columns count characters", `{"schema":"añ☺😀"}{"schema":"b","name":1}`,
		[]string{`1:1 {"schema":"añ☺😀"}`, "1:39: name must be a string, found a number; put it in quotes"},
	},

	{"YAML", "schema: a\nname: x\n", []string{`1:1 {"schema":"a","name":"x"}`}},
	{
		"YAML documents", "---\nschema: a\n---\nschema: b\n--- # comment\nschema: c\n---\n",
		[]string{`2:1 {"schema":"a"}`, `4:1 {"schema":"b"}`, `6:1 {"schema":"c"}`},
	},
	{
		"YAML with CRLF", "---\r\nschema: a\r\nname: |\r\n  x\r\n---\r\n\r\nschema: b\r\n",
		[]string{`2:1 {"schema":"a","name":"x\n"}`, `7:1 {"schema":"b"}`},
	},
	{
		"YAML with a byte order mark", "\ufeffschema: a\nname: [1]\n---\nschema: b\n",
		[]string{"2:7: name must be a string, found a list", `4:1 {"schema":"b"}`},
	},
	{"a byte order mark and a marker", "\ufeff---\nschema: a\n", []string{`2:1 {"schema":"a"}`}},
	{"JSON after a byte order mark", "\ufeff{\"schema\":\"a\",\"name\":1}", []string{`1:22: name must be a string, found a number; put it in quotes`}},
	{"a place before which a byte order mark stands", "\ufeff{schema: a}", []string{`1:1 {"schema":"a"}`}},
	{
		"documents without content", "---\n---\n# comment\n---\n\n  # comment\n\n--- #\nschema: a\n---\n---\n",
		[]string{`9:1 {"schema":"a"}`},
	},
	{
		"comments before an object", "# one\n\n  # two\n  schema: a\n---\n# three\nschema: b\n",
		[]string{`4:3 {"schema":"a"}`, `7:1 {"schema":"b"}`},
	},
	{
		"the end of a document", "schema: a\n...\n---\nschema: b\n...\n# comment\n",
		[]string{`1:1 {"schema":"a"}`, `4:1 {"schema":"b"}`},
	},
	{
		"content after the end of a document", "schema: a\n...\nschema: b\n---\nschema: c\n",
		[]string{"3:1: content after ... without --- before it", `5:1 {"schema":"c"}`},
	},
	{
		"text after a marker", "--- {schema: a}\n---b: c\n---\nschema: d\n",
		[]string{
			"1:4: only a comment may follow --- on its line", "2:4: only a comment may follow --- on its line", `4:1 {"schema":"d"}`,
		},
	},
	{
		"hyphens inside a document", "schema: a\nx: ---\ny: |\n  ---\n  z\n ---\n",
		[]string{"6:2: mapping"},
	},
	{"anchors", "schema: &s a\nname: *s\n", []string{`1:1 {"name":"a","schema":"a"}`}},
	{
		"anchors end with their document", "schema: &s a\n---\nschema: *s\n",
		[]string{`1:1 {"schema":"a"}`, "3:9: unknown anchor"},
	},
	{"keys in flow style", "{schema: a}\n---\n{schema: b}\n", []string{`1:1 {"schema":"a"}`, `3:1 {"schema":"b"}`}},

	{
		"YAML after one object of JSON", "{\"schema\":\"a\"}\n---\nschema: b\n---\n{\"schema\":\"c\"}\n",
		[]string{`1:1 {"schema":"a"}`, `3:1 {"schema":"b"}`, `5:1 {"schema":"c"}`},
	},
	{
		"YAML after one object of JSON and a comment", "{\"schema\":\"a\"}\n# comment\n---\nschema: b\n",
		[]string{`1:1 {"schema":"a"}`, `4:1 {"schema":"b"}`},
	},
	{
		"YAML behind the object of JSON", "{\"schema\":\"a\"} schema: b\nname: c\n",
		[]string{`1:1 {"schema":"a"}`, "2:1: content after the end of the document"},
	},
	{
		"YAML after two objects of JSON", "{\"schema\":\"a\"}\n{\"schema\":\"b\"}\n---\nschema: c\n",
		[]string{
			`1:1 {"schema":"a"}`, `2:1 {"schema":"b"}`,
			"3:1: YAML in a file that begins with two JSON objects, which is JSON to its end",
		},
	},
	{
		"JSON after YAML", "schema: a\n---\n{\"schema\":\"b\"}\n---\n{\"schema\":\n\"c\"}\n",
		[]string{`1:1 {"schema":"a"}`, `3:1 {"schema":"b"}`, `5:1 {"schema":"c"}`},
	},
	{
		"YAML that looks like JSON", "{\"schema\": a, # comment\n 'name': b, }\n---\nschema: c\n",
		[]string{`1:1 {"name":"b","schema":"a"}`, `4:1 {"schema":"c"}`},
	},

	{"a scalar", "text\n---\nschema: a\n", []string{"1:1: want an object, found a string", `3:1 {"schema":"a"}`}},
	{"a number", "# c\n1.5\n", []string{"2:1: want an object, found a number"}},
	{"null", "null\n---\n~\n", []string{"1:1: want an object, found null", "3:1: want an object, found null"}},
	{"a boolean", "yes\n", []string{"1:1: want an object, found a boolean"}},
	{"a list in flow style", "[{\"schema\":\"a\"}]\n---\nschema: b\n", []string{"1:1: want an object, found a list", `3:1 {"schema":"b"}`}},
	{"a list in block style", "- schema: a\n-\n---\n\n-\n", []string{"1:1: want an object, found a list", "5:1: want an object, found a list"}},
	{
		"values in JSON that are no objects", `{"schema":"a"} null [{"schema":"b"}] "c" 1 true {"schema":"d"}`,
		[]string{
			`1:1 {"schema":"a"}`, "1:16: want an object, found null", "1:21: want an object, found a list",
			"1:38: want an object, found a string", "1:42: want an object, found a number", "1:44: want an object, found a boolean",
			`1:49 {"schema":"d"}`,
		},
	},

	{"no schema", `{"name":"a"}{}{"schema":""}`, []string{
		"1:1: object is missing root schema field", "1:13: object is missing root schema field", "1:15: object is missing root schema field",
	}},
	{"no schema in YAML", "name: a\n---\nschema: ''\n", []string{"1:1: object is missing root schema field", "3:1: object is missing root schema field"}},
	{
		"other objects without a schema", "apiVersion: v1\nkind: Secret\n---\nshcema: olm.bundle\nname: a\n",
		[]string{
			"1:1: object is missing root schema field; it is a manifest of Kubernetes: move it out of the catalog, or add its " +
				"file to .indexignore",
			`4:1: object is missing root schema field; did you mean "schema" by the key "shcema"?`,
		},
	},
	{
		"what is not text", "schema: 1\n---\nschema: a\npackage: yes\n---\nname: [x]\nschema: a\n---\nschema:\n---\n{schema: a, package: {}}\n",
		[]string{
			"1:9: schema must be a string, found a number; put it in quotes", "4:10: package must be a string, found a boolean; put it in quotes",
			"6:7: name must be a string, found a list", "9:8: schema must be a string, found null",
			"11:22: package must be a string, found an object",
		},
	},
	{"null is not text", `{"schema":"a","name":null,"package":null}`, []string{"1:22: name must be a string, found null"}},
	{
		"keys in other case", `{"SCHEMA":"a","Package":"p"}`, []string{`1:1 {"SCHEMA":"a","Package":"p"}`},
	},
	{
		"keys that differ in case", "{\"schema\":\"a\",\"Schema\":\"a\"}{\"schema\":\"a\",\"É\":1,\"é\":2}{\"schema\":\"a\",\"ſ\":1,\"s\":2}",
		[]string{
			`1:24: the key "Schema" is repeated in another case`, `1:52: the key "é" is repeated in another case`,
			`1:78: the key "s" is repeated in another case`,
		},
	},
	{
		"keys that only seem to differ in case", `{"schema":"a","İ":1,"i":2,"ß":3,"ss":4}`,
		[]string{`1:1 {"schema":"a","İ":1,"i":2,"ß":3,"ss":4}`},
	},
	{
		"keys that differ in case deeper down", `{"schema":"a","x":{"y":1,"Y":2}}`, []string{`1:1 {"schema":"a","x":{"y":1,"Y":2}}`},
	},

	{"the last of equal keys", `{"schema":"a","x":{"y":1,"y":2},"schema":"b"}`, []string{`1:1 {"schema":"b","x":{"y":2}}`}},
	{"the last of equal keys in YAML", "schema: a\nname: x\nschema: b\n", []string{`1:1 {"name":"x","schema":"b"}`}},
	{"an object after a repaired one", `{"schema":"a","schema":"b"} {"schema":"c"}`, []string{`1:1 {"schema":"b"}`, `1:29 {"schema":"c"}`}},
	{"bytes that are not UTF-8", "{\"schema\":\"a\xff\xe2\x82b\"}\n{\"schema\":\"c\"}", []string{`1:1 {"schema":"a���b"}`, `2:1 {"schema":"c"}`}},
	{"half a surrogate pair", `{"schema":"\ud83d\ude00\ud83d","x":"\udc00\u0041"}`, []string{`1:1 {"schema":"😀�","x":"�A"}`}},
	{"an error in a repaired object", `{"name":"a","name":1}`, []string{"1:20: name must be a string, found a number; put it in quotes"}},

	{
		"JSON that ends too early", "{\"schema\":\"a\"}{\"schema\":\"b\"}\n{\"schema\":\"c\",\n\"x\":[1\n\n",
		[]string{`1:1 {"schema":"a"}`, `1:15 {"schema":"b"}`, "3:7: the JSON object that starts at 2:1 does not end"},
	},
	{
		"JSON of which the first object ends too early", "\n  {\n  \"schema\": \"a\",\n  \"name\": \"b\n",
		[]string{"4:13: not valid JSON: invalid character '\\n' in string (expecting non-control character)"},
	},
	{
		"JSON of which the first object ends in a string", "\n  {\n  \"schema\": \"a\",\n  \"name\": \"b",
		[]string{"4:13: the JSON object that starts at 2:3 does not end"},
	},
	{
		"JSON without a closing bracket", "{\"schema\":\"a\"}\n{\"schema\":\"b\",\"x\":[{\"y\":1}\n{\"schema\":\"c\"}",
		[]string{`1:1 {"schema":"a"}`, "3:1: not valid JSON: invalid character '{' after array element (expecting ',' or ']')"},
	},
	{
		"JSON without a closing bracket further down",
		"{\"schema\":\"a\"}\n{\"schema\":\"b\"}\n{\"schema\":\"c\",\"x\":[{\"y\":1}\n{\"schema\":\"d\"}\n{\"schema\":\"e\"}\n",
		[]string{
			`1:1 {"schema":"a"}`, `2:1 {"schema":"b"}`,
			"4:1: not valid JSON: invalid character '{' after array element (expecting ',' or ']')",
		},
	},
	{
		"JSON with a comma between objects", `{"schema":"a"}{"schema":"b"},{"schema":"c"}`,
		[]string{`1:1 {"schema":"a"}`, `1:15 {"schema":"b"}`, "1:29: not valid JSON: invalid character ',' at start of value"},
	},
	{
		"JSON that ends in a word", `{"schema":"a"}{"schema":"b"}n[{"schema":"c"}{"schema":"d"}`,
		[]string{`1:1 {"schema":"a"}`, `1:15 {"schema":"b"}`, "1:30: not valid JSON: invalid character '[' in literal null (expecting 'u')"},
	},
	{
		"a control character in JSON", "{\"schema\":\"a\x00\"}",
		[]string{"1:13: not valid JSON: invalid character '\\x00' in string (expecting non-control character)"},
	},
	{"a control character in YAML", "schema: a\nname: \x00\n---\nschema: b\n", []string{"2:7: control character U+0000", `4:1 {"schema":"b"}`}},
	{"YAML that is not UTF-8", "schema: é\xff\n---\nschema: b\n", []string{"1:10: not UTF-8", `3:1 {"schema":"b"}`}},
	{"a tab in YAML", "schema: a\n\tname: b\n---\nschema: b\n", []string{"2:1: a tab, where only spaces may indent", `4:1 {"schema":"b"}`}},
	{
		"YAML that does not parse", "schema: a\n---\n# c\nschema: b\nname: [x\n---\nschema: c\n",
		[]string{`1:1 {"schema":"a"}`, "5:7: while parsing a flow sequence: did not find expected ',' or ']'", `7:1 {"schema":"c"}`},
	},
	{"a directive", "%YAML 1.2\n---\nschema: a\n", []string{"1:1: directives are not supported", `3:1 {"schema":"a"}`}},
	{
		"an error of the first document is not that of the next", "{\"schema\":\"a\"}\n# c\n{\"a\": b: c}\n---\n{\"schema\": d, x: y: z}\n",
		[]string{`1:1 {"schema":"a"}`, "3:8: mapping", "5:19: mapping"},
	},
}

// readStream reads in as a file of a catalog. Its results omit the name of the file, and the wording of errors of the
// YAML parser.
func readStream(t testing.TB, in string) []string {
	t.Helper()
	got := read(t, source("a.yaml", in))
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "c/a.yaml:")
		for _, stable := range []string{"unknown anchor", "mapping"} {
			if place, words, ok := strings.Cut(got[i], ": "); ok && !strings.Contains(place, "{") && strings.Contains(words, stable) {
				got[i] = place + ": " + stable
			}
		}
	}
	return got
}

func TestStreams(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) { expect(t, readStream(t, tt.in), tt.want) })
	}
}

// TestStreamsInChunks checks that chunk boundaries do not affect the result.
func TestStreamsInChunks(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in)+1; size++ {
				declcfg.SetChunkSize(t, size)
				if got := readStream(t, tt.in); !slices.Equal(got, tt.want) {
					t.Errorf("in chunks of %d:", size)
					expect(t, got, tt.want)
				}
			}
		})
	}
}

// TestManyChunks checks that all objects of a file with many chunks are read in order.
func TestManyChunks(t *testing.T) {
	for name, object := range map[string]string{
		"JSON on one line": `{"schema":"a","x":["}{"]}`,
		"JSON in lines":    "{\"schema\":\"a\",\n\"x\":[{},\n{}]}\n",
		"pretty JSON":      "{\n    \"schema\": \"a\",\n    \"x\": [\n        {}\n    ]\n}\n",
		"YAML":             "---\nschema: a\nx: |\n  {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			declcfg.SetChunkSize(t, 1<<10)
			const n = 3000
			got := read(t, source("a", strings.Repeat(object, n)))
			if len(got) != n {
				t.Fatalf("%d objects, want %d", len(got), n)
			}
			want := read(t, source("a", object))[0]
			_, want, _ = strings.Cut(want, " ")
			for _, g := range got {
				if _, g, _ = strings.Cut(g, " "); g != want {
					t.Fatalf("got %q, want %q", g, want)
				}
			}
		})
	}
}
