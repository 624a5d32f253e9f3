package declcfg_test

import (
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A generated file consists of head, repetitions of unit, and tail. It is never in memory.
type generated struct {
	head, unit, tail string
	times            int64

	reached atomic.Int64 // the end of the text that was read
	read    atomic.Int64 // bytes, counted each time they are read
}

func (g *generated) size() int64 { return int64(len(g.head)+len(g.tail)) + g.times*int64(len(g.unit)) }

func (g *generated) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		part := g.from(off + int64(n))
		if part == "" {
			err = io.EOF
			break
		}
		n += copy(p[n:], part)
	}
	g.read.Add(int64(n))
	if end := off + int64(n); end > g.reached.Load() {
		g.reached.Store(end)
	}
	return n, err
}

// from returns some of the text at off.
func (g *generated) from(off int64) string {
	if off < int64(len(g.head)) {
		return g.head[off:]
	}
	off -= int64(len(g.head))
	if units := g.times * int64(len(g.unit)); off >= units {
		return g.tail[off-units:]
	}
	return g.unit[off%int64(len(g.unit)):]
}

// source returns a catalog with only this file.
func (g *generated) source(name string) declcfg.Source {
	fsys := fstest.MapFS{name: {}}
	return declcfg.Source{Name: "c", FS: brokenFS{fsys, func(f fs.File) (fs.File, error) {
		return generatedFile{f, g}, nil
	}}}
}

type generatedFile struct {
	fs.File
	*generated
}

func (f generatedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return generatedInfo{info, f.size()}, err
}

type generatedInfo struct {
	fs.FileInfo
	size int64
}

func (i generatedInfo) Size() int64 { return i.size }

// heapWhile returns the maximum growth of the live heap while f runs, measured when f calls look.
func heapWhile(f func(look func())) uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	f(func() {
		runtime.GC() // garbage depends on when it was collected last
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc)
	})
	return most - min(before, most)
}

func TestLongLine(t *testing.T) {
	if !shared.Full() {
		t.Skip("reads 200 MB")
	}
	unit := `{"schema":"s","name":"é` + strings.Repeat("x", 974) + `"}`
	line := &generated{unit: unit, times: 200_000, tail: `{"schema":"s","name":1}{"schema":"t"}`}
	var objects int
	var last []string
	heap := heapWhile(func(look func()) {
		for m, err := range declcfg.Map(t.Context(), metaOf, line.source("a.json")) {
			if objects++; objects%10_000 == 0 {
				look()
			}
			if err != nil {
				last = append(last, err.Error())
			} else if m.Schema == "t" {
				last = append(last, m.Pos.String())
			}
		}
	})
	expect(t, last, []string{"c/a.json:1:199800022: name must be a string, found a number; put it in quotes", "c/a.json:1:199800024"})
	if objects != 200_002 {
		t.Errorf("%d objects, want 200002", objects)
	}
	t.Logf("%d MB of heap for %d MB", heap>>20, line.size()>>20)
	if heap > 64<<20 {
		t.Errorf("%d MB of heap", heap>>20)
	}
}

// TestLargeDocument reads a document that is larger than a chunk.
func TestLargeDocument(t *testing.T) {
	shared.OneGoroutine(t)
	large := strings.Repeat("x ", 2<<20)
	object := func(name string) string { return `{"schema":"s","name":"` + name + `"}` }
	for name, content := range map[string]string{
		"a.json": object("a") + object(large) + object("b"),
		"b.json": object(large) + "\n" + object("a") + "\n" + object(large) + "\n" + object("b"),
		"a.yaml": "schema: s\nname: a\n---\nschema: s\nname: '" + large + "'\n---\nschema: s\nname: b\n",
		"b.yaml": object(large) + "\n---\nschema: s\nname: a\n---\nschema: s\nname: '" + large + "'\n",
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for m, err := range declcfg.Map(t.Context(), metaOf, source(name, content)) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, strings.Replace(m.Name, large, "large", 1))
			}
			want := map[string][]string{
				"a.json": {"a", "large", "b"}, "b.json": {"large", "a", "large", "b"},
				"a.yaml": {"a", "large", "b"}, "b.yaml": {"large", "a", "large"},
			}[name]
			if !slices.Equal(names, want) {
				t.Errorf("objects %q, want %q", names, want)
			}
		})
	}
}

// TestLargeDocumentsAtOnce reads several objects concurrently, each larger than the text that is searched for its end.
func TestLargeDocumentsAtOnce(t *testing.T) {
	object := `{"schema":"s","name":"` + strings.Repeat("x", 17<<20) + `"}`
	files := fstest.MapFS{}
	for _, name := range []string{"a.json", "b.yaml", "c.json"} {
		files[name] = &fstest.MapFile{Data: []byte("{\"schema\":\"s\",\"name\":\"y\"}\n" + object)}
		if name == "b.yaml" {
			files[name].Data = []byte("schema: s\nname: z\n---\nschema: s\nname: " + strings.Repeat("x", 17<<20) + "\n")
		}
	}
	var got []string
	for m, err := range declcfg.Map(t.Context(), metaOf, declcfg.Source{Name: "c", FS: files}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Pos.String()+" "+strconv.Itoa(len(m.Name)))
	}
	expect(t, got, []string{"c/a.json:1:1 1", "c/a.json:2:1 17825792", "c/b.yaml:1:1 1", "c/b.yaml:4:1 17825792",
		"c/c.json:1:1 1", "c/c.json:2:1 17825792"})
}

// TestDepth checks that objects may nest as deeply as in encoding/json, 10,000 levels.
func TestDepth(t *testing.T) {
	for name, object := range map[string]string{"a.json": `{"schema":"s","x":%}`, "a.yaml": "schema: s\nx: %\n"} {
		for depth, want := range map[int]int{10_000: 1, 10_001: 0} {
			lists := strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1)
			files := source(name, strings.Replace(object, "%", lists, 1))
			var objects int
			var failed error
			for m, err := range declcfg.Map(t.Context(), metaOf, files) {
				if m != nil {
					objects++
				}
				failed = errors.Join(failed, err)
			}
			if objects != want || want == 0 && !strings.HasSuffix(failed.Error(), ": nested deeper than 10,000 levels") {
				t.Errorf("%s, %d levels: %d objects, %v", name, depth, objects, failed)
			}
		}
	}
}

// TestMissingBracket checks that a missing bracket does not make the rest of a file one document.
func TestMissingBracket(t *testing.T) {
	unit := "{\n  \"schema\": \"s\",\n  \"name\": \"" + strings.Repeat("x", 9<<10) + "\"\n}\n"
	broken := "{\n  \"schema\": \"s\",\n  \"package\": \"p\",\n  \"x\": [{}\n}\n"
	indented := strings.Replace(unit, "{", " {", 1)
	for _, tt := range []struct {
		name       string
		head, unit string
		want       string
	}{
		{"first object", broken, unit, "5:1: not valid JSON: invalid character '}' after array element (expecting ',' or ']')"},
		{"second object", unit + broken, unit, "9:1: not valid JSON: invalid character '}' after array element (expecting ',' or ']')"},
		{"third object", unit + unit + broken, indented, "13:1: not valid JSON: invalid character '}' after array element (expecting ',' or ']')"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &generated{head: tt.head, unit: tt.unit, times: 20_000}
			var got error
			heap := heapWhile(func(look func()) {
				for _, err := range declcfg.Map(t.Context(), metaOf, g.source("a.json")) {
					look()
					if err != nil {
						got = errors.Join(got, err)
					}
				}
			})
			if got == nil || got.Error() != "c/a.json:"+tt.want {
				t.Errorf("got %v\nwant %s", got, tt.want)
			}
			e, ok := errors.AsType[*declcfg.Error](got)
			if !ok || e.Lost != nil {
				t.Errorf("lost %q, want nil: no one looked at the rest of the file", e.Lost)
			}
			t.Logf("read %d of %d MB, %d MB of heap", g.reached.Load()>>20, g.size()>>20, heap>>20)
			if g.reached.Load() > g.size()/4 || heap > 100<<20 {
				t.Errorf("read %d of %d MB, %d MB of heap", g.reached.Load()>>20, g.size()>>20, heap>>20)
			}
		})
	}
}

// TestLargeInvalid checks that a large object that does not end is refused without a search for names in it, and that its
// text is read a fixed number of times.
func TestLargeInvalid(t *testing.T) {
	shared.OneGoroutine(t)
	g := &generated{head: `{"schema":"s"`, unit: `,"package":"p"`, times: 4 << 20}
	for _, err := range declcfg.Map(t.Context(), metaOf, g.source("a.json")) {
		e, ok := errors.AsType[*declcfg.Error](err)
		if !ok || e.Lost != nil || !strings.Contains(e.Error(), "does not end") {
			t.Errorf("got %v", err)
		}
	}
	if read := g.read.Load(); read > 3*g.size() {
		t.Errorf("%d bytes of %d were read", read, g.size())
	}
}
