package image

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
)

// endless returns an archive, compressed with gzip, of one file of n zeros.
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

// sparse returns an archive of one file that has n bytes and no data, as GNU tar writes it.
func sparse(t testing.TB, name string, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	// The body is the map of the data: none, and the end.
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
	// The writer refuses these records, so they take the place of one that it accepts.
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

func TestHostileLayers(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 3000)
	for n := range 3000 {
		many = append(many, fmt.Sprintf("c/%d=", n))
	}
	deep := strings.Repeat("d/", 1500)
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
		{"gzip bomb", Limits{Unpacked: 1 << 20}, endless(t, "c/a", 8<<20), "the layers decompress to more than 1 MB"},
		{"gzip bomb elsewhere", Limits{Unpacked: 1 << 20}, endless(t, "x", 8<<20), "more than 1 MB"},
		{"gzip bomb behind the archive", Limits{Unpacked: 1 << 20},
			gzipOf(t, append(tarOf(t, "c/a=1"), make([]byte, 8<<20)...)), ""},
		{"sparse file", Limits{}, sparse(t, "c/a", 10<<30), "the layers decompress to more than 8 GB"},
		{"sparse file elsewhere", Limits{}, append(sparse(t, "x", 10<<30)[:2048], tarOf(t, "c/a=1")...), ""},
		{"many files", Limits{Files: 1000}, tarOf(t, many...), "more than 1000 files and links"},
		{"many links elsewhere", Limits{Files: 2}, tarOf(t, "a->b", "b->c", "d->e"), "more than 2 files and links"},
		{"many directories in one name", Limits{Files: 1000}, tarOf(t, "c/"+deep+"f=1"), "more than 1000 files"},
		{"long name", Limits{}, tarOf(t, strings.Repeat("x", 5000)+"=1"), "the name is longer than 4096 bytes"},
		{"many long names", Limits{}, tarOf(t, long...), "the names of the files and links that would have to be held " +
			"have more than 32 MB"},
		{"deeper and deeper", Limits{}, tarOf(t, "c/a->"+deep, "c/b->a/"+deep, "c/c->b/"+deep, "c/c/f=1"),
			"it lies too deep"},
		{"long link", Limits{}, tarOf(t, "c/a->"+strings.Repeat("x", 5000)), "the link is longer than 4096 bytes"},
		{"cut short", Limits{}, tarOf(t, "c/a="+strings.Repeat("x", 2000))[:1024], "unexpected EOF"},
		{"cut gzip", Limits{}, gzipOf(t, tarOf(t, "c/a="+strings.Repeat("xyz", 2000)))[:60], "unexpected EOF"},
		{"no archive", Limits{}, []byte(strings.Repeat("no archive ", 100)), "invalid tar header"},
		{"zstd that wants a gigabyte", Limits{}, []byte("\x28\xb5\x2f\xfd\x00\xa0\x00\x00\x00"), "window size exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img := layered(t, tt.limits, tt.layer)
			_, err := img.Files(t.Context(), "c")
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			where := "read image test: layer " + img.layers[0].Digest.String() + ": "
			if !strings.HasPrefix(err.Error(), where) {
				t.Errorf("%v does not begin with %q", err, where)
			}
			if limit := strings.Contains(tt.want, "more than"); limit != errors.Is(err, ErrLimit) {
				t.Errorf("%v wraps ErrLimit: %v", err, !limit)
			}
		})
	}
}

func TestManyLinksOut(t *testing.T) {
	var links, chain []string
	for n := range maxWanted + 10 {
		links = append(links, fmt.Sprintf("c/%d->/x/%d", n, n))
	}
	for n := range maxPasses + 5 {
		chain = append(chain, fmt.Sprintf("c/l%d->/x%d/f", n, n), fmt.Sprintf("x%d/f->/x%d/f", n, n+1))
	}
	_, err := layered(t, Limits{}, tarOf(t, links...)).Files(t.Context(), "c")
	if !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	// All links of a chain are known after the first pass.
	if _, err = layered(t, Limits{}, tarOf(t, chain...)).Files(t.Context(), "c"); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestHeaderMemory holds files of which the headers are far larger than what is used of them.
func TestHeaderMemory(t *testing.T) {
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
	img := layered(t, Limits{}, gzipOf(t, out.Bytes()))
	out = bytes.Buffer{}
	before := heap()
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if grown := heap() - before; grown > 5<<20 {
		t.Errorf("%d MB are held of 60 links", grown>>20)
	}
	runtime.KeepAlive(fsys)
}

// heap returns how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestManyLayers holds that layers share what their files are held in.
func TestManyLayers(t *testing.T) {
	var layers [][]byte
	want := map[string]string{}
	for n := range 40 {
		name, body := fmt.Sprintf("f%d", n), strings.Repeat(fmt.Sprint(n), 20_000)
		layers = append(layers, tarOf(t, "c/"+name+"="+body))
		want[name] = body
	}
	img := layered(t, Limits{}, layers...)
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, want)
	if n := len(img.closers[0].(*heldPool).all); n > layersAtOnce {
		t.Errorf("there are %d stores for %d layers", n, len(layers))
	}
}

// TestLayerMemory holds files that are far larger than what is held as it is.
func TestLayerMemory(t *testing.T) {
	img := layered(t, Limits{}, endless(t, "c/a", 256<<20), endless(t, "x", 256<<20))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	info, err := fs.Stat(fsys, "a")
	if err != nil || info.Size() != 256<<20 {
		t.Fatalf("got %v, %v", info, err)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
}

func TestFilesEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := layered(t, Limits{}, tarOf(t, "c/a=1")).Files(ctx, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzLayer holds that no layer makes reading panic.
func FuzzLayer(f *testing.F) {
	f.Add(tarOf(f, "c/a=1", "c/b->/x/y", "x/y=2", "c/d=>c/a", "c/.wh.e="))
	f.Add(gzipOf(f, tarOf(f, "c->/d", "d/a=1")))
	f.Add(zstdOf(f, tarOf(f, "h->/", "c/a=1", "n%")))
	f.Add(sparse(f, "c/a", 4096))
	f.Fuzz(func(t *testing.T, data []byte) {
		img := layered(t, Limits{Unpacked: 1 << 20, Files: 1000}, data)
		if fsys, err := img.Files(t.Context(), "c"); err == nil {
			contents(t, fsys)
		}
	})
}

// FuzzTree holds that the files of a directory are the same whether only it or all of the image is held, wherever links
// lead.
func FuzzTree(f *testing.F) {
	f.Add("c/a=1 c/b->/x/y x/y=2 c/d=>c/a", "c/.wh.a= c/.wh..wh..opq= c/n=1")
	f.Add("c->/d d/a=1 e->c", "e/b=1 .wh.d=")
	f.Add("h->/ c/a=1 n% c/l->../h/x", "h/c/b=2 x/f=3")
	f.Add("x/y->/z/w z/a=1 z/w/b=2 c/b->/x/y/../a", "x/ x/y->c")
	f.Fuzz(func(t *testing.T, lower, upper string) {
		if !utf8.ValidString(lower + upper) {
			return // such names are no names in an fs.FS
		}
		var layers [][]byte
		for _, text := range []string{lower, upper} {
			data, err := makeTar(strings.Fields(text))
			if err != nil {
				return
			}
			layers = append(layers, data)
		}
		all, err := layered(t, Limits{}, layers...).Files(t.Context(), "/")
		if err != nil {
			return
		}
		part, err := layered(t, Limits{}, layers...).Files(t.Context(), "c")
		want, wantErr := all.(*imageFS).tree.open("c", "c")
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if err == nil {
			wantFiles(t, part, contents(t, want))
		}
	})
}

func BenchmarkLayer(b *testing.B) {
	var entries []string
	for n := range 60 {
		entries = append(entries, fmt.Sprintf("c/%d.yaml=%s", n, strings.Repeat("schema: olm.bundle\n", 1000)),
			fmt.Sprintf("usr/%d=%s", n, strings.Repeat("other", 1000)))
	}
	plain := tarOf(b, entries...)
	img := layered(b, Limits{}, gzipOf(b, plain))
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := img.Files(b.Context(), "c"); err != nil {
			b.Fatal(err)
		}
	}
}
