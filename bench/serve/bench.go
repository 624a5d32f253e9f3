//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

const mb = 1e6

// A bench measures a program with a catalog.
type bench struct {
	program, catalog string
	dir              string // for sockets and the cache
	runs             int    // number of starts of a server; the median counts
	mixed            time.Duration
	out              table
}

// starts measures the start of a server without a cache and with one.
func (b *bench) starts(ctx context.Context) error {
	cache := filepath.Join(b.dir, "cache")
	first, err := b.startTimes(ctx)
	if err != nil {
		return err
	}
	b.startRows("no cache", first, time.Second)

	s, err := b.start(ctx, "--cache-dir", cache)
	if err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	again, err := b.startTimes(ctx, "--cache-dir", cache, "--cache-enforce-integrity")
	if err != nil {
		return err
	}
	b.startRows("cache present", again, 150*time.Millisecond)
	size, err := sizeOf(cache)
	if err != nil {
		return err
	}
	b.out.row("cache on disk", fmt.Sprintf("%.0f MB", float64(size)/mb), "80 MB", size <= 80*mb)
	return nil
}

// A startup is the time, processor time and memory that the start of a server takes.
type startup struct {
	took, processor time.Duration
	memory, most    int64 // resident bytes after the start, and their peak
}

func (b *bench) startRows(name string, s startup, budget time.Duration) {
	got := fmt.Sprintf("%v, %v of a CPU", s.took.Round(time.Millisecond/10), s.processor)
	b.out.row(name+": start to SERVING", got, budget.String(), s.took <= budget)
	b.out.row("memory then (at most until then)", fmt.Sprintf("%d MB (%d MB)", s.memory/mb, s.most/mb), "80 MB (90 MB)",
		s.memory <= 80*mb && s.most <= 90*mb)
}

// startTimes returns the median start time of our server, with the other values of the last start.
func (b *bench) startTimes(ctx context.Context, args ...string) (startup, error) {
	return b.medianStart(func() (*server, error) { return b.start(ctx, args...) })
}

// medianStart is startTimes for any way to start a server.
func (b *bench) medianStart(start func() (*server, error)) (last startup, err error) {
	var times []time.Duration
	for range b.runs {
		s, err := start()
		if err != nil {
			return last, err
		}
		times = append(times, s.took)
		var errMemory, errProcessor error
		last.memory, last.most, errMemory = s.memory()
		last.processor, errProcessor = s.processor()
		if err := errors.Join(errMemory, errProcessor, s.stop()); err != nil {
			return last, err
		}
	}
	slices.Sort(times)
	last.took = times[b.runs/2]
	return last, nil
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

// readyRows measures a server that is ready.
func (b *bench) readyRows(ctx context.Context) error {
	socket := filepath.Join(b.dir, "http")
	s, err := b.start(ctx, "--http-addr", "unix:"+socket)
	if err != nil {
		return err
	}
	measured := b.connections(ctx, s)
	if measured == nil {
		measured = b.grpc(ctx, s)
	}
	if measured == nil {
		measured = b.http(ctx, s, socket)
	}
	if measured == nil {
		measured = b.memoryAfter(s)
	}
	if err := s.stop(); err != nil && measured == nil {
		return err
	}
	return measured
}

// settleTime is the time after which a server has released the memory that it needed under load.
const settleTime = 15 * time.Second

// memoryAfter measures the memory of the server when load ends, and some time later.
func (b *bench) memoryAfter(s *server) error {
	now, most, err := s.memory()
	if err != nil {
		return err
	}
	b.out.row("memory as load ends (at most until then)", fmt.Sprintf("%d MB (%d MB)", now/mb, most/mb), "", true)
	time.Sleep(settleTime)
	now, _, err = s.memory()
	b.out.row(fmt.Sprintf("memory %v later", settleTime), fmt.Sprintf("%d MB", now/mb), "80 MB", now <= 80*mb)
	return err
}

// best returns the shortest time of some runs.
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

// connections measures the memory of the server for connected clusters that send no requests.
func (b *bench) connections(ctx context.Context, s *server) error {
	const idle = 1000
	before, _, err := s.memory()
	if err != nil {
		return err
	}
	for range idle {
		c, err := client.New("unix:"+filepath.Join(b.dir, "socket"), client.Options{})
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.WaitReady(ctx); err != nil {
			return err
		}
	}
	after, _, err := s.memory()
	b.out.row(fmt.Sprintf("memory for %d idle connections", idle), fmt.Sprintf("%d MB", (after-before)/mb), "", true)
	return err
}

// loadTime is the duration of the measurement of one kind of call.
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

	r := s.load(8, loadTime, func(i int) (int, error) { return c.bundle(ctx, bundles[i*7919%len(bundles)]) })
	b.out.row("GetBundle, 8 callers", r.String(), "70µs of a CPU, p99 3 ms",
		r.processor <= time.Duration(r.calls)*70*time.Microsecond && r.p99 <= 3*time.Millisecond)

	packages := map[string]bool{}
	for _, bundle := range bundles {
		packages[bundle.GetPackageName()] = true
	}
	r = s.load(8, loadTime, c.snapshot(ctx, slices.Collect(maps.Keys(packages))))
	b.out.row("what OLM asks to resolve, 8 callers", r.String(), "no errors", r.failed == nil)

	r = s.load(64, b.mixed, c.mix(ctx, bundles))
	b.out.row("all methods, 64 callers", r.String(), "no errors", r.failed == nil)
	return r.failed
}

// root is the URL of the catalog.
const root = "http://socket/catalogs/catalog/api/v1"

func (b *bench) http(ctx context.Context, s *server, socket string) error {
	c := webClient{httpClient(socket)}
	for _, all := range []struct {
		encoding string
		took     time.Duration
		size     float64 // in MB
	}{
		{"identity", 200 * time.Millisecond, 125}, {"gzip", 80 * time.Millisecond, 11.9},
		{"zstd", 80 * time.Millisecond, 9.3},
	} {
		var size int
		took, err := best(func() (err error) {
			size, err = c.get(ctx, root+"/all", all.encoding)
			return err
		})
		if err != nil {
			return err
		}
		b.out.row("HTTP /all, "+all.encoding, fmt.Sprintf("%.0f ms, %.1f MB", took.Seconds()*1000, float64(size)/mb),
			fmt.Sprintf("%v, %.1f MB", all.took, all.size), took <= all.took && float64(size) <= all.size*mb)
	}
	names, err := bundleNames(ctx, c.Client, root)
	if err != nil {
		return err
	}
	ask := func(encoding string) func(int) (int, error) {
		return func(i int) (int, error) {
			query := url.Values{"schema": {"olm.bundle"}, "name": {names[i*7919%len(names)]}}
			return c.get(ctx, root+"/metas?"+query.Encode(), encoding)
		}
	}
	r := s.load(1, loadTime, ask("identity"))
	b.out.row("HTTP /metas for one bundle, 1 caller", r.String(), "1 ms", r.median <= time.Millisecond && r.failed == nil)
	r = s.load(16, loadTime, ask("identity"))
	b.out.row("HTTP /metas for one bundle, 16 callers", r.String(), "10000/s", r.rate() >= 10_000 && r.failed == nil)
	if r.failed != nil {
		return r.failed
	}
	r = s.load(16, loadTime, ask("gzip"))
	b.out.row("HTTP /metas for one bundle, gzip, 16 callers", r.String(), "", r.failed == nil)
	return r.failed
}

// bundleNames returns the names of all channel entries.
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
