package format

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

func TestAppendJSON(t *testing.T) {
	in := jsontext.Value(`{"b": {"z": [], "y": {}, "x": [1, [true, null]]}, "a": 1, "\u0062": "last", "a": "<&>"}`)
	const want = `> {
            "a": "<&>",
            "b": "last"
        }`
	if got := string(AppendJSON([]byte("> "), in, 2)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const compact = `> {"a":"<&>","b":"last"}`
	if got := string(AppendCompact([]byte("> "), in)); got != compact {
		t.Errorf("got %s, want %s", got, compact)
	}
}

func TestAppendYAML(t *testing.T) {
	const in = `{"b": [[1, [2]], {"k": ["v"], "a": {}}], "a": {"item10": [], "item9": "two\nlines"}, "y": null}`
	const want = `> a:
  item9: |-
    two
    lines
  item10: []
b:
- - 1
  - - 2
- a: {}
  k:
  - v
"y": null
`
	if got := string(AppendYAML([]byte("> "), jsontext.Value(in))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDepartures covers values that upstream prints in another way: it would lose the value of "<<" and leave 1e400
// without quotes.
func TestDepartures(t *testing.T) {
	const in = `{"<<": {"a": "1e400", "b": 1e400, "c": "<<"}, "-1e999": 9007199254740993}`
	const want = `"-1e999": 9007199254740993
"<<":
  a: "1e400"
  b: 1e400
  c: <<
`
	same(t, "departures", string(AppendYAML(nil, jsontext.Value(in))), want)
	check(t, in)
	check(t, `{"<<": {"a": 1}}`)
}

// TestCyclicKeys checks that keys whose natural order is cyclic are printed in the same order for any input.
func TestCyclicKeys(t *testing.T) {
	const want = "a10: 0\na1b: 0\na2: 0\n"
	for _, in := range []string{`{"a10":0,"a1b":0,"a2":0}`, `{"a2":0,"a10":0,"a1b":0}`, `{"a1b":0,"a2":0,"a10":0}`} {
		same(t, in, string(AppendYAML(nil, jsontext.Value(in))), want)
	}
}

// values are JSON texts to compare with upstream.
var values = []string{
	``, ` `, `null`, ` true `, `false`, `0`, `-0`, `""`, `[]`, `{}`, " [ ] ", "\t{\n}\r", `"text"`, `"a\nb"`, `"a\nb\n"`,
	`[[],{},[[]],[{}],[[[1]]],{"a":[[{"b":[]}]]}]`,
	`{"a":{"a":{},"b":[],"c":[1],"d":{"e":null}},"b":[{"a":1,"b":[{"c":2}]},[{"a":1},[2]]]}`,
	`{"dup":1,"dup":{"a":1,"a":2},"d\u0075p":[3],"\ud800":1,"\udfff":2}`,
	`["\/","\u002f","\u003c\u003E&","\u00e9","\ud83d\ude80","\ud83d","\ude80\ud83d","\ud83dx","\ud83d\u0041","\ud83d\n"]`,
	`["\b\f\n\r\t\"\\","\u0008\u000c\u000A\u000d\u0009\u0022\u005c","\u0000\u001f\u007f\u0085","\u2028\u2029 \u2027"]`,
	"[\"\u2028\u2029\u2030\u007f\u0085\ufeff\ufffd\U0001F600\", \"\ufeffabc def\"]",
	`{"item10":1,"item9":2,"item1":3,"Item":4,"_under":5,"7":6,"a01":7,"a1":8,"a001b":9,"é":10,"e":11,"101":12,"11":13}`,
	`{"k\nl":[1,{"a":[]}],"k\rl":{"x":{"y":1},"z":[[1,2],[]]},"\u2028":{"a\n":1},"\u0085":0,"":{"":[""]}}`,
	`{"` + strings.Repeat("k", 128) + `":1,"` + strings.Repeat("key ", 33) + `x":[2]}`,
	`{"` + strings.Repeat("é", 65) + `":{"a":3}}`,
	`{"` + strings.Repeat("k", 100) + `":" \tx y","` + strings.Repeat("l", 100) + `":" x y ","m":"\t` +
		strings.Repeat("x   y ", 30) + ` "}`,
	`{"a":"a\nb\u2028\u2028c\u2028","b":"\u2028x  y\u2028","c":"x\u2028 y","d":"x \u2028y","e":"\n\u2028"}`,
	`{"a":["\n"],"b":" \nx","c":"\n\n","d":"\nx","e":"  x\n","f":"x\n y \n","g":"x\n y\n z","h":"x\n "}`,
	`[1.0,1.10,0.1,0.000001,0.0000001,1e2,1E+2,1.5e-9,9007199254740991,100000000000000000000,1000000000000000000000]`,
	`[9007199254740993,12345678901234567890,3.141592653589793238,1e400,-1e400,1e-400,{"a":9223372036854775808}]`,
}

func TestValues(t *testing.T) {
	for _, text := range values {
		if strings.TrimSpace(text) == "" {
			same(t, "nothing", string(AppendJSON(nil, []byte(text), 0)), "null")
			continue
		}
		check(t, text)
	}
}

// fragments are the parts of random strings.
var fragments = []string{
	" ", " ", "  ", `\n`, `\n`, "word", "it's", "a longer piece of text that fills the line", ":", ": ", " #", "#", "-",
	"- ", "?", ",", "[", "{", "}", "'", `\"`, `\\`, `\t`, `\r`, `\u2028`, "\u2029", `\u0085`, `\ufeff`, `\ud83d`,
	"é", "日本語", "😀", "0", "1", "10", "9", "007", ".", "_", "e", "+", "0x", "0b", "12:30", "2024-02-29", "yes", "null",
	"~", "<<", "%", "=", "|",
}

// randomString returns a JSON string of up to n fragments.
func randomString(r *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteByte('"')
	for range r.IntN(n + 1) {
		b.WriteString(fragments[r.IntN(len(fragments))])
	}
	b.WriteByte('"')
	return b.String()
}

// randomValue returns a JSON text of at most depth levels.
func randomValue(r *rand.Rand, depth int) string {
	kind := r.IntN(8)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return []string{"null", "true", "false", "0", "-0", "1.5", "-7", "1e20", "1E-7", "123456789.125"}[r.IntN(10)]
	case 1, 2, 3:
		return randomString(r, 4<<r.IntN(4))
	case 4, 5:
		items := make([]string, r.IntN(4))
		for i := range items {
			items[i] = randomValue(r, depth-1)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	members := make([]string, r.IntN(6))
	for i := range members {
		members[i] = randomString(r, 1+r.IntN(3)*r.IntN(8)) + ": " + randomValue(r, depth-1)
	}
	return "{" + strings.Join(members, ",\n") + "}"
}

func TestRandomValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range shared.Number(20_000, 2_000) {
		check(t, randomValue(r, 5))
	}
}

func TestConcurrentUse(t *testing.T) {
	for seed := range uint64(4) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			for range 500 {
				check(t, randomValue(r, 5))
			}
		})
	}
}

func FuzzValue(f *testing.F) {
	for _, text := range values {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// A text that is not JSON is used as a string, in every position.
		if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
			s := string(AppendString(nil, strings.ToValidUTF8(text, "\uFFFD")))
			text = `{"k":` + s + `,` + s + `:[` + s + `,[{"a":` + s + `}]]}`
			check(t, s)
		}
		check(t, text)
	})
}

// FuzzRandomValue explores more random values than TestRandomValues.
func FuzzRandomValue(f *testing.F) {
	f.Add(uint64(3))
	f.Fuzz(func(t *testing.T, seed uint64) {
		check(t, randomValue(rand.New(rand.NewPCG(seed, 0)), 6))
	})
}

// TestValueWithRoomBehindIt checks that the memory after a value is not overwritten.
func TestValueWithRoomBehindIt(t *testing.T) {
	for _, n := range []int{0, 1} {
		text := []byte(" 1234567")
		if got := AppendCompact(nil, text[:n]); string(got) != "null" || string(text) != " 1234567" {
			t.Errorf("%q: got %s, and %q is in memory", text[:n], got, text)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{
		"", "plain", "<&>", "\"\\/", "\b\f\n\r\t\x00\x1f\x7f", "é日本語😀", "\u2027\u2028\u2029\u2030", "\xff",
		"a\xe2\x80", "\xed\xa0\x80x", "\ufffd",
	} {
		same(t, "string", string(AppendString([]byte(">"), s)), ">"+oracleJSON(t, s, "", ""))
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\u2028\xff\n\"")
	f.Fuzz(func(t *testing.T, s string) {
		same(t, "string", string(AppendString(nil, s)), oracleJSON(t, s, "", ""))
	})
}

func TestDeepNesting(t *testing.T) {
	const depth = 10_000
	lists := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	same(t, "lists", string(AppendCompact(nil, []byte(lists))), lists)
	// Keys are in the wrong order at every level, and as much of the text is inside the inner ones as can be.
	unsorted := strings.Repeat(`{"b":`, depth) + "1" + strings.Repeat(`,"a":2}`, depth)
	sorted := strings.Repeat(`{"a":2,"b":`, depth) + "1" + strings.Repeat("}", depth)
	same(t, "mappings", string(AppendCompact(nil, []byte(unsorted))), sorted)

	for _, shallow := range []int{MaxIndented / 2, 1_000} {
		text := strings.Repeat(`{"b":["\u0085\u2028\n",`, shallow) + strings.Repeat(`],"a": 2, "`+strings.Repeat("c", 2000)+`": {}}`, shallow)
		check(t, text)
		if n := len(AppendJSON(nil, []byte(text), 0)) + len(AppendYAML(nil, []byte(text))); n > 4*len(text)+200_000 {
			t.Errorf("a value of %d bytes is printed in %d", len(text), n)
		}
	}
}

// catalogObjects returns the objects of published catalogs as JSON, every stride-th of them.
func catalogObjects(tb testing.TB, stride int) [][]byte {
	tb.Helper()
	var objects [][]byte
	n := 0
	for _, file := range shared.CatalogFiles(tb) {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for document := range strings.SplitSeq("\n"+string(data), "\n---") {
			if n++; n%stride != 0 || strings.TrimSpace(document) == "" {
				continue
			}
			object, err := sigsyaml.YAMLToJSON([]byte(document))
			if err != nil {
				tb.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, object)
		}
	}
	return objects
}

func TestPublishedCatalogs(t *testing.T) {
	for _, object := range catalogObjects(t, shared.Number(5, 50)) {
		check(t, string(object))
	}
}

func benchmark(b *testing.B, appendTo func(dst []byte, v jsontext.Value) []byte) {
	objects := catalogObjects(b, 20)
	size := 0
	for i, object := range objects {
		objects[i] = AppendJSON(nil, object, 0)
		size += len(objects[i])
	}
	var dst []byte
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, object := range objects {
			dst = appendTo(dst[:0], object)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	benchmark(b, func(dst []byte, v jsontext.Value) []byte { return AppendJSON(dst, v, 0) })
}

func BenchmarkAppendCompact(b *testing.B) { benchmark(b, AppendCompact) }

func BenchmarkAppendYAML(b *testing.B) { benchmark(b, AppendYAML) }
