package declcfg_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/internal/yamljson"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// FuzzRead checks that the result of reading any text does not depend on chunk boundaries, and that every object is
// valid.
func FuzzRead(f *testing.F) {
	for i, tt := range streams {
		f.Add([]byte(tt.in), byte(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, size byte) {
		files := source("a.yaml", string(in))
		whole := read(t, files)
		check := func(o *declcfg.Object) (any, error) {
			checkObject(t, o)
			return nil, nil
		}
		for range declcfg.Map(t.Context(), check, files) {
		}
		declcfg.SetChunkSize(t, 1+int(size))
		if cut := read(t, files); !slices.Equal(cut, whole) {
			t.Errorf("%q in chunks of %d:", in, 1+int(size))
			expect(t, cut, whole)
		}
	})
}

func checkObject(t *testing.T, m *declcfg.Object) {
	t.Helper()
	raw := m.JSON()
	if raw.Kind() != '{' || !raw.IsValid() {
		t.Errorf("%v: %q is not an object of I-JSON", m.Pos, raw)
		return
	}
	again, err := declcfg.NewObject(m.Pos, raw)
	if err != nil || again.Schema != m.Schema || again.Package != m.Package || again.Name != m.Name {
		t.Errorf("%+v is %+v, %v", m, again, err)
	}
	if at := m.Place("/schema"); at.Compare(m.Pos) < 0 {
		t.Errorf("%q: the schema is at %v, before the object at %v", raw, at, m.Pos)
	}
	for _, flaw := range m.Flaws() {
		if flaw.Pos.Compare(m.Pos) < 0 {
			t.Errorf("%q: a flaw is at %v, before the object at %v", raw, flaw.Pos, m.Pos)
		}
	}
	if v, err := m.Decode(); (v != nil) != (err == nil) && isKnown(m.Schema) {
		t.Errorf("%q decodes as %v, %v", raw, v, err)
	}
}

func isKnown(schema string) bool {
	return slices.Contains([]string{
		declcfg.SchemaPackage, declcfg.SchemaChannel, declcfg.SchemaBundle, declcfg.SchemaDeprecations,
	}, schema)
}

// FuzzWrite writes all valid objects, reads them again and writes the same bytes, in both formats and across them.
func FuzzWrite(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(tt.in))
	}
	f.Add([]byte(`{"schema":"olm.package","name":"a","icon":{"base64data":"YQ==","x":[]},"description":"a\n b\n","y":{"n":null}}`))
	f.Add([]byte(`{"schema":"olm.channel","package":"a","entries":[{"name":"a","skips":["~","1e3"],"skipRange":">1"},null]}`))
	f.Add([]byte(`{"schema":"olm.bundle","package":"a","properties":[{"type":"0x1","value":{"yes":"no","":1e400}}],"Image":"\u2028"}`))
	f.Add([]byte(`{"schema":"a","x":"b\n\u2028"}{"schema":"\u2029","? \n\u2028":{"\"\t":[1e400]},"y":"a\u2028'\u2029","z":":-"}`))
	f.Add([]byte("schema: olm.deprecations\npackage: a\nentries:\n- reference: {schema: olm.bundle}\n  message: >-\n    a\n\n    b\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		all := writable(t, in)
		json, yaml := declcfg.WriteOptions{Format: declcfg.JSON}, declcfg.WriteOptions{Format: declcfg.YAML}
		asJSON, asYAML := write(t, all, json), write(t, all, yaml)
		fromJSON, fromYAML := metas(t, source("a", asJSON)), metas(t, source("a", asYAML))
		for _, tt := range []struct{ what, got, want string }{
			{"JSON to JSON", write(t, fromJSON, json), asJSON},
			{"YAML to YAML", write(t, fromYAML, yaml), asYAML},
			{"JSON to YAML", write(t, fromJSON, yaml), asYAML},
			{"YAML to JSON", write(t, fromYAML, json), asJSON},
			{"decoded to JSON", decodedAs(t, declcfg.JSON, all), decodable(t, all, json)},
			{"decoded to YAML", decodedAs(t, declcfg.YAML, all), decodable(t, all, yaml)},
		} {
			if negativeZero.ReplaceAllString(tt.got, "0$1") != negativeZero.ReplaceAllString(tt.want, "0$1") {
				t.Errorf("%s: %q\nis %q\nwant %q", tt.what, in, tt.got, tt.want)
			}
		}
		if !isBlockStyle(asYAML) { // else upstream converts it, with numbers of 64-bit floating point
			t.Errorf("not in block style: %q", asYAML)
		}
	})
}

// decodedAs returns the objects of the format, encoded from their Go values alone.
func decodedAs(t *testing.T, format declcfg.Format, all []*declcfg.Meta) string {
	t.Helper()
	var text []byte
	for _, m := range all {
		v, err := m.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if v != nil {
			text = format.Append(text, v)
		}
	}
	return string(text)
}

// decodable writes the objects of the format.
func decodable(t *testing.T, all []*declcfg.Meta, opts declcfg.WriteOptions) string {
	t.Helper()
	isOther := func(m *declcfg.Meta) bool { return !isKnown(m.Schema) }
	return write(t, slices.DeleteFunc(slices.Clone(all), isOther), opts)
}

// negativeZero matches the number that upstream writes as -0 in JSON and as 0 in YAML.
var negativeZero = regexp.MustCompile(`-0(,?\n)`)

// isBlockStyle reports whether all documents are in the block style whose numbers keep their digits.
func isBlockStyle(text string) bool {
	if text == "" {
		return true
	}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var source yamljson.Source
		if source.Trace([]byte(doc + "\n")); source.Text == nil {
			return false
		}
	}
	return true
}

// writable returns the objects of a file that can be written.
func writable(t *testing.T, in []byte) []*declcfg.Meta {
	t.Helper()
	var all []*declcfg.Meta
	for m, err := range declcfg.Map(t.Context(), metaOf, source("a", string(in))) {
		if err != nil {
			continue
		}
		if _, err := m.Decode(); err != nil || m.Owner() == "" && isKnown(m.Schema) {
			continue
		}
		all = append(all, m)
	}
	return all
}

// TestYAMLOfAnyText writes keys and values with any text as YAML in block style, and reads the same values again.
func TestYAMLOfAnyText(t *testing.T) {
	const letters = "a 1.-?:#'\"\\\n\t\u2028\u2029\u0085\ufeff😀|>&*!%@`,[]{}=<~é"
	runes := []rune(letters)
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(strings.Repeat(string(runes[random.IntN(len(runes))]), 1+random.IntN(2)))
			if random.IntN(20) == 0 {
				b.WriteString(strings.Repeat("word ", random.IntN(30)))
			}
		}
		return b.String()
	}
	for range shared.Number(5000, 500) {
		value := map[string]any{"schema": "s", text(): []any{text(), map[string]any{text(): text()}}, text(): text()}
		in, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		all := writable(t, in)
		asYAML := write(t, all, declcfg.WriteOptions{Format: declcfg.YAML})
		got := metas(t, source("a", asYAML))
		asJSON := declcfg.WriteOptions{Format: declcfg.JSON}
		if !isBlockStyle(asYAML) || len(got) != len(all) || write(t, got, asJSON) != write(t, all, asJSON) {
			t.Errorf("%q", asYAML)
		}
	}
}
