package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// answers returns the results of all queries of a store as text, including errors.
func answers(s *store.Store) []string {
	var all []string
	note := func(what string, data []byte, err error) {
		all = append(all, fmt.Sprintf("%s %x %v", what, data, err))
	}
	for _, name := range s.PackageNames() {
		data, err := s.Package(name)
		note("package", data, err)
	}
	for data, err := range s.Bundles() {
		note("list", data, err)
		if err != nil {
			break
		}
		pkg, channel, name := field(data, 2), field(data, 3), field(data, 1)
		data, err := s.BundleMessage(pkg, channel, name)
		note("bundle", data, err)
		head, err := s.ChannelHead(pkg, channel)
		note(head, nil, err)
		by, err := s.Replacement(name, pkg, channel)
		note(by, nil, err)
		for data, err := range s.EntriesThatReplace(name) {
			note("replaces", data, err)
		}
	}
	for _, latest := range []bool{false, true} {
		for data, err := range s.EntriesThatProvide("kiln.io", "v1", "Kiln", latest) {
			note("provides", data, err)
		}
	}
	pkg, channel, bundle, err := s.DefaultProvider("kiln.io", "v1", "Kiln")
	note(pkg+channel+bundle, nil, err)
	for _, pkg := range []string{"kiln", ""} {
		for data, err := range s.CustomMetas("kiln.docs", pkg) {
			note("custom", data, err)
		}
	}
	for _, c := range s.Catalogs() {
		for _, q := range []store.Query{{}, {Name: "kiln"}, {Schema: "olm.bundle", Package: "kiln"}, {Package: "kiln", Name: "second"}} {
			for line, err := range c.Query(q).Lines() {
				note("line", line, err)
			}
		}
		for _, r := range []*store.Reader{c.Plain(), c.Zstd(), c.Gzip()} {
			data, err := io.ReadAll(r)
			note("all", data, err)
		}
	}
	return all
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	data, key := image(t, store.BuildOptions{}, source("a.yaml", kiln))
	flip := func(at int) []byte {
		flipped := bytes.Clone(data)
		flipped[(at+len(data))%len(data)] ^= 1
		return flipped
	}
	for i, tt := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"an empty file", nil, store.ErrTruncated, "it has 0 bytes"},
		{"a file of another program", []byte("SQLite format 3"), store.ErrForeign, ""},
		{"a large one", bytes.Repeat([]byte("x"), 10000), store.ErrForeign, ""},
		{"half a header", data[:20], store.ErrTruncated, "it has 20 bytes"},
		{"half a store", data[:len(data)/2], store.ErrTruncated, "it does not end with a footer"},
		{"a store without its last byte", data[:len(data)-1], store.ErrTruncated, ""},
		{"a store with more behind it", append(bytes.Clone(data), data...), store.ErrTruncated, "bytes of"},
		{"another version", flip(8), store.ErrVersion, "4, and this is 5"},
		{"a flipped key", flip(16), store.ErrChecksum, "header"},
		{"a flipped bit in the index", flip(-100), store.ErrChecksum, "index"},
		{"a flipped bit at the end", flip(-48), store.ErrChecksum, "footer"},
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, tt.data, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(path, key)
		if s != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	path := filepath.Join(dir, "whole")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(path, store.Key{7}); !errors.Is(err, store.ErrKey) || !strings.Contains(err.Error(), key.String()) {
		t.Errorf("the store belongs to another catalog: %v", err)
	}
	if _, err := store.Open(dir, key); !errors.Is(err, store.ErrForeign) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := store.Open(filepath.Join(dir, "gone"), key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// TestTruncated checks that a truncated store is rejected, whatever its length.
func TestTruncated(t *testing.T) {
	data, key := image(t, store.BuildOptions{HTTP: true}, source("a.yaml", kiln))
	for size := range data {
		s, err := store.New(bytes.NewReader(data[:size]), int64(size), key)
		if s != nil || !errors.Is(err, store.ErrTruncated) {
			t.Fatalf("%d of %d bytes: %v", size, len(data), err)
		}
	}
}

// TestFlippedBits checks that any flipped bit is detected before a response.
func TestFlippedBits(t *testing.T) {
	shared.OneGoroutine(t)
	data, key := image(t, store.BuildOptions{HTTP: true}, source("a.yaml", kiln))
	want := answers(open(t, data, key))
	for i := range data {
		data[i] ^= 1 << (i % 8)
		s, err := store.New(bytes.NewReader(data), int64(len(data)), key)
		if err == nil {
			lost := 0
			for j, got := range answers(s) {
				switch {
				case strings.Contains(got, store.ErrDataLoss.Error()):
					lost++
				case lost == 0 && got != want[j], lost > 0 && !slices.Contains(want, got) && !strings.HasPrefix(got, "all"):
					t.Fatalf("byte %d: got %s", i, got)
				}
			}
			if lost == 0 {
				t.Fatalf("byte %d: nothing is noticed", i)
			}
		}
		data[i] ^= 1 << (i % 8)
	}
}

// TestFileChangesUnderReader checks that truncating or overwriting an open file leads to errors.
func TestFileChangesUnderReader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(path string, size int64) error
	}{
		{"cut", func(path string, _ int64) error { return os.Truncate(path, 40) }},
		{"emptied", func(path string, _ int64) error { return os.Truncate(path, 0) }},
		{"overwritten", func(path string, size int64) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write(bytes.Repeat([]byte("x"), int(size)))
			return err
		}},
	} {
		src := source("a.yaml", kiln)
		path, key := filepath.Join(t.TempDir(), "store"), keyOf(t, src)
		if err := store.Build(t.Context(), path, key, store.BuildOptions{HTTP: true}, src); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(path, key)
		if err != nil {
			t.Fatal(err)
		}
		want := answers(s)
		if err := tt.change(path, s.Stats().Bytes); err != nil {
			t.Fatal(err)
		}
		if _, err := s.BundleMessage("kiln", "stable", "kiln.v1"); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, got := range answers(s) {
			if !slices.Contains(want, got) && !strings.Contains(got, store.ErrDataLoss.Error()) {
				t.Errorf("%s: got %s", tt.name, got)
			}
		}
		s.Close()
	}
}

// TestFileIsReplacedUnderReader checks that a file can still be read after it was removed or replaced.
func TestFileIsReplacedUnderReader(t *testing.T) {
	src := source("a.yaml", kiln)
	path, key := filepath.Join(t.TempDir(), "store"), keyOf(t, src)
	if err := store.Build(t.Context(), path, key, store.BuildOptions{}, src); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(path, key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := answers(s)
	other := source("a.yaml", "schema: x\n")
	if err := store.Build(t.Context(), path, keyOf(t, other), store.BuildOptions{}, other); err != nil {
		t.Fatal(err)
	}
	if got := answers(s); !slices.Equal(got, want) {
		t.Error("replaced: the answers differ")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := answers(s); !slices.Equal(got, want) {
		t.Error("removed: the answers differ")
	}
}

func TestClosed(t *testing.T) {
	src := source("a.yaml", kiln)
	s, err := store.Temp(t.Context(), t.TempDir(), keyOf(t, src), store.BuildOptions{}, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.BundleMessage("kiln", "stable", "kiln.v1"); !errors.Is(err, fs.ErrClosed) || !errors.Is(err, store.ErrDataLoss) {
		t.Errorf("after Close: %v", err)
	}
}

// TestConcurrentUse checks that concurrent readers get the same results.
func TestConcurrentUse(t *testing.T) {
	s := kilnStore(t)
	want := answers(s)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := answers(s); !slices.Equal(got, want) {
					t.Error("the answers differ")
				}
			}
		})
	}
	group.Wait()
}

// TestAnswersAreKept checks that later queries do not change earlier results.
func TestAnswersAreKept(t *testing.T) {
	s := kilnStore(t)
	var kept, copies [][]byte
	keep := func(data []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		kept, copies = append(kept, data), append(copies, bytes.Clone(data))
	}
	for range 3 {
		for data, err := range s.Bundles() {
			keep(data, err)
			keep(s.BundleMessage("kiln", "stable", "kiln.v3"))
			_ = append(data, "more"...) // must not overwrite other results
		}
		keep(s.Package("kiln"))
	}
	for i := range kept {
		if !bytes.Equal(kept[i], copies[i]) {
			t.Fatalf("answer %d has changed", i)
		}
	}
}
