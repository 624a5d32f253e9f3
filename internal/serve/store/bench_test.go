package store_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// big returns the catalog to measure: the one at the path OPM_BIG_CATALOG, or a published one.
func big(b *testing.B) declcfg.Source {
	b.Helper()
	if dir := os.Getenv("OPM_BIG_CATALOG"); dir != "" {
		return dirSource(dir)
	}
	return dirSource(publishedCatalogs(b)[0])
}

func BenchmarkKeyOf(b *testing.B) {
	s := big(b)
	shared.SetBytes(b, s.FS)
	for b.Loop() {
		keyOf(b, s)
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, http := range []bool{false, true} {
		b.Run(fmt.Sprintf("http=%t", http), func(b *testing.B) {
			s := big(b)
			key := keyOf(b, s)
			shared.SetBytes(b, s.FS)
			b.ReportAllocs()
			path := filepath.Join(b.TempDir(), "store")
			for b.Loop() {
				if err := store.Build(b.Context(), path, key, store.BuildOptions{HTTP: http}, s); err != nil {
					b.Fatal(err)
				}
			}
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB/store")
		})
	}
}

func BenchmarkTemp(b *testing.B) {
	s := big(b)
	shared.SetBytes(b, s.FS)
	b.ReportAllocs()
	for b.Loop() {
		built, err := store.Temp(b.Context(), b.TempDir(), keyOf(b, s), store.BuildOptions{}, s)
		if err != nil {
			b.Fatal(err)
		}
		built.Close()
	}
}

// built returns the store of the catalog to measure, in a file.
func built(b *testing.B, opts store.BuildOptions) (path string, key store.Key) {
	b.Helper()
	s := big(b)
	path, key = filepath.Join(b.TempDir(), "store"), keyOf(b, s)
	if err := store.Build(b.Context(), path, key, opts, s); err != nil {
		b.Fatal(err)
	}
	return path, key
}

func opened(b *testing.B, opts store.BuildOptions) *store.Store {
	b.Helper()
	path, key := built(b, opts)
	s, err := store.Open(path, key)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func BenchmarkOpen(b *testing.B) {
	path, key := built(b, store.BuildOptions{})
	b.ReportAllocs()
	for b.Loop() {
		s, err := store.Open(path, key)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkBundles(b *testing.B) {
	s := opened(b, store.BuildOptions{})
	b.ReportAllocs()
	var bytes, n int64
	for b.Loop() {
		bytes, n = 0, 0
		for message, err := range s.Bundles() {
			if err != nil {
				b.Fatal(err)
			}
			bytes += int64(len(message))
			n++
		}
	}
	b.SetBytes(bytes)
	b.ReportMetric(float64(n), "messages")
}

// names identify a bundle in a channel.
type names struct{ pkg, channel, name string }

// listedNames returns the names of all bundles in all channels.
func listedNames(tb testing.TB, s *store.Store) []names {
	tb.Helper()
	var all []names
	for message, err := range s.Bundles() {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, names{field(message, 2), field(message, 3), field(message, 1)})
	}
	return all
}

// field returns the first field of a message with this number, which must be a string.
func field(message []byte, number protowire.Number) string {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if n == number {
			value, _ := protowire.ConsumeBytes(message[size:])
			return string(value)
		}
		message = message[size+protowire.ConsumeFieldValue(n, kind, message[size:]):]
	}
	return ""
}

func BenchmarkBundle(b *testing.B) {
	s := opened(b, store.BuildOptions{})
	all := listedNames(b, s)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var buf []byte
		for i := 0; pb.Next(); i = (i + 7919) % len(all) {
			bundle, err := s.Bundle(all[i].pkg, all[i].channel, all[i].name)
			if err != nil {
				b.Error(err)
				return
			}
			buf = slices.Grow(buf, bundle.Size())
			if _, err := bundle.Message(buf); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkQuery(b *testing.B) {
	s := opened(b, store.BuildOptions{HTTP: true})
	all := listedNames(b, s)
	c := s.Catalogs()[0]
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r := c.Query(store.Query{Schema: declcfg.SchemaBundle, Package: all[i].pkg, Name: all[i].name})
		if r.Len() != 1 {
			b.Fatal(r.Len(), all[i])
		}
		for _, err := range r.Lines() {
			if err != nil {
				b.Fatal(err)
			}
		}
		i = (i + 7919) % len(all)
	}
}

func BenchmarkAll(b *testing.B) {
	s := opened(b, store.BuildOptions{HTTP: true})
	c := s.Catalogs()[0]
	for name, reader := range map[string]func() *store.Reader{"plain": c.Plain, "zstd": c.Zstd, "gzip": c.Gzip} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(c.Size())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.Copy(io.Discard, reader()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
