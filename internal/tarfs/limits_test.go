package tarfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// endless returns a gzip-compressed archive with one file of n zeros.
func endless(t testing.TB, name string, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: n}); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for left := n; left > 0; left -= int64(len(zeros)) {
		if _, err := w.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sparse returns an archive with one sparse file of n bytes and no data, as GNU tar writes it.
func sparse(t testing.TB, name string, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	// The body is the map of the data: no data, and the end.
	body := fmt.Sprintf("1\n%d\n0\n", n)
	body += strings.Repeat("\x00", 512-len(body))
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "GNUSparseFile.0/x", Size: int64(len(body)),
		PAXRecords: map[string]string{"VENDOR.x": "y"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The writer rejects these records, so they replace a record that it accepts.
	records := ""
	for _, kv := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=" + name,
		fmt.Sprintf("GNU.sparse.realsize=%d", n)} {
		line := fmt.Sprintf(" %s\n", kv)
		size := len(line) + 2
		records += fmt.Sprintf("%d%s", size, line)
	}
	raw := out.Bytes()
	size := len("15 VENDOR.x=y\n")
	copy(raw[124:136], fmt.Sprintf("%011o\x00", len(records)))
	copy(raw[148:156], "        ")
	sum := 0
	for _, b := range raw[:512] {
		sum += int(b)
	}
	copy(raw[148:156], fmt.Sprintf("%06o\x00 ", sum))
	copy(raw[512:], records+strings.Repeat("\x00", size))
	return raw
}

// defaults are the limits of pkg/image.
var defaults = Limits{Unpacked: 8 << 30, Entries: 200_000, Names: 32 << 20}

func TestHostileLayers(t *testing.T) {
	shared.OneGoroutine(t)
	t.Parallel()
	many := make([]string, 0, 3000)
	for n := range 3000 {
		many = append(many, fmt.Sprintf("c/%d=", n))
	}
	deep := strings.Repeat("d/", maxDepth-1)
	long := make([]string, 0, 8500)
	for n := range cap(long) {
		long = append(long, fmt.Sprintf("c/%05d%s=", n, strings.Repeat("x", 4000)))
	}
	tests := []struct {
		name   string
		limits Limits
		layer  []byte
		want   string
	}{
		{"gzip bomb", Limits{Unpacked: 1 << 20}, endless(t, "c/a", 8<<20), "more than 1 MB in total when decompressed"},
		{"gzip bomb elsewhere", Limits{Unpacked: 1 << 20}, endless(t, "x", 8<<20), "more than 1 MB"},
		{"gzip bomb behind the archive", Limits{Unpacked: 1 << 20},
			tartest.Gzip(t, append(tartest.Tar(t, "c/a=1"), make([]byte, 8<<20)...)), ""},
		{"sparse file", defaults, sparse(t, "c/a", 10<<30), "more than 8 GB in total when decompressed"},
		{"sparse file elsewhere", defaults, append(sparse(t, "x", 10<<30)[:2048], tartest.Tar(t, "c/a=1")...), ""},
		{"many files", Limits{Entries: 1000}, tartest.Tar(t, many...), "more than 1000 files, directories and links"},
		{"many links elsewhere", Limits{Entries: 2}, tartest.Tar(t, "a->b", "b->c", "d->e"), "more than 2 files, directories and links"},
		{"many directories in one name", Limits{Entries: 50}, tartest.Tar(t, "c/"+deep+"f=1"), "more than 50 files"},
		{"as deep as allowed", defaults, tartest.Tar(t, "c/"+deep+"f=1", "c/a->"+deep+"f"), ""},
		{"too deep", defaults, tartest.Tar(t, "c/d/"+deep+"f=1"), "nested too deeply: at most 100 directories"},
		{"too deep elsewhere", defaults, tartest.Tar(t, "x/d/"+deep+"f=1"), "nested too deeply: at most 100 directories"},
		{"too deep through a link", defaults, tartest.Tar(t, "c/"+deep, "c/l->"+deep, "c/l/d/f=1"),
			"nested too deeply: at most 100 directories"},
		{"long way", defaults, tartest.Tar(t, "c/l->"+strings.Repeat("./", 300), "c/m->l/l/f", "c/f=", "c/m/g="),
			"the path is too long"},
		{"long name", defaults, tartest.Tar(t, strings.Repeat("x", 5000)+"=1"), "its name is longer than 4096 bytes"},
		{"many long names", defaults, tartest.Tar(t, long...), "the names of files and links have more than 32 MB"},
		{"deeper and deeper", defaults, tartest.Tar(t, "c/a->"+deep, "c/b->a/"+deep, "c/c->b/"+deep, "c/c/f=1"),
			"nested too deeply: at most 100 directories"},
		{"long link", defaults, tartest.Tar(t, "c/a->"+strings.Repeat("x", 5000)), "the link is longer than 4096 bytes"},
		{"cut short", defaults, tartest.Tar(t, "c/a="+strings.Repeat("x", 2000))[:1024], "unexpected EOF"},
		{"cut gzip", defaults, tartest.Gzip(t, tartest.Tar(t, "c/a="+strings.Repeat("xyz", 2000)))[:60], "unexpected EOF"},
		{"no archive", defaults, []byte(strings.Repeat("no archive ", 100)), "invalid tar header"},
		{"zstd that wants a gigabyte", defaults, []byte("\x28\xb5\x2f\xfd\x00\xa0\x00\x00\x00"), "window size exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openUnion(t, tt.limits, "c", tt.layer)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if !strings.HasPrefix(err.Error(), "layer 0: ") {
				t.Errorf("%v does not name the layer", err)
			}
			if limit := strings.Contains(tt.want, "more than"); limit != errors.Is(err, ErrLimit) {
				t.Errorf("%v wraps ErrLimit: %v", err, !limit)
			}
		})
	}
}

func TestManyLinksOut(t *testing.T) {
	var links, chain []string
	want := map[string]string{}
	for n := range 2000 {
		links = append(links, fmt.Sprintf("c/%d->/x/%d", n, n), fmt.Sprintf("x/%d=%d", n, n))
		want[fmt.Sprint(n)] = fmt.Sprint(n)
	}
	tartest.WantFiles(t, mustUnion(t, "c", tartest.Tar(t, links...)), want)
	for n := range 20 {
		chain = append(chain, fmt.Sprintf("x%d/f->/x%d/f", n, n+1))
	}
	chain = append(chain, "c/l->/x0/f", "x20/f=1")
	tartest.WantFiles(t, mustUnion(t, "c", tartest.Tar(t, chain...)), tartest.Files("l=1"))
}

// TestHeaderMemory checks the memory for files whose headers are much larger than the used part of them.
func TestHeaderMemory(t *testing.T) {
	shared.OneGoroutine(t)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for n := range 60 {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("c/%d-é", n), Linkname: "ü",
			PAXRecords: map[string]string{"VENDOR.x": strings.Repeat("x", 500<<10)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer := tartest.Gzip(t, out.Bytes())
	out = bytes.Buffer{}
	before := heap()
	fsys := mustUnion(t, "c", layer)
	if grown := heap() - before; grown > 5<<20 {
		t.Errorf("%d MB are held of 60 links", grown>>20)
	}
	runtime.KeepAlive(fsys)
}

// heap returns the number of bytes in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestManyLayers(t *testing.T) {
	var layers [][]byte
	want := map[string]string{}
	for n := range 40 {
		name, body := fmt.Sprintf("f%d", n), strings.Repeat(fmt.Sprint(n), 20_000)
		layers = append(layers, tartest.Tar(t, "c/"+name+"="+body))
		want[name] = body
	}
	tartest.WantFiles(t, mustUnion(t, "c", layers...), want)
}

// TestLayerMemory checks the memory for files that are much larger than the uncompressed part of the spool.
func TestLayerMemory(t *testing.T) {
	shared.OneGoroutine(t)
	held, other := endless(t, "c/a", 256<<20), endless(t, "x", 256<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fsys := mustUnion(t, "c", held, other)
	runtime.ReadMemStats(&after)
	info, err := fs.Stat(fsys, "a")
	if err != nil || info.Size() != 256<<20 {
		t.Fatalf("got %v, %v", info, err)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
}

func TestUnionEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Union(ctx, layersOf(tartest.Tar(t, "c/a=1")), "c", nil, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzLayer checks that no layer makes reading panic.
func FuzzLayer(f *testing.F) {
	f.Add(tartest.Tar(f, "c/a=1", "c/b->/x/y", "x/y=2", "c/d=>c/a", "c/.wh.e="))
	f.Add(tartest.Gzip(f, tartest.Tar(f, "c->/d", "d/a=1")))
	f.Add(tartest.Zstd(f, tartest.Tar(f, "h->/", "c/a=1", "n%")))
	f.Add(sparse(f, "c/a", 4096))
	f.Fuzz(func(t *testing.T, data []byte) {
		if fsys, err := openUnion(t, Limits{Unpacked: 1 << 20, Entries: 1000}, "c", data); err == nil {
			tartest.Contents(t, fsys)
		}
	})
}

// FuzzTree checks that the files of a directory are the same whether only the directory or the whole image is buffered,
// regardless of links.
func FuzzTree(f *testing.F) {
	f.Add("c/a=1 c/b->/x/y x/y=2 c/d=>c/a", "c/.wh.a= c/.wh..wh..opq= c/n=1")
	f.Add("c->/d d/a=1 e->c", "e/b=1 .wh.d=")
	f.Add("h->/ c/a=1 n% c/l->../h/x", "h/c/b=2 x/f=3")
	f.Add("x/y->/z/w z/a=1 z/w/b=2 c/b->/x/y/../a", "x/ x/y->c")
	f.Fuzz(func(t *testing.T, lower, upper string) {
		if !utf8.ValidString(lower + upper) {
			return // not valid names in an fs.FS
		}
		var layers [][]byte
		for _, text := range []string{lower, upper} {
			data, err := tartest.Make(strings.Fields(text))
			if err != nil {
				return
			}
			layers = append(layers, data)
		}
		all, err := openUnion(t, Limits{}, "/", layers...)
		if err != nil {
			return
		}
		part, err := openUnion(t, Limits{}, "c", layers...)
		want := *all
		var wantErr error
		if want.dir, wantErr = all.tree.walk(all.tree.root, "c", follow); wantErr == nil && !want.dir.mode.IsDir() {
			wantErr = errNotDir
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if err == nil {
			tartest.WantFiles(t, part, tartest.Contents(t, &want))
		}
	})
}

func BenchmarkLayer(b *testing.B) {
	var entries []string
	for n := range 60 {
		entries = append(entries, fmt.Sprintf("c/%d.yaml=%s", n, strings.Repeat("schema: olm.bundle\n", 1000)),
			fmt.Sprintf("usr/%d=%s", n, strings.Repeat("other", 1000)))
	}
	plain := tartest.Tar(b, entries...)
	layers := layersOf(tartest.Gzip(b, plain))
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		fsys, err := Union(b.Context(), layers, "c", nil, Options{})
		if err != nil {
			b.Fatal(err)
		}
		fsys.Close()
	}
}

// BenchmarkDeep reads many files at the maximum depth.
func BenchmarkDeep(b *testing.B) {
	for name, dir := range map[string]string{
		"names": "c/" + strings.Repeat("d/", maxDepth-1),
		"links": "c/l/",
	} {
		b.Run(name, func(b *testing.B) {
			entries := []string{"c/d/", "c/l->" + strings.Repeat("d/../", maxSteps/2-9)}
			for n := range 20_000 {
				entries = append(entries, fmt.Sprint(dir, n, "="))
			}
			layers := layersOf(tartest.Zstd(b, tartest.Tar(b, entries...)))
			b.ReportAllocs()
			for b.Loop() {
				fsys, err := Union(b.Context(), layers, "c", nil, Options{})
				if err != nil {
					b.Fatal(err)
				}
				fsys.Close()
			}
		})
	}
}
