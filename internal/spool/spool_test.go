package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

const frame = 1 << 20

// text returns n bytes that compress about as well as a catalog; noise returns n bytes that do not compress.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "{\"schema\": \"olm.bundle\", \"name\": \"foo.v%d\"}\n", r.IntN(1000))
	}
	return b.Bytes()[:n]
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// hold spools data and closes the blob with the test.
func hold(t testing.TB, data []byte, opts spool.Options) *spool.Blob {
	t.Helper()
	b, err := spool.Read(bytes.NewReader(data), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if b.Size() != int64(len(data)) {
		t.Fatalf("Size() = %d, want %d", b.Size(), len(data))
	}
	return b
}

func TestReadBack(t *testing.T) {
	shared.OneGoroutine(t)
	for _, limit := range []int64{0, -1, 1, frame} {
		for _, size := range []int{0, 1, frame - 1, frame, frame + 1, 5*frame + 12345} {
			t.Run(fmt.Sprintf("limit %d size %d", limit, size), func(t *testing.T) {
				data := text(size)
				b := hold(t, data, spool.Options{Dir: t.TempDir(), MemoryLimit: limit})
				got, err := io.ReadAll(iotest.OneByteReader(io.NewSectionReader(b, 0, min(b.Size(), 1000))))
				if err != nil || !bytes.Equal(got, data[:min(size, 1000)]) {
					t.Errorf("byte by byte: %d bytes, error %v", len(got), err)
				}
				got, err = io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("as a whole: %d bytes, error %v", len(got), err)
				}
			})
		}
	}
}

func TestReadAtEnds(t *testing.T) {
	data := text(frame + 10)
	b := hold(t, data, spool.Options{})
	tests := []struct {
		off  int64
		len  int
		want int
		err  error
	}{
		{0, 0, 0, nil},
		{0, 5, 5, nil},
		{frame - 3, 6, 6, nil},
		{frame, 10, 10, nil},
		{frame, 11, 10, io.EOF},
		{frame + 10, 0, 0, nil},
		{frame + 10, 1, 0, io.EOF},
		{1 << 62, 1, 0, io.EOF},
	}
	for _, tt := range tests {
		p := make([]byte, tt.len)
		n, err := b.ReadAt(p, tt.off)
		if n != tt.want || err != tt.err {
			t.Errorf("ReadAt(%d bytes, %d) = %d, %v; want %d, %v", tt.len, tt.off, n, err, tt.want, tt.err)
		}
		if n > 0 && !bytes.Equal(p[:n], data[tt.off:][:n]) {
			t.Errorf("ReadAt(%d bytes, %d) has the wrong bytes", tt.len, tt.off)
		}
	}
	if _, err := b.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("ReadAt at -1: error %v, want another", err)
	}
}

func TestConcurrentReads(t *testing.T) {
	data := text(20*frame + 77) // more frames than a Blob caches
	b := hold(t, data, spool.Options{Dir: t.TempDir(), MemoryLimit: 5000})
	var wg sync.WaitGroup
	for seed := range uint64(12) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 20 {
				p := make([]byte, r.IntN(3*frame/2))
				off := r.IntN(len(data) - len(p))
				if n, err := b.ReadAt(p, int64(off)); n != len(p) || err != nil || !bytes.Equal(p, data[off:off+n]) {
					t.Errorf("ReadAt(%d bytes, %d) = %d, %v, or other bytes", len(p), off, n, err)
				}
			}
			b.Forget()
		})
	}
	wg.Wait()
}

func TestNoFileBelowLimit(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(tmp, "missing"))
	warn := func(m string) { t.Errorf("warning below the limit: %s", m) }
	hold(t, noise(4*frame), spool.Options{MemoryLimit: 5 * frame, Dir: filepath.Join(tmp, "missing"), Warn: warn})
}

func TestMemoryWhereNoFileCanBeMade(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	var warnings []string
	data := noise(4 * frame)
	b := hold(t, data, spool.Options{
		Dir: missing + "2", MemoryLimit: 2 * frame, Warn: func(m string) { warnings = append(warnings, m) },
	})
	got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("read back %d bytes, error %v", len(got), err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "2 MB") || !strings.Contains(warnings[0], missing) {
		t.Errorf("warnings %q, want one that names the limit and the directory", warnings)
	}
	hold(t, data, spool.Options{MemoryLimit: 1}) // a nil Warn is allowed
}

func TestFileLimit(t *testing.T) {
	limit := func(n int64) spool.Options { return spool.Options{MemoryLimit: 2 * frame, FileLimit: n} }
	hold(t, noise(4*frame), limit(3*frame))
	hold(t, text(20*frame), limit(2*frame))
	for name, tmp := range map[string]string{"file": t.TempDir(), "no file": "missing"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", tmp)
			_, err := spool.Read(bytes.NewReader(noise(6*frame)), limit(3*frame))
			if !errors.Is(err, spool.ErrLimit) || !strings.Contains(err.Error(), "more than 5 MB when compressed") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestFileHasNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file keeps its name there")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	w := spool.NewWriter(spool.Options{MemoryLimit: -1})
	if _, err := w.Write(noise(5 * frame)); err != nil {
		t.Fatal(err)
	}
	mustBeEmpty(t, dir)
	b, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	mustBeEmpty(t, dir)
}

func TestCloseRemovesFile(t *testing.T) {
	dir := t.TempDir()
	b := hold(t, noise(2*frame), spool.Options{Dir: dir, MemoryLimit: -1})
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	mustBeEmpty(t, dir)
	if _, err := b.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadAt after Close: %v, want fs.ErrClosed", err)
	}
}

func TestWriterAfterEnd(t *testing.T) {
	w := spool.NewWriter(spool.Options{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Close gave no error")
	}
	if _, err := w.Finish(); err == nil {
		t.Error("Finish after Close gave no error")
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	_, err := spool.Read(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), spool.Options{})
	if err != broken {
		t.Errorf("Read = %v, want %v", err, broken)
	}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the directory: %v %v", entries, err)
	}
}

func FuzzReadAt(f *testing.F) {
	f.Add([]byte("some bytes"), uint16(3), int64(-1), int64(2), uint16(4))
	f.Add([]byte("x"), uint16(3000), int64(0), int64(frame-1), uint16(9))
	f.Add([]byte("0123456789"), uint16(1<<15), int64(1000), int64(5*frame), uint16(65535))
	f.Fuzz(func(t *testing.T, piece []byte, repeat uint16, limit, off int64, length uint16) {
		data := bytes.Repeat(piece, min(int(repeat), 4*frame/max(1, len(piece))))
		b := hold(t, data, spool.Options{Dir: t.TempDir(), MemoryLimit: limit})
		got, want := make([]byte, length), make([]byte, length)
		n, err := b.ReadAt(got, off)
		wantN, wantErr := bytes.NewReader(data).ReadAt(want, off)
		if length == 0 {
			wantErr = err // bytes.Reader reports the end here, io.ReaderAt does not require it
		}
		sameErr := (err == nil) == (wantErr == nil) && (err == io.EOF) == (wantErr == io.EOF)
		if n != wantN || !bytes.Equal(got, want) || !sameErr {
			t.Errorf("ReadAt(%d bytes, %d) = %d, %v; want %d, %v", length, off, n, err, wantN, wantErr)
		}
	})
}

func BenchmarkHold(b *testing.B) {
	data := text(32 * frame)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		hold(b, data, spool.Options{})
	}
}

func BenchmarkReadBack(b *testing.B) {
	blob := hold(b, text(32*frame), spool.Options{})
	buf := make([]byte, 64<<10)
	b.SetBytes(blob.Size())
	b.ReportAllocs()
	for b.Loop() {
		r := io.NewSectionReader(blob, 0, blob.Size())
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func TestStore(t *testing.T) {
	s := spool.NewStore(2, spool.Options{Dir: t.TempDir(), MemoryLimit: -1})
	defer s.Close()
	inputs := [][]byte{text(10), text(2 * frame), nil, text(frame)}
	held := make([]*io.SectionReader, len(inputs))
	var wg sync.WaitGroup
	for i, data := range inputs {
		wg.Go(func() {
			var err error
			if held[i], err = s.Add(bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := held[0].ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
		t.Errorf("ReadAt before Finish: error %v, want another", err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	for i, data := range inputs {
		if got, err := io.ReadAll(held[i]); err != nil || !bytes.Equal(got, data) {
			t.Errorf("input %d: %d bytes, error %v; want %d bytes", i, len(got), err, len(data))
		}
	}
	if _, err := s.Add(strings.NewReader("x")); err == nil {
		t.Error("Add after Finish gave no error")
	}
}
