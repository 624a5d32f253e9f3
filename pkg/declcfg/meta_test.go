package declcfg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestPlaces(t *testing.T) {
	const atObject = "2:1"
	for _, tt := range []struct {
		name, in string
		places   map[jsontext.Pointer]string // of the last object
	}{
		{
			"JSON", "{\"schema\":\"first\"}\n{\"schema\": \"s\",\n  \"x\": [1, {\"é\": null,\"z\":true}]\n}",
			map[jsontext.Pointer]string{
				"": atObject, "/schema": "2:12", "/x": "3:8", "/x/0": "3:9", "/x/1/é": "3:18", "/x/1/z": "3:27",
				"/x/1/none": "3:12", "/none": atObject, "/x/7": "3:8",
			},
		},
		{
			"JSON on the line of others", `{"schema":"é"} {"schema":"t","x":{"y":"z"}}`,
			map[jsontext.Pointer]string{"": "1:16", "/schema": "1:26", "/x/y": "1:39"},
		},
		{
			"repaired JSON", "{\"schema\":\"s\",\n\"x\":1,\n\"x\":[1,\n2,\"\xff\"]}",
			map[jsontext.Pointer]string{"": "1:1", "/x": "3:5", "/x/1": "4:1", "/x/2": "4:3"},
		},
		{
			"YAML", "schema: first\n---\n# comment\nschema: s\né: {k: [a, b]}\nx:\n- é: |\n    text\n  z: 1\n- {}\n",
			map[jsontext.Pointer]string{
				"": "4:1", "/schema": "4:9", "/é/k/1": "5:12", "/x": "7:1", "/x/0": "7:3", "/x/0/é": "7:6", "/x/0/z": "9:6", "/x/1": "10:3",
				"/x/2": "7:1", "/none": "4:1",
			},
		},
		{
			"YAML after JSON", "{\"schema\":\"first\"} \n---\nschema: s\nx: y\n",
			map[jsontext.Pointer]string{"": "3:1", "/x": "4:4"},
		},
		{
			"repaired YAML", "schema: s\nx: 1\nx:\n  k: 2\n", map[jsontext.Pointer]string{"/x": "4:3", "/x/k": "4:6"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := source("a", tt.in)
			check := func(o *declcfg.Object) (*declcfg.Meta, error) {
				checkPlaces(t, o.Meta, o.Place, tt.in, tt.places)
				return o.Meta, nil
			}
			for m := range declcfg.Map(t.Context(), check, files) {
				checkPlaces(t, m, m.Place, tt.in, tt.places)
			}
		})
	}
}

func checkPlaces(
	t *testing.T, m *declcfg.Meta, place func(jsontext.Pointer) declcfg.Pos, in string, places map[jsontext.Pointer]string,
) {
	t.Helper()
	if m.Schema == "first" || m.Schema == "é" {
		return
	}
	for ptr, want := range places {
		if got := place(ptr).String(); got != "c/a:"+want {
			t.Errorf("%q of %q is at %s, want %s", ptr, in, got, want)
		}
	}
}

func TestPlacesOfManyPointers(t *testing.T) {
	m := one(t, "{\"schema\":\"s\",\n\"a\":1,\n\"b\":2}")
	got := fmt.Sprint(m.Places([]jsontext.Pointer{"/b", "", "/a"}))
	if want := "[c/a.json:3:5 c/a.json:1:1 c/a.json:2:5]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFlaws(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string // place and key
	}{
		{`{"schema":"s","x":{"y":1}}`, nil},
		{`{"schema":"s","x":{"y":1,"y":2},"schema":"t"}`, []string{"1:26 y", "1:33 schema"}},
		{"{\"schema\":\"é\xff\xff\"}", []string{"1:13 "}},
		{`{"schema":"é\udead"}`, []string{"1:13 "}},
		{"{\"schema\":\"é\ufffd\"}", nil}, // is written so, and means nothing else
		{"{\"schema\":\"s\",\"x\":1,\n\"x\":\"\xff\"}", []string{"2:1 x", "2:6 "}},
		{"schema: s\nx: 1\nx: 2\n---\nschema: s\nx:\n  k: 1\n  k: 2\nx: 3\n", []string{"3:1 x", "8:3 k", "9:1 x"}},
	} {
		var got []string
		for m, err := range declcfg.Map(t.Context(), metaOf, source("a", tt.in)) {
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Flaws() {
				got = append(got, strings.TrimPrefix(f.Pos.String(), "c/a:")+" "+f.Key)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q has flaws %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNewObject(t *testing.T) {
	at := declcfg.Pos{File: "made up"}
	m, err := declcfg.NewObject(at, jsontext.Value(`{"schema":"olm.bundle","name":"n","package":"p","image":1}`))
	if err != nil || m.Schema != declcfg.SchemaBundle || m.Name != "n" || m.Package != "p" || m.Pos != at {
		t.Errorf("NewObject = %+v, %v", m, err)
	}
	if _, err := m.Decode(); err == nil || err.Error() != "made up: image: want a string, found a number; put it in quotes" {
		t.Errorf("error %v", err)
	}
	if m.Place("/image") != at || m.Meta.Place("/image") != at || m.Flaws() != nil {
		t.Errorf("an object that is in no file has places %v and flaws %v", m.Place("/image"), m.Flaws())
	}
	if _, err := m.Read(); err == nil || err.Error() != "made up: the object is in no file and cannot be read again" {
		t.Errorf("Read: %v", err)
	}
	for _, raw := range []string{``, `{`, `[]`, `null`, `{"name":"n"}`, `{"schema":""}`, `{"schema":1}`, `{"schema":"s","schema":"s"}`, `{"schema":"s"}{}`, `{"schema":"s"}}`, `{"schema":"s"}x`} {
		if m, err := declcfg.NewObject(at, jsontext.Value(raw)); err == nil || m != nil {
			t.Errorf("NewObject of %q = %v, %v, want an error", raw, m, err)
		}
	}
}

// TestReadAgain checks that reading an object again returns the same object.
func TestReadAgain(t *testing.T) {
	type object struct {
		meta *declcfg.Meta
		raw  string
	}
	read := func(o *declcfg.Object) (object, error) { return object{o.Meta, string(o.JSON())}, nil }
	for _, tt := range streams {
		for first, err := range declcfg.Map(t.Context(), read, source("a.yaml", tt.in)) {
			if err != nil {
				continue
			}
			again, err := first.meta.Read()
			if err != nil || string(again.JSON()) != first.raw {
				t.Errorf("%s is %s, %v", first.raw, again.JSON(), err)
			}
		}
	}
}

// TestChangedFile checks that every use of a file reports a change since it was first read.
func TestChangedFile(t *testing.T) {
	const before = `{"schema":"olm.channel","package":"p","name":"n","entries":[]}`
	for name, change := range map[string]func(fstest.MapFS){
		"changed c/a.json:1:1: the file changed while it was being read": func(f fstest.MapFS) {
			f["a.json"] = &fstest.MapFile{Data: []byte(strings.Replace(before, `"n"`, `"m"`, 1))}
		},
		"shorter c/a.json:1:1: the file changed while it was being read": func(f fstest.MapFS) {
			f["a.json"] = &fstest.MapFile{Data: []byte(before[:20])}
		},
		"gone c/a.json: file does not exist":                 func(f fstest.MapFS) { delete(f, "a.json") },
		"directory c/a.json: want a file, found a directory": func(f fstest.MapFS) { f["a.json"].Mode = fs.ModeDir },
	} {
		name, want, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"a.json": {Data: []byte(before)}}
			all := metas(t, declcfg.Source{Name: "c", FS: fsys})
			change(fsys)
			for doing, err := range map[string]error{
				"Read":   second(all[0].Read()),
				"Decode": second(all[0].Decode()),
				"Write":  declcfg.Write(t.Context(), new(bytes.Buffer), all, declcfg.WriteOptions{}),
			} {
				if err == nil || err.Error() != want {
					t.Errorf("%s: %v, want %s", doing, err, want)
				}
			}
			if got := all[0].Place("/name"); got != all[0].Pos {
				t.Errorf("Place = %v, want that of the object", got)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestMap checks that results are in the order of the files, with the errors of fn among them.
func TestMap(t *testing.T) {
	declcfg.SetChunkSize(t, 64)
	var in strings.Builder
	var want []string
	for i := range 500 {
		fmt.Fprintf(&in, "{\"schema\":\"s\",\"name\":\"%d\"}\n", i)
		if i%7 == 0 {
			want = append(want, fmt.Sprintf("%d fails", i))
		} else {
			want = append(want, fmt.Sprint(i))
		}
	}
	fn := func(m *declcfg.Object) (string, error) {
		if strings.HasSuffix(m.Name, "3") {
			for range 1000 { // so that other objects overtake it
				m.Place("/name")
			}
		}
		var i int
		fmt.Sscan(m.Name, &i)
		if i%7 == 0 {
			return m.Name, errors.New(m.Name + " fails")
		}
		return m.Name, nil
	}
	var got []string
	for name, err := range declcfg.Map(t.Context(), fn, source("a.json", in.String())) {
		if err != nil {
			name = err.Error()
		}
		got = append(got, name)
	}
	expect(t, got, want)
}

func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t)
	declcfg.SetChunkSize(t, 64)
	files := source("a.json", strings.Repeat(`{"schema":"s"}`+"\n", 10_000))

	ctx, cancel := context.WithCancel(t.Context())
	var objects int
	var last error
	for _, err := range declcfg.Map(ctx, metaOf, files) {
		if objects++; objects == 100 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || objects > 1000 {
		t.Errorf("%d objects, then %v", objects, last)
	}

	for range declcfg.Map(t.Context(), metaOf, files) {
		break
	}

	done, cancel := context.WithCancel(t.Context())
	cancel()
	objects = 0
	for _, err := range declcfg.Map(done, metaOf, files) {
		objects++
		last = err
	}
	if !errors.Is(last, context.Canceled) || objects > 100 {
		t.Errorf("%d objects after the end, then %v", objects, last)
	}
	if err := declcfg.Write(done, new(bytes.Buffer), metas(t, files), declcfg.WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: %v", err)
	}
}

// A failingFile fails to read from an offset on.
type failingFile struct {
	fs.File
	from int64
}

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		n, _ := f.File.(readerAt).ReadAt(p[:max(0, f.from-off)], off)
		return n, &fs.PathError{Op: "read", Path: "/dev/disk", Err: errors.New("bad sector")}
	}
	return f.File.(readerAt).ReadAt(p, off)
}

type readerAt interface {
	ReadAt([]byte, int64) (int, error)
}

// TestReadError checks that a document is not read in part if the disk fails.
func TestReadError(t *testing.T) {
	declcfg.SetChunkSize(t, 32)
	for name, content := range map[string]string{
		"a.json": strings.Repeat("{\"schema\":\"s\"}\n", 1000),
		"a.yaml": strings.Repeat("---\nschema: s\n", 1000),
	} {
		for _, from := range []int64{0, 10, 5000, 5003} {
			files := source(name, content, "b.json", `{"schema":"b"}`)
			files.FS = brokenFS{files.FS, func(f fs.File) (fs.File, error) {
				if info, _ := f.Stat(); info.Name() == "b.json" {
					return f, nil
				}
				return failingFile{f, from}, nil
			}}
			got := read(t, files)
			if n := len(got); n < 2 || got[n-2] != "c/"+name+": bad sector" || got[n-1] != `c/b.json:1:1 {"schema":"b"}` {
				t.Errorf("%s from %d: %q", name, from, got[max(0, len(got)-3):])
			}
			for _, g := range got[:max(0, len(got)-2)] {
				if !strings.HasSuffix(g, `{"schema":"s"}`) {
					t.Errorf("%s from %d: %q", name, from, g)
				}
			}
		}
	}
}

// TestLost checks that an unreadable document names the packages that may be incomplete.
func TestLost(t *testing.T) {
	in := "schema: olm.bundle\npackage: first\nname: \"first.v1\"\nx: [\n---\nschema: olm.bundle\npackage: second\n"
	for _, err := range declcfg.Map(t.Context(), metaOf, source("a.yaml", in)) {
		e, ok := errors.AsType[*declcfg.Error](err)
		if !ok || !slices.Equal(e.Lost, []string{"first", "first.v1"}) {
			t.Errorf("%v, lost %q", err, e.Lost)
		}
		break
	}
}
