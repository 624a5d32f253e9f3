package tarfs

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// A tarEntry is a header with its data. Zero values mean a regular file with mode 0644 and its own data.
type tarEntry struct {
	tar.Header
	data string
}

func regular(name, data string) tarEntry { return tarEntry{tar.Header{Name: name}, data} }

func link(name, target string) tarEntry {
	return tarEntry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}, ""}
}

func hard(name, target string) tarEntry {
	return tarEntry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink}, ""}
}

func pack(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Mode == 0 {
			e.Mode = 0o644
		}
		e.Size = int64(len(e.data))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func open(t testing.TB, data []byte) *FS {
	t.Helper()
	fsys, err := Open(t.Context(), bytes.NewReader(data), int64(len(data)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fsys.Close(); err != nil {
			t.Error(err)
		}
	})
	return fsys
}

func mustHold(t *testing.T, fsys fs.FS, name, want string) {
	t.Helper()
	got, err := fs.ReadFile(fsys, name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, error %v; want %q", name, got, err, want)
	}
}

func TestFS(t *testing.T) {
	long := strings.Repeat("long/", 60) + "name.yaml"
	plain := pack(t,
		tarEntry{tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		regular("./foo/catalog.yaml", "schema: olm.package\n"),
		regular("/abs/catalog.json", "{}"),
		regular("inner/a/../b", "b"),
		regular("empty", ""),
		tarEntry{tar.Header{Name: "bare/", Typeflag: tar.TypeDir, Mode: 0o700}, ""},
		regular(long, "far down"),
		tarEntry{tar.Header{Name: strings.Repeat("g", 200), Format: tar.FormatGNU}, "gnu"},
		link("foo/link", "../abs/catalog.json"),
		link("dir", "foo"),
		hard("hard", "./foo/catalog.yaml"),
		regular("..data/x", "a name that only begins like the way up"),
	)
	want := map[string]string{
		"foo/catalog.yaml":       "schema: olm.package\n",
		"abs/catalog.json":       "{}",
		"inner/b":                "b",
		"empty":                  "",
		long:                     "far down",
		strings.Repeat("g", 200): "gnu",
		"foo/link":               "{}",
		"dir/link":               "{}",
		"hard":                   "schema: olm.package\n",
		"..data/x":               "a name that only begins like the way up",
	}
	multi := append(tartest.Gzip(t, plain[:700]), tartest.Gzip(t, plain[700:])...)
	for name, data := range map[string][]byte{
		"tar": plain, "gzip": tartest.Gzip(t, plain), "gzip of two members": multi, "zstd": tartest.Zstd(t, plain),
	} {
		t.Run(name, func(t *testing.T) {
			if !Is(data[:min(len(data), HeaderSize)]) {
				t.Error("Is reports false")
			}
			fsys := open(t, data)
			names := []string{"bare"}
			for name, data := range want {
				if name != "dir/link" { // TestFS does not look below links
					names = append(names, name)
				}
				mustHold(t, fsys, name, data)
			}
			if err := fstest.TestFS(fsys, names...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFilesCanBeReadAnywhere(t *testing.T) {
	f, err := open(t, pack(t, regular("before", "x"), regular("f", "0123456789"), regular("after", "y"))).Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 20)
	if n, err := f.(io.ReaderAt).ReadAt(p, 8); n != 2 || err != io.EOF || string(p[:2]) != "89" {
		t.Errorf("ReadAt = %d %v %q", n, err, p[:n])
	}
	if _, err := f.(io.Seeker).Seek(-3, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(f); err != nil || string(rest) != "789" {
		t.Errorf("after Seek: %q %v", rest, err)
	}
}

func TestLaterEntriesReplace(t *testing.T) {
	fsys := open(t, pack(t,
		regular("f", "old"),
		hard("kept", "f"),
		regular("./f", "new"),
		regular("d/x", "x"),
		tarEntry{tar.Header{Name: "d", Typeflag: tar.TypeDir, Mode: 0o700}, ""},
		tarEntry{tar.Header{Name: "was-dir", Typeflag: tar.TypeDir, Mode: 0o700}, ""},
		regular("was-dir", "file"),
		regular("was-file", "file"),
		tarEntry{tar.Header{Name: "was-file", Typeflag: tar.TypeDir, Mode: 0o700}, ""},
	))
	mustHold(t, fsys, "f", "new")
	mustHold(t, fsys, "kept", "old")
	mustHold(t, fsys, "d/x", "x")
	mustHold(t, fsys, "was-dir", "file")
	for _, name := range []string{"d", "was-file"} {
		if info, err := fs.Stat(fsys, name); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

func TestRefusedEntries(t *testing.T) {
	sparse := pack(t, regular("s", "x"))
	tests := []struct {
		name    string
		entries []tarEntry
		want    string
	}{
		{"way up", []tarEntry{regular("../x", "")}, `entry "../x": it leads out`},
		{"way up after a while", []tarEntry{regular("a/../../x", "")}, `entry "a/../../x": it leads out`},
		{"absolute way up", []tarEntry{regular("/../x", "")}, `entry "/../x": it leads out`},
		{"the way up itself", []tarEntry{{tar.Header{Name: "..", Typeflag: tar.TypeDir}, ""}}, `entry "..": it leads out`},
		{"hard link up", []tarEntry{hard("h", "../x")}, `entry "h": hard link to "../x": it leads out`},
		{"hard link to nothing", []tarEntry{hard("h", "x")}, `entry "h": hard link to "x": file does not exist`},
		{"hard link to a directory", []tarEntry{regular("d/x", ""), hard("h", "d")}, `hard link to "d": is a directory`},
		{"device", []tarEntry{{tar.Header{Name: "dev", Typeflag: tar.TypeChar}, ""}}, `entry "dev": it is a device`},
		{"disk", []tarEntry{{tar.Header{Name: "dev", Typeflag: tar.TypeBlock}, ""}}, `entry "dev": it is a device`},
		{"pipe", []tarEntry{{tar.Header{Name: "p", Typeflag: tar.TypeFifo}, ""}}, `entry "p": it is a named pipe`},
		{"other type", []tarEntry{{tar.Header{Name: "V", Typeflag: 'V'}, ""}}, `entry "V": it is of type 'V'`},
		{"below a file", []tarEntry{regular("f", ""), regular("f/x", "")}, `entry "f/x": parent directory "f": not a directory`},
		{"below a link", []tarEntry{link("l", "d"), regular("l/x", "")}, `entry "l/x": parent directory "l": not a directory`},
		{"file over a directory", []tarEntry{regular("d/x", ""), regular("d", "")}, `entry "d": it would replace`},
		{"file for the root", []tarEntry{link(".", "x")}, `entry ".": the root`},
		{"long name", []tarEntry{regular(strings.Repeat("x", 5000), "")}, `longer than 4096`},
		{
			"not UTF-8", []tarEntry{{tar.Header{Name: "a\xff", Format: tar.FormatGNU}, ""}},
			`entry "a\xff": its name is not UTF-8`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := pack(t, tt.entries...)
			for _, data := range [][]byte{data, tartest.Gzip(t, data)} {
				_, err := Open(t.Context(), bytes.NewReader(data), int64(len(data)), Options{})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
			}
		})
	}
	sparse[156] = tar.TypeGNUSparse // the type changes, the checksum does not
	if isTar(sparse) {
		t.Error("a header with a wrong sum passes")
	}
}

func TestDamage(t *testing.T) {
	plain := pack(t, regular("a", strings.Repeat("a", 1000)), regular("b", strings.Repeat("b", 1000)))
	packed := tartest.Gzip(t, plain)
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	zeros := make([]byte, 2*blockSize)
	tests := []struct {
		name string
		data []byte
		want string // "" for no error
	}{
		{"whole", plain, ""},
		{"nothing in it", zeros, ""},
		{"one block at the end", plain[:3072+512], ""},
		{"empty file", nil, "not a tar archive"},
		{"in the data", plain[:600], "cut short"},
		{"in the padding", plain[:512+1001], "cut short"},
		{"in a header", plain[:512+1024+100], "cut short"},
		{"between entries", plain[:512+1024], "cut short"},
		{"before the end", plain[:3072], "cut short"},
		{"text", []byte("schema: olm.package\n"), "not a tar archive"},
		{"longer text", bytes.Repeat([]byte("schema: olm.package\n"), 100), "not a tar archive"},
		{"gzip of text", tartest.Gzip(t, []byte("schema: olm.package\n")), "not a tar archive"},
		{"gzip of gzip", tartest.Gzip(t, packed), "not a tar archive"},
		{"gzip of nothing", tartest.Gzip(t, nil), "not a tar archive"},
		{"gzip magic", gzipMagic, "cut short"},
		{"gzip in its middle", packed[:len(packed)/2], "cut short"},
		{"gzip in its checksum", packed[:len(packed)-3], "cut short"},
		{"gzip checksum", flipped, "checksum"},
		{"gzip and more", append(bytes.Clone(packed), "more"...), "decompress archive"},
		{"zstd magic", zstdMagic, "archive"},
		{"zstd in its middle", tartest.Zstd(t, plain)[:40], "cut short"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys, err := Open(t.Context(), bytes.NewReader(tt.data), int64(len(tt.data)), Options{})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := fsys.Close(); err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSymbolicLinks(t *testing.T) {
	fsys := open(t, pack(t,
		regular("..2026/foo.yaml", "foo"), // the layout of a mounted ConfigMap
		link("..data", "..2026"),
		link("foo.yaml", "..data/foo.yaml"),
		link("up", "../x"), link("deep/up", "../../x"), link("abs", "/foo.yaml"), link("gone", "x"),
		link("loop", "loop"), link("ping", "pong"), link("pong", "ping"),
		link("deep/over", "../other/../foo.yaml"), link("other", "deep/down"), regular("deep/foo.yaml", "deep"),
		regular("deep/down/x", ""), link("root", "."), link("file", "foo.yaml/x"), link("tail", "..data/"),
	))
	mustHold(t, fsys, "foo.yaml", "foo")
	mustHold(t, fsys, "..data/foo.yaml", "foo")
	mustHold(t, fsys, "root/root/foo.yaml", "foo")
	mustHold(t, fsys, "tail/foo.yaml", "foo")
	// As on disk, ".." starts from the target of a link.
	mustHold(t, fsys, "deep/over", "deep")
	for name, want := range map[string]error{
		"up": errLeaves, "deep/up": errLeaves, "abs": errLeaves, "gone": fs.ErrNotExist, "loop": errLoop, "ping": errLoop,
		"loop/x": errLoop, "file": errNotDir, "../x": fs.ErrInvalid, "foo.yaml/x": errNotDir,
	} {
		if _, err := fsys.Open(name); !errors.Is(err, want) {
			t.Errorf("Open(%s) = %v, want %v", name, err, want)
		}
		if _, err := fsys.Stat(name); !errors.Is(err, want) {
			t.Errorf("Stat(%s) = %v, want %v", name, err, want)
		}
	}
	if target, err := fsys.ReadLink("deep/up"); err != nil || target != "../../x" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
	if _, err := fsys.ReadLink("..2026"); err == nil {
		t.Error("ReadLink of a directory gave no error")
	}
	if info, err := fsys.Lstat("loop"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat = %v, %v", info, err)
	}
	if list, err := fsys.ReadDir("..data"); err != nil || len(list) != 1 || list[0].Name() != "foo.yaml" {
		t.Errorf("ReadDir = %v, %v", list, err)
	}
	if _, err := fsys.ReadDir("foo.yaml"); !errors.Is(err, errNotDir) {
		t.Errorf("ReadDir of a file = %v", err)
	}
}

func TestIs(t *testing.T) {
	for name, header := range map[string][]byte{
		"empty": nil, "json": []byte(`{"schema": "olm.package"}`), "zeros": make([]byte, 1024),
		"spaces": bytes.Repeat([]byte(" "), 1024), "short": pack(t, regular("a", ""))[:511],
	} {
		if Is(header) {
			t.Errorf("Is(%s) = true", name)
		}
	}
}

func TestReadErrorIsKept(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int64{0, 100, 600} {
		_, err := Open(t.Context(), brokenReader{pack(t, regular("a", "x")), size, broken}, 4000, Options{})
		if !errors.Is(err, broken) {
			t.Errorf("reader that breaks at %d: error %v", size, err)
		}
	}
}

// brokenReader fails when more than size bytes are read.
type brokenReader struct {
	data []byte
	size int64
	err  error
}

func (r brokenReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.size {
		return 0, r.err
	}
	return bytes.NewReader(r.data).ReadAt(p, off)
}

func FuzzOpen(f *testing.F) {
	plain := pack(f, regular("a/b", "data"), link("l", "a/b"), hard("h", "a/b"), regular("./a/b", "other"))
	f.Add(plain)
	f.Add(plain[:700])
	f.Add(tartest.Gzip(f, plain))
	f.Add(tartest.Zstd(f, plain))
	f.Add(pack(f, regular(strings.Repeat("x/", 200)+"x", "pax"), link("loop", "loop")))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys, err := Open(t.Context(), bytes.NewReader(data), int64(len(data)), Options{})
		if err != nil {
			return
		}
		defer fsys.Close()
		err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !fs.ValidPath(name) {
				return fmt.Errorf("%q: %w", name, err)
			}
			if d.IsDir() {
				return nil
			}
			info, err := fsys.Stat(name)
			if err != nil && d.Type() == fs.ModeSymlink {
				return nil
			}
			if err != nil || info.IsDir() {
				return err
			}
			content, err := fs.ReadFile(fsys, name)
			if err == nil && int64(len(content)) != info.Size() {
				err = fmt.Errorf("%q has %d bytes, not %d", name, len(content), info.Size())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	var entries []tarEntry
	for i := range 300 {
		entries = append(entries, regular(fmt.Sprintf("p%d/catalog.json", i), strings.Repeat(`{"schema": "s"}`, 4000)))
	}
	plain := pack(b, entries...)
	for name, data := range map[string][]byte{"tar": plain, "gzip": tartest.Gzip(b, plain)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				open(b, data)
			}
		})
	}
}
