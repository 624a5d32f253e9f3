package store_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A jsonLine is a line in the form of catalogd, and the fields by which it is found.
type jsonLine struct {
	query store.Query
	text  string
}

// jsonLines returns the lines of a catalog, encoded by encoding/json.
func jsonLines(t *testing.T, s declcfg.Source) []jsonLine {
	t.Helper()
	var all []jsonLine
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(t.Context(), meta, s) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(o.JSON(), &v); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		all = append(all, jsonLine{store.Query{Schema: m.Schema, Package: m.Package, Name: m.Name}, b.String()})
	}
	return all
}

func linesOf(t *testing.T, c *store.Catalog, q store.Query) string {
	t.Helper()
	var b strings.Builder
	r, n := c.Query(q), 0
	for line, err := range r.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		b.Write(line)
	}
	if int64(b.Len()) != r.Size() || n != r.Len() {
		t.Errorf("%+v: %d bytes in %d lines, want %d in %d", q, b.Len(), n, r.Size(), r.Len())
	}
	return b.String()
}

// TestLinesOfPublishedCatalogs checks that lines equal the output of encoding/json, and that every query finds its
// lines.
func TestLinesOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range publishedCatalogs(t) {
		lines := jsonLines(t, dirSource(dir))
		c := publishedStore(t, dir).Catalogs()[0]
		if c.Len() != len(lines) {
			t.Fatalf("%s: %d lines, want %d", dir, c.Len(), len(lines))
		}
		want := map[store.Query]string{}
		for _, l := range lines {
			q := l.query
			for _, asked := range []store.Query{
				{}, {Schema: q.Schema}, {Package: q.Package}, {Name: q.Name}, {Schema: q.Schema, Package: q.Package},
				{Schema: q.Schema, Name: q.Name}, {Package: q.Package, Name: q.Name}, q,
			} {
				if _, ok := want[asked]; ok {
					continue
				}
				want[asked] = matching(lines, asked)
			}
		}
		for q, text := range want {
			if got := linesOf(t, c, q); got != text {
				t.Errorf("%s: %+v: got %d bytes, want %d", dir, q, len(got), len(text))
			}
		}
		checkReaders(t, c, want[store.Query{}])
	}
}

// matching returns the lines that match q.
func matching(lines []jsonLine, q store.Query) string {
	var b strings.Builder
	for _, l := range lines {
		if (q.Schema == "" || q.Schema == l.query.Schema) && (q.Package == "" || q.Package == l.query.Package) &&
			(q.Name == "" || q.Name == l.query.Name) {
			b.WriteString(l.text)
		}
	}
	return b.String()
}

// checkReaders reads all lines with every method of a Reader.
func checkReaders(t *testing.T, c *store.Catalog, want string) {
	t.Helper()
	if c.Size() != int64(len(want)) {
		t.Errorf("the size is %d, want %d", c.Size(), len(want))
	}
	var written bytes.Buffer
	if n, err := c.Plain().WriteTo(&written); err != nil || n != c.Size() || written.String() != want {
		t.Errorf("written: %v, %d bytes, want %d", err, n, len(want))
	}
	checkCodings(t, c, want)
	for _, at := range []int{0, 1, len(want) / 3, len(want) - 1} {
		r := c.Plain()
		if _, err := r.Seek(int64(at), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		part := make([]byte, min(100_000, len(want)-at))
		if _, err := io.ReadFull(r, part); err != nil || string(part) != want[at:at+len(part)] {
			t.Errorf("%d bytes from %d: %v, or they differ", len(part), at, err)
		}
	}
}

// checkCodings reads all lines in their stored encodings.
func checkCodings(t *testing.T, c *store.Catalog, want string) {
	t.Helper()
	d, err := zstd.NewReader(c.Zstd(), zstd.WithDecoderMaxWindow(8<<20)) // the limit of RFC 9659 for HTTP
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	z, err := gzip.NewReader(c.Gzip())
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false) // browsers do not read multiple streams
	for name, r := range map[string]io.Reader{"zstd": d, "gzip": z} {
		if text, err := io.ReadAll(r); err != nil || string(text) != want {
			t.Errorf("%s: %v, %d bytes, want %d", name, err, len(text), len(want))
		}
	}
}

func TestReader(t *testing.T) {
	c := kilnStore(t).Catalogs()[0]
	for name, reader := range map[string]func() *store.Reader{"plain": c.Plain, "zstd": c.Zstd, "gzip": c.Gzip} {
		all, err := io.ReadAll(reader())
		if err != nil || int64(len(all)) != reader().Size() {
			t.Errorf("%s: %v, %d bytes, want %d", name, err, len(all), reader().Size())
		}
		if err := iotest.TestReader(reader(), all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Plain().Seek(-1, io.SeekStart); err == nil {
		t.Error("a place before the start is no error")
	}
}

func TestQuery(t *testing.T) {
	c := kilnStore(t).Catalogs()[0]
	for _, tt := range []struct {
		query store.Query
		want  int
	}{
		{store.Query{}, 10},
		{store.Query{Schema: "olm.bundle"}, 3},
		{store.Query{Schema: "OLM.bundle"}, 0},
		{store.Query{Package: "kiln"}, 8},
		{store.Query{Schema: "olm.package", Package: "kiln"}, 0},
		{store.Query{Schema: "olm.package", Name: "kiln"}, 1},
		{store.Query{Name: "nobody's"}, 1},
		{store.Query{Name: "kiln.docs"}, 0},
		{store.Query{Name: "unknown", Schema: "olm.bundle"}, 0},
	} {
		got := linesOf(t, c, tt.query)
		if n := strings.Count(got, "\n"); n != tt.want {
			t.Errorf("%+v: %d lines, want %d:\n%s", tt.query, n, tt.want, got)
		}
	}
	want := `{"huge":-1e400,"name":"nobody's","schema":"kiln.docs"}` + "\n"
	if got := linesOf(t, c, store.Query{Name: "nobody's"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCatalogs checks that each source is a separate catalog.
func TestCatalogs(t *testing.T) {
	s := build(t, store.BuildOptions{HTTP: true}, source("a.yaml", "schema: s\nname: a\n"), source(),
		source("b.yaml", "schema: s\nname: b\n---\nschema: s\nname: a\n"))
	var got []string
	for _, c := range s.Catalogs() {
		text, err := io.ReadAll(c.Plain())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text), linesOf(t, c, store.Query{Name: "a"}))
		checkCodings(t, c, string(text))
	}
	a, b := `{"name":"a","schema":"s"}`+"\n", `{"name":"b","schema":"s"}`+"\n"
	if want := []string{a, a, "", "", b + a, a}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c := build(t, store.BuildOptions{}, source()).Catalogs(); c != nil {
		t.Errorf("without HTTP there are catalogs %v", c)
	}
}

// TestLineSizes checks lines of every size, alone in a frame or with others.
func TestLineSizes(t *testing.T) {
	var catalog, want strings.Builder
	for size := 1; size < 200_000; size = size*3/2 + 1 {
		text := strings.Repeat("x", size)
		catalog.WriteString(`{"text": "` + text + `", "schema": "s"}` + "\n")
		want.WriteString(`{"schema":"s","text":"` + text + `"}` + "\n")
	}
	c := build(t, store.BuildOptions{HTTP: true}, source("a.json", catalog.String())).Catalogs()[0]
	if got := linesOf(t, c, store.Query{}); got != want.String() {
		t.Errorf("got %d bytes, want %d", len(got), want.Len())
	}
	checkReaders(t, c, want.String())
}

// TestWriteToFails checks that WriteTo stops at a write error.
func TestWriteToFails(t *testing.T) {
	full := errors.New("full")
	if _, err := kilnStore(t).Catalogs()[0].Plain().WriteTo(&limitedWriter{room: 10, err: full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
