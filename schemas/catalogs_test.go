package schemas

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestPublishedCatalogs checks that published catalogs, which are correct, have no findings.
func TestPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	objects := publishedCatalogs(t)
	if len(objects) < shared.Number(1000, 100) {
		t.Fatalf("only %d objects", len(objects))
	}
	noFindings(t, objects, func(Finding) bool { return false })
}

// TestBigCatalog checks that a large catalog has no findings except empty related images, which come from rendering
// bundles whose deployments name no image.
func TestBigCatalog(t *testing.T) {
	noFindings(t, bigCatalog(t), func(f Finding) bool {
		return f.Definition == "#RelatedImage" && f.Pointer.LastToken() == "image" && f.Message == "must not be empty"
	})
}

func noFindings(t *testing.T, objects []object, but func(Finding) bool) {
	t.Helper()
	c := newChecker(t)
	for _, o := range objects {
		for _, f := range c.object(o.schema, o.raw) {
			if !but(f) {
				t.Errorf("%s: %s: %s: %s [%s]", o.file, o.schema, f.Pointer, f.Message, f.Definition)
			}
		}
	}
}

// TestMemoryIsBounded checks the heap size after many checks of objects that differ in values, keys and mistakes.
func TestMemoryIsBounded(t *testing.T) {
	shared.OneGoroutine(t)
	checks := shared.Number(20_000, 8_000) / 4 // each object below has at least four values that CUE checks
	const allowed = 6 << 20
	own := File{Name: "own.cue", Data: []byte(
		`#Thing: {schema!: "thing", level!: "gold" | "silver", if level == "gold" {key: =~"^v"}, ...}`)}
	c := newChecker(t, own)
	run := func(from, to int) {
		for i := from; i < to; i++ {
			c.object("olm.bundle", jsontext.Value(fmt.Sprintf(
				`{"schema":"olm.bundle","name":"n%[1]d","package":"p","image":"","key%[1]d":{"deep%[1]d":1},"properties":[`+
					`{"type":"olm.gvk","value":{"group":"g%[1]d","kind":"","key%[1]d":1}},{"type":"t%[1]d","value":%[1]d}]}`, i)))
			c.object("thing", jsontext.Value(fmt.Sprintf(`{"schema":"thing","level":"gold","key":"v%[1]d"}`, i)))
		}
	}
	run(0, checks/10)
	before := heap()
	run(checks/10, checks)
	after := heap()
	grown := int64(after) - int64(before)
	t.Logf("%d KB, then %d KB", before>>10, after>>10)
	if grown > allowed {
		t.Errorf("the heap grew by %d KB over %d objects", grown>>10, checks)
	}
	runtime.KeepAlive(c)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestMemoryForgets(t *testing.T) {
	var m memory
	long := bytes.Repeat([]byte("x"), longestKey+1)
	m.put(long, nil)
	if _, ok := m.get(long); ok {
		t.Error("a long value is remembered")
	}
	for i := range 2 * memoryLimit / entryOverhead {
		m.put(fmt.Appendf(nil, "%d", i), nil)
		if m.size > memoryLimit {
			t.Fatalf("size %d after %d values", m.size, i)
		}
	}
	if _, ok := m.get([]byte("0")); ok {
		t.Error("a full memory was not emptied")
	}
}

func BenchmarkPublishedCatalogs(b *testing.B) { benchmark(b, publishedCatalogs(b)) }

func BenchmarkBigCatalog(b *testing.B) { benchmark(b, bigCatalog(b)) }

// BenchmarkScan reads the large catalog without checks.
func BenchmarkScan(b *testing.B) {
	objects := bigCatalog(b)
	report(b, objects)
	for b.Loop() {
		for _, o := range objects {
			dec := jsontext.NewDecoder(bytes.NewBuffer(o.raw), jsontext.AllowDuplicateNames(true))
			if err := dec.SkipValue(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchmark(b *testing.B, objects []object) {
	report(b, objects)
	for b.Loop() {
		c := newChecker(b) // with an empty memory
		for _, o := range objects {
			c.object(o.schema, o.raw)
		}
	}
}

func report(b *testing.B, objects []object) {
	var size int64
	for _, o := range objects {
		size += int64(len(o.raw))
	}
	b.SetBytes(size)
	b.ReportAllocs()
}
