//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/pkg/api"
)

const mb = 1e6

// A bench measures one program with one catalog.
type bench struct {
	program, catalog string
	dir              string // for what is made
	mixed            time.Duration
	out              table
}

// runs is how often a server is started, to take the median.
const runs = 3

// starts measures servers that start without a cache and with one.
func (b *bench) starts(ctx context.Context) error {
	cache := filepath.Join(b.dir, "cache")
	took, memory, most, err := b.startTimes(ctx)
	if err != nil {
		return err
	}
	b.out.row("no cache: start to SERVING", took.String(), "1.5 s", took <= 1500*time.Millisecond)
	b.out.row("memory then (at most until then)", fmt.Sprintf("%d MB (%d MB)", memory/mb, most/mb), "80 MB",
		memory <= 80*mb)

	s, err := b.start(ctx, "--cache-dir", cache)
	if err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if took, memory, most, err = b.startTimes(ctx, "--cache-dir", cache, "--cache-enforce-integrity"); err != nil {
		return err
	}
	b.out.row("cache present: start to SERVING", took.String(), "150 ms", took <= 150*time.Millisecond)
	b.out.row("memory then (at most until then)", fmt.Sprintf("%d MB (%d MB)", memory/mb, most/mb), "80 MB",
		memory <= 80*mb)
	size, err := sizeOf(cache)
	if err != nil {
		return err
	}
	b.out.row("cache on disk", fmt.Sprintf("%.0f MB", float64(size)/mb), "80 MB", size <= 80*mb)
	return nil
}

// startTimes returns the median of what starts take.
func (b *bench) startTimes(ctx context.Context, args ...string) (took time.Duration, memory, most int64, err error) {
	var times []time.Duration
	for range runs {
		s, err := b.start(ctx, args...)
		if err != nil {
			return 0, 0, 0, err
		}
		times = append(times, s.took)
		if memory, most, err = s.memory(); err != nil {
			return 0, 0, 0, err
		}
		if err := s.stop(); err != nil {
			return 0, 0, 0, err
		}
	}
	slices.Sort(times)
	return times[runs/2].Round(time.Millisecond / 10), memory, most, nil
}

func sizeOf(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// answers measures a server that is ready.
func (b *bench) answers(ctx context.Context) error {
	socket := filepath.Join(b.dir, "http")
	s, err := b.start(ctx, "--http-addr", "unix:"+socket)
	if err != nil {
		return err
	}
	measured := b.grpc(ctx, s)
	if measured == nil {
		measured = b.http(ctx, socket)
	}
	if now, most, err := s.memory(); err == nil {
		b.out.row("memory in the end (at most)", fmt.Sprintf("%d MB (%d MB)", now/mb, most/mb), "", true)
	}
	if err := s.stop(); err != nil && measured == nil {
		return err
	}
	return measured
}

// best returns the shortest time that some runs take.
func best(run func() error) (time.Duration, error) {
	const runs = 5
	shortest := time.Hour
	for range runs {
		start := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest, nil
}

// loadTime is how long one kind of call is measured for.
const loadTime = 5 * time.Second

func (b *bench) grpc(ctx context.Context, s *server) error {
	var bundles []*api.Bundle
	for bundle, err := range s.client.Bundles(ctx) {
		if err != nil {
			return err
		}
		bundles = append(bundles, bundle)
	}
	c := caller{s.client.Conn()}
	var messages, bytes int
	took, err := best(func() (err error) {
		messages, bytes, err = c.stream(ctx, api.Registry_ListBundles_FullMethodName, &api.ListBundlesRequest{})
		return err
	})
	if err != nil {
		return err
	}
	got := fmt.Sprintf("%.1f ms, %d messages, %.1f MB", took.Seconds()*1000, messages, float64(bytes)/mb)
	b.out.row("ListBundles", got, "100 ms", took <= 100*time.Millisecond)

	r := load(8, loadTime, func(i int) (int, error) { return c.bundle(ctx, bundles[i*7919%len(bundles)]) })
	b.out.row("GetBundle, 8 callers", r.String(), "15000/s, p99 4 ms", r.rate() >= 15_000 && r.p99 <= 4*time.Millisecond)

	r = load(64, b.mixed, c.mix(ctx, bundles))
	b.out.row("all methods, 64 callers", r.String(), "no errors", r.failed == nil)
	return r.failed
}

// root is where the catalog is over HTTP.
const root = "http://socket/catalogs/catalog/api/v1"

func (b *bench) http(ctx context.Context, socket string) error {
	c := webClient{httpClient(socket)}
	for _, all := range []struct {
		name, encoding string
		budget         time.Duration
	}{{"plain", "identity", 200 * time.Millisecond}, {"zstd", "zstd", 80 * time.Millisecond}} {
		var size int
		took, err := best(func() (err error) {
			size, err = c.get(ctx, root+"/all", all.encoding)
			return err
		})
		if err != nil {
			return err
		}
		b.out.row("HTTP /all, "+all.name, fmt.Sprintf("%.0f ms, %.0f MB", took.Seconds()*1000, float64(size)/mb),
			all.budget.String(), took <= all.budget)
	}
	names, err := bundleNames(ctx, c.Client, root)
	if err != nil {
		return err
	}
	ask := func(i int) (int, error) {
		query := url.Values{"schema": {"olm.bundle"}, "name": {names[i*7919%len(names)]}}
		return c.get(ctx, root+"/metas?"+query.Encode(), "identity")
	}
	r := load(1, loadTime, ask)
	b.out.row("HTTP /metas for one bundle, 1 caller", r.String(), "1 ms", r.median <= time.Millisecond && r.failed == nil)
	r = load(16, loadTime, ask)
	b.out.row("HTTP /metas for one bundle, 16 callers", r.String(), "10000/s", r.rate() >= 10_000 && r.failed == nil)
	return r.failed
}

// bundleNames returns those of the channels' entries.
func bundleNames(ctx context.Context, c *http.Client, root string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/metas?schema=olm.channel", nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var names []string
	for part := range strings.SplitSeq(string(text), `{"name":"`) {
		if name, _, ok := strings.Cut(part, `"`); ok && !strings.HasPrefix(part, "{") {
			names = append(names, name)
		}
	}
	return names, nil
}
