package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// content returns incompressible bytes and their digest.
func content(t testing.TB, seed, size int) ([]byte, v1.Hash) {
	t.Helper()
	data, h, err := makeContent(seed, size)
	if err != nil {
		t.Fatal(err)
	}
	return data, h
}

func makeContent(seed, size int) ([]byte, v1.Hash, error) {
	data := make([]byte, size)
	x := uint64(seed)*2654435761 + 1
	for n := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[n] = byte(x)
	}
	h, _, err := v1.SHA256(bytes.NewReader(data))
	return data, h, err
}

// fetchAll reads the content with digest h from c, which may call download.
func fetchAll(t testing.TB, c *Cache, h v1.Hash, download func(io.Writer) error) ([]byte, error) {
	t.Helper()
	s, err := c.fetch(context.Background(), h, origin{}, download)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
}

// wantFetch fails the test unless c provides data for the digest. A download increments calls.
func wantFetch(t testing.TB, c *Cache, h v1.Hash, data []byte, calls *atomic.Int32) {
	t.Helper()
	if got, err := fetchAll(t, c, h, writing(data, calls)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(data))
	}
}

func writing(data []byte, calls *atomic.Int32) func(io.Writer) error {
	return func(w io.Writer) error {
		calls.Add(1)
		_, err := w.Write(data)
		return err
	}
}

// eachCache runs a test with a cache in a directory, and with caches without one.
func eachCache(t *testing.T, test func(t *testing.T, c *Cache)) {
	for _, kind := range []string{"directory", "memory", "memory without files"} {
		t.Run(kind, func(t *testing.T) {
			dir := ""
			if kind == "directory" {
				dir = t.TempDir()
			}
			if kind == "memory without files" {
				t.Setenv("TMPDIR", "/dev/null/none")
			}
			c := OpenCache(dir, CacheOptions{})
			test(t, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// eachCacheInBubble is eachCache with a test that runs in a bubble.
func eachCacheInBubble(t *testing.T, test func(t *testing.T, c *Cache)) {
	eachCache(t, func(t *testing.T, c *Cache) {
		synctest.Test(t, func(t *testing.T) { test(t, c) })
	})
}

func TestCache(t *testing.T) {
	eachCache(t, func(t *testing.T, c *Cache) {
		for n, size := range []int{0, 1, 1000, memoryBlobMax, memoryBlobMax + 1, 5 << 20} {
			data, h := content(t, n, size)
			var calls atomic.Int32
			for range 2 {
				wantFetch(t, c, h, data, &calls)
			}
			if calls.Load() != 1 {
				t.Errorf("%d bytes: fetched %d times", size, calls.Load())
			}
		}
	})
}

func TestCacheChecks(t *testing.T) {
	eachCache(t, func(t *testing.T, c *Cache) {
		data, h := content(t, 1, 2<<20)
		var calls atomic.Int32
		if _, err := fetchAll(t, c, h, writing(data[1:], &calls)); !errors.Is(err, errDigest) {
			t.Errorf("got %v for what has another digest", err)
		}
		mine := errors.New("mine")
		if _, err := fetchAll(t, c, h, func(w io.Writer) error {
			_, _ = w.Write(data[:1<<20])
			return mine
		}); err != mine {
			t.Errorf("got %v for a failed download", err)
		}
		if c.has(h) {
			t.Error("a failed download is kept")
		}
		wantFetch(t, c, h, data, &calls)
		if c.dir == nil {
			return
		}
		if left, err := os.ReadDir(c.dir.tmp()); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
}

func TestCacheSharesDownloads(t *testing.T) {
	eachCacheInBubble(t, func(t *testing.T, c *Cache) {
		data, h := content(t, 1, 3<<20)
		var calls atomic.Int32
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				got, err := fetchAll(t, c, h, func(w io.Writer) error {
					time.Sleep(time.Second) // the others wait
					return writing(data, &calls)(w)
				})
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			})
		}
		group.Wait()
		if calls.Load() != 1 {
			t.Errorf("fetched %d times", calls.Load())
		}
	})
}

// TestFetchGoesOn checks that a caller that waits for a download gets the content even if the context of the
// downloading caller ends.
func TestFetchGoesOn(t *testing.T) {
	eachCacheInBubble(t, func(t *testing.T, c *Cache) {
		data, h := content(t, 1, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan bool)
		var group sync.WaitGroup
		group.Go(func() {
			_, err := c.fetch(ctx, h, origin{}, func(io.Writer) error {
				close(started)
				<-ctx.Done()
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		<-started
		group.Go(func() {
			var calls atomic.Int32
			wantFetch(t, c, h, data, &calls)
		})
		synctest.Wait()
		cancel()
		group.Wait()
	})
}

// TestFetchElsewhere checks that the failure of a download is shared by the calls that waited for it with the same
// origin, and that the others download from their own origins, at the same time and once from each.
func TestFetchElsewhere(t *testing.T) {
	eachCacheInBubble(t, func(t *testing.T, c *Cache) {
		data, h := content(t, 1, 1000)
		repo := func(text string) name.Repository {
			r, err := name.NewRepository(text)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		broken, good := origin{repo: repo("broken.example/a")}, origin{repo: repo("good.example/a")}
		origins := []origin{broken, good, {repo: repo("slow.example/a")}, broken, {repo: broken.repo, size: 1}, good}
		counts, failure := map[origin]int{}, errors.New("denied")
		var mu sync.Mutex
		begun := time.Now()
		var calls sync.WaitGroup
		for _, from := range origins {
			calls.Go(func() {
				s, err := c.fetch(t.Context(), h, from, func(w io.Writer) error {
					mu.Lock()
					counts[from]++
					mu.Unlock()
					time.Sleep(time.Second)
					if from == broken {
						return failure
					}
					_, err := w.Write(data)
					return err
				})
				if (err == nil) == (from == broken) || err != nil && err != failure {
					t.Errorf("%v: got %v", from, err)
				}
				if err == nil {
					s.Close()
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		for from, n := range counts {
			if n != 1 {
				t.Errorf("%v: %d downloads", from, n)
			}
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestDamagedCache checks that damaged files are fetched again.
func TestDamagedCache(t *testing.T) {
	data, h := content(t, 1, 1<<20)
	damages := map[string]func(name string) error{
		"changed": func(name string) error { return os.WriteFile(name, append([]byte{^data[0]}, data[1:]...), 0o600) },
		"short":   func(name string) error { return os.Truncate(name, 1000) },
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"removed": os.Remove,
		"a directory": func(name string) error {
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o700))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for range 3 {
				var calls atomic.Int32
				c := OpenCache(dir, CacheOptions{})
				got, err := fetchAll(t, c, h, writing(data, &calls))
				if err != nil || !bytes.Equal(got, data) || calls.Load() != 1 {
					t.Fatalf("got %d bytes, %v; fetched %d times", len(got), err, calls.Load())
				}
				if err := errors.Join(c.Close(), damage(c.dir.path(h))); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestCacheSize checks that the most recently used files are kept.
func TestCacheSize(t *testing.T) {
	dir := t.TempDir()
	const size = 100 << 10
	var hashes []v1.Hash
	var calls atomic.Int32
	c := OpenCache(dir, CacheOptions{MaxSize: 100 * size})
	for n := range 10 {
		data, h := content(t, n, size)
		wantFetch(t, c, h, data, &calls)
		old := time.Now().Add(time.Duration(n-20) * time.Hour)
		if err := os.Chtimes(c.dir.path(h), old, old); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h)
	}
	fresh, unlock, err := c.dir.create()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	defer fresh.Close()
	stale := writeFile(t, filepath.Join(c.dir.tmp(), ".opm-stale.tmp"), "x")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	c = OpenCache(dir, CacheOptions{MaxSize: 5 * size})
	held := c.open(hashes[1])
	if !c.has(hashes[0]) || held == nil {
		t.Fatal("the oldest is gone too early")
	}
	data, h := content(t, 100, size)
	wantFetch(t, c, h, data, &calls)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	kept := ""
	for _, h := range append(hashes, h) {
		if _, err := os.Stat(c.dir.path(h)); err == nil {
			kept += "1"
		} else {
			kept += "0"
		}
	}
	if kept != "11000000111" { // the first two were just used
		t.Errorf("kept %s", kept)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed process left is still there: %v", err)
	}
	if _, err := os.Stat(fresh.Name()); err != nil {
		t.Errorf("what another process writes is gone: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// TestTinyCache checks that content larger than the whole cache is fetched once, and not kept.
func TestTinyCache(t *testing.T) {
	dir := t.TempDir()
	c := OpenCache(dir, CacheOptions{MaxSize: 1000})
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			data, h := content(t, n, 10_000)
			var calls atomic.Int32
			got, err := fetchAll(t, c, h, writing(data, &calls))
			if err != nil || !bytes.Equal(got, data) || calls.Load() != 1 {
				t.Errorf("got %d bytes, %v; fetched %d times", len(got), err, calls.Load())
			}
		})
	}
	group.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if files, size := c.dir.files(); size > 1000 {
		t.Errorf("it holds %d bytes in %d files", size, len(files))
	}
}

// TestMemoryBudget checks that a cache without a directory evicts content.
func TestMemoryBudget(t *testing.T) {
	for _, tmp := range []string{t.TempDir(), "/dev/null/none"} {
		t.Setenv("TMPDIR", tmp)
		warned := 0
		c := OpenCache("", CacheOptions{Spool: SpoolOptions{Warn: func(string) { warned++ }}})
		var calls atomic.Int32
		const size = memoryBlobMax + 100
		first, h := content(t, 0, size)
		wantFetch(t, c, h, first, &calls)
		held := c.open(h)
		for n := range memoryBudget/memoryBlobMax + 1 {
			data := append([]byte{byte(n)}, first...)
			h, _, err := v1.SHA256(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			wantFetch(t, c, h, data, &calls)
		}
		if c.has(h) || c.memory.weight > memoryBudget {
			t.Errorf("it weighs %d MB", c.memory.weight>>20)
		}
		got, err := io.ReadAll(io.NewSectionReader(held, 0, held.Size()))
		if err != nil || !bytes.Equal(got, first) {
			t.Errorf("what is used is gone: %d bytes, %v", len(got), err)
		}
		if err := errors.Join(held.Close(), held.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if want := tmp == "/dev/null/none"; (warned == 1) != want {
			t.Errorf("warned %d times", warned)
		}
	}
}

// TestReadOnlyCache checks that cached content is used, and that new content is stored elsewhere.
func TestReadOnlyCache(t *testing.T) {
	dir := t.TempDir()
	data, h := content(t, 1, 1000)
	more, h2 := content(t, 2, 1000)
	var calls atomic.Int32
	c := OpenCache(dir, CacheOptions{})
	wantFetch(t, c, h, data, &calls)
	// Root may write anywhere, but not create a directory in place of a file.
	if err := errors.Join(c.Close(), os.RemoveAll(c.dir.tmp()), os.WriteFile(c.dir.tmp(), nil, 0o400)); err != nil {
		t.Fatal(err)
	}
	c = OpenCache(dir, CacheOptions{})
	defer c.Close()
	for range 2 {
		wantFetch(t, c, h, data, &calls)
		wantFetch(t, c, h2, more, &calls)
	}
	if calls.Load() != 2 {
		t.Errorf("fetched %d times", calls.Load())
	}
}

func BenchmarkCacheRead(b *testing.B) {
	data, h := content(b, 1, 8<<20)
	dir := b.TempDir()
	var calls atomic.Int32
	c := OpenCache(dir, CacheOptions{})
	wantFetch(b, c, h, data, &calls)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c := OpenCache(dir, CacheOptions{}) // a new cache verifies the digest
		if !c.has(h) {
			b.Fatal("it is gone")
		}
	}
}
