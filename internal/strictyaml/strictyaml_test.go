package strictyaml_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

type common struct {
	Schema string `json:"schema"`
}

type config struct {
	common
	Name    string            `json:"name"`
	Deep    *deep             `json:"deep"`
	Entries []jsontext.Value  `json:"entries"`
	Labels  map[string]string `json:"labels"`
	Refs    []deep            `json:"references"`
	Hidden  string            `json:"-"`
}

type deep struct {
	Image  string `json:"image"`
	Jobs   int    `json:"jobs"`
	Active bool   `json:"active"`
}

func TestUnmarshal(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"valid", "schema: s\nname: a\ndeep: {image: i, jobs: 1, active: true}\nentries: [{a: 1}, 2]\nlabels: {x: z}\n", ""},
		{"JSON", `{"name": "n", "references": [{"image": "i"}]}`, ""},
		{"case", "Name: a\nREFERENCES: [{Image: i}]\n", ""},
		{"null", "name:\nreferences:\ndeep: null\n", ""},
		{"empty", "# nothing\n", "f:1:1: the file is empty"},
		{"syntax", "name: a\ndeep: [\n", "f:3:1: while parsing a flow node: did not find expected node content"},
		{"list", "- a\n", "f:1:1: want an object, found a list"},
		{"text", "hello\n", "f:1:1: want an object, found a string"},
		{"second document", "name: a\n---\nname: m\n", "f:3:1: only one document is read: remove this and what follows it"},
		{"unknown", "nane: n\nzzzzzz: 1\n", "f:1:1: unknown key \"nane\" (did you mean \"name\"?)\n" +
			"f:2:1: unknown key \"zzzzzz\", want deep, entries, labels, name, references, schema"},
		{"a key that is no name", "root:$6$salt:19000:0:99999:7:::\nmachine a login b:\n", "f:1:1: unknown key, want deep, entries, " +
			"labels, name, references, schema\nf:2:1: unknown key, want deep, entries, labels, name, " +
			"references, schema"},
		{"types", "name: 4.10\ndeep: {jobs: x, active: 1}\nlabels:\n  a: true\nreferences:\n- image: [i]\n  imag: i\n- 3\n",
			"f:1:7: name: want a string, found a number; put it in quotes\n" +
				"f:2:14: deep.jobs: want a whole number, found a string\n" +
				"f:2:25: deep.active: want true or false, found a number\n" +
				"f:4:6: labels.a: want a string, found true; put it in quotes\n" +
				"f:6:10: references[0].image: want a string, found a list\n" +
				"f:7:3: references[0]: unknown key \"imag\" (did you mean \"image\"?)\n" +
				"f:8:3: references[1]: want an object, found a number"},
		{"repeated", "name: a\nname: b\nreferences:\n- image: i\n  image: j\n",
			"f:2:1: key \"name\" is already defined at f:1:1\n" +
				"f:5:3: key \"image\" is already defined at f:4:3"},
		{"repeated in another case", "name: a\nNAME: b\n", `f:2:1: key "NAME" is already defined as "name"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := strictyaml.Unmarshal("f", []byte(tt.text), new(config))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("the error is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestEmbedded checks that an embedded struct with a key is read below that key, and another one beside its neighbours.
func TestEmbedded(t *testing.T) {
	type Inner struct {
		Name string `json:"name"`
	}
	type Beside struct {
		Kind string `json:"kind"`
	}
	var v struct {
		Inner `json:"inner"`
		Beside
	}
	if _, err := strictyaml.Unmarshal("f", []byte("kind: k\ninner: {name: a}\n"), &v); err != nil || v.Name != "a" || v.Kind != "k" {
		t.Errorf("%+v, %v", v, err)
	}
	_, err := strictyaml.Unmarshal("f", []byte("kind: k\nname: a\n"), &v)
	if want := `f:2:1: unknown key "name", want inner, kind`; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestReadAll checks that every document of a file has its positions, and that empty ones are ignored.
func TestReadAll(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"name: a\n", "f:1:7"},
		{"# text\n---\nname: a\n---\n# nothing\n---\n\nname: b\n", "f:3:7 f:8:7"},
		{`{"name": "a"} {"name": "b"}`, "f:1:10 f:1:24"},
		{"# nothing\n", "f:1:1: the file is empty"},
		{"name: a\n---\nname: [\n", "f:4:1: "},
	} {
		files, err := strictyaml.ReadAll("f", []byte(tt.text))
		var got []string
		for _, f := range files {
			var v struct {
				Name string `json:"name"`
			}
			if err := f.Decode(&v, strictyaml.Options{}); err != nil {
				t.Error(err)
			}
			got = append(got, f.Pos("/name")[0].String())
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, tt.want) {
			t.Errorf("%q: got %s, want %s", tt.text, text, tt.want)
		}
	}
}

func TestValues(t *testing.T) {
	var c config
	f, err := strictyaml.Unmarshal("f", []byte("Name: a\nreferences:\n- image: i\n  jobs: 3\n"), &c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "a" || len(c.Refs) != 1 || c.Refs[0] != (deep{Image: "i", Jobs: 3}) {
		t.Errorf("read %+v", c)
	}
	if f.Pos("")[0].Line != 1 {
		t.Errorf("the document is at %v", f.Pos("")[0])
	}
	if got, want := f.Errorf("/references/0/jobs", "%w", errors.ErrUnsupported).Error(),
		"f:4:9: references[0].jobs: unsupported operation"; got != want {
		t.Errorf("Errorf returns %q, want %q", got, want)
	}
	if got, want := f.Pos("/references/0/active")[0], (declcfg.Pos{File: "f", Line: 3, Column: 3}); got != want {
		t.Errorf("what is missing is at %v, want %v", got, want)
	}
}

// What is wrong does not keep the rest from being read, so that it can be checked too.
func TestRest(t *testing.T) {
	var c config
	const text = "schema: s\nname: 1\nzzz: 1\nlabels: {a: b, c: 1}\ndeep: {image: i, jobs: x}\nentries: [null, {a: 1}]\n"
	f, err := strictyaml.Unmarshal("f", []byte(text), &c)
	if f == nil || err == nil {
		t.Fatalf("Unmarshal returns %v, %v", f, err)
	}
	if c.Schema != "s" || c.Name != "" || c.Labels["a"] != "b" || c.Deep == nil || c.Deep.Image != "i" ||
		len(c.Entries) != 2 || string(c.Entries[0]) != "null" || string(c.Entries[1]) != `{"a":1}` {
		t.Errorf("read %+v", c)
	}
}

// Whatever is read without an error has only known keys, and every error has a place in the text.
func FuzzUnmarshal(f *testing.F) {
	f.Add("name: a\nreferences: [{image: i, jobs: 1}]\n")
	f.Add("{\"deep\": {\"active\": 1}, \"deep\": 2}")
	f.Add("a: &a {image: *a}\n<<: *a\nreferences: [*a]\n")
	f.Add("name: |\n x\n---\ny: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := strictyaml.Unmarshal("f", []byte(text), new(config))
		if err == nil {
			file.Pos("", "/name", "/references/0/image")
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "f:") {
				t.Errorf("an error without a place: %q", line)
			}
		}
	})
}

// TestPrologue reads files that begin with what upstream knows in templates. Places stay as they are.
func TestPrologue(t *testing.T) {
	for _, prologue := range []string{
		"\n", "# c\n", "%YAML 1.1\n---\n", "--- !!map\n", "\n\n---\n", "# c\n\n---   !!map\n", "--- # c\n",
	} {
		var v struct {
			Name string `json:"name"`
		}
		file, err := strictyaml.Unmarshal("f", []byte(prologue+"name: a\nnam: b\n"), &v)
		if file == nil || v.Name != "a" {
			t.Errorf("%q: got %+v, %v", prologue, v, err)
			continue
		}
		if want := fmt.Sprintf("f:%d:1: ", 2+strings.Count(prologue, "\n")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", prologue, err, want)
		}
	}
	if _, err := strictyaml.Read("f", []byte("%YAML 1.1\nname: a\n")); err == nil {
		t.Error("a directive without --- is read")
	}
}

func TestEach(t *testing.T) {
	const text = "name: a\n---\n# nothing\n---\nname: b\nother: 1\n---\nname: [\n"
	var got []string
	err := strictyaml.Each("f", []byte(text), func(f *strictyaml.File) {
		var v struct {
			Name string `json:"name"`
		}
		err := f.Decode(&v, strictyaml.Options{})
		got = append(got, fmt.Sprintf("%s %v %v", v.Name, err, f.KeyErrorf("/name", "first")))
	})
	want := []string{"a <nil> f:1:1: first", `b f:6:1: unknown key "other", want name f:5:1: first`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "f:9:1: ") {
		t.Errorf("got %v about the last document", err)
	}
}

// TestMaxProblems checks that the first 1,000 problems of a file are reported, and that the last error has the number of
// the others, for problems of each kind, and for the flaws of a tolerant reader.
func TestMaxProblems(t *testing.T) {
	const n = 2500
	lines := func(format string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format+"\n", i)
		}
		return text.String()
	}
	const more = "f:1001:1: 1,500 more problems of the file are not reported"
	for _, tt := range []struct{ name, text, first, last string }{
		{"unknown keys", "name: a\n" + lines("key%d: 1"), `f:2:1: unknown key "key0"`, more},
		{"wrong types", "references:\n" + lines("- %d"), "f:2:3: references[0]: want an object",
			"f:1001:3: 1,500 more problems of the file are not reported"},
		{"repeated keys", "name: a\n" + lines("name: n%d"), `f:2:1: key "name" is already defined at f:1:1`, more},
	} {
		var c config
		_, err := strictyaml.Unmarshal("f", []byte(tt.text), &c)
		got := strings.Split(fmt.Sprint(err), "\n")
		if len(got) != strictyaml.MaxProblems+1 || !strings.HasPrefix(got[0], tt.first) || got[strictyaml.MaxProblems] != tt.last {
			t.Errorf("%s: %d errors, first %q, last %q", tt.name, len(got), got[0], got[len(got)-1])
		}
	}
	file, err := strictyaml.Read("f", []byte("name: a\n"+lines("key%d: 1")))
	if err != nil {
		t.Fatal(err)
	}
	var flaws []string
	warn := func(err *declcfg.Error) { flaws = append(flaws, err.Error()) }
	if err := file.Decode(new(config), strictyaml.Options{Tolerant: true, Warn: warn}); err != nil {
		t.Fatal(err)
	}
	if len(flaws) != strictyaml.MaxProblems+1 || flaws[strictyaml.MaxProblems] != more {
		t.Errorf("%d flaws, last %q", len(flaws), flaws[len(flaws)-1])
	}
}
