package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// cacheChild is the variable that makes the test binary fill the cache in a directory until it is killed.
const cacheChild = "OPM_TEST_CACHE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(cacheChild); dir != "" {
		panic(fillForEver(dir))
	}
	m.Run()
}

// children is the number of different contents that the test processes write to one cache.
const children = 5

// fillForEver fills the cache until an error occurs, which it returns.
func fillForEver(dir string) error {
	for {
		c := OpenCache(dir, CacheOptions{MaxSize: 3 << 20}) // too small for all contents, so that files are evicted
		for n := range children {
			if err := fillOne(c, n); err != nil {
				return err
			}
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
}

func fillOne(c *Cache, seed int) error {
	data, h, err := makeContent(seed, 1<<20)
	if err != nil {
		return err
	}
	s, err := c.fetch(context.Background(), h, origin{}, func(w io.Writer) error {
		for part := range slices.Chunk(data, 1<<16) {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("wrong content")
	}
	return err
}

// TestKilled kills processes that fill one cache concurrently, and checks that the cache is intact.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 4 {
		var procs []*exec.Cmd
		var outs []*bytes.Buffer
		for range 3 {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), cacheChild+"="+dir)
			out := &bytes.Buffer{}
			cmd.Stderr = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			procs, outs = append(procs, cmd), append(outs, out)
		}
		time.Sleep(time.Duration(100+77*round) * time.Millisecond)
		for n, cmd := range procs {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // it was killed
			if cmd.ProcessState.Exited() {
				t.Errorf("a process has failed: %s", outs[n])
			}
		}
		blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range blobs {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			h, _, err := v1.SHA256(bytes.NewReader(data))
			if err != nil || h.Hex != filepath.Base(name) {
				t.Errorf("%s is partial: %v", name, err)
			}
		}
	}
	var calls atomic.Int32
	c := OpenCache(dir, CacheOptions{})
	defer c.Close()
	for n := range children {
		data, h := content(t, n, 1<<20)
		if got, err := fetchAll(t, c, h, writing(data, &calls)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	}
}
