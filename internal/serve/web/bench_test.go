package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opm-toolchain/opm/internal/serve/web"
)

// largeCatalog serves the catalog that OPM_BIG_CATALOG names, with its store in a file, and returns its address.
func largeCatalog(b *testing.B) (address string, lines []line) {
	b.Helper()
	dir := os.Getenv("OPM_BIG_CATALOG")
	if dir == "" {
		b.Skip("OPM_BIG_CATALOG names no directory")
	}
	c := catalogOf(b, "c", dirSource(dir))
	for l := range strings.Lines(get(b, handlerOf(b, c), base+"metas?schema=olm.channel")) {
		lines = append(lines, line{text: l})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: web.New(web.Options{Acquire: served(c)})}
	go server.Serve(listener)
	b.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String(), lines
}

// BenchmarkAll requests a whole catalog over a socket.
func BenchmarkAll(b *testing.B) {
	address, _ := largeCatalog(b)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	for _, coding := range []string{"", "zstd", "gzip"} {
		b.Run("coding="+coding, func(b *testing.B) {
			for b.Loop() {
				b.SetBytes(fetch(b, client, address+base+"all", coding))
			}
		})
	}
}

// fetch reads an answer and drops it; it returns its size.
func fetch(b *testing.B, client *http.Client, target, coding string) int64 {
	request, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		b.Fatal(err)
	}
	if coding != "" {
		request.Header.Set("Accept-Encoding", coding)
	}
	response, err := client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.StatusCode, err)
	}
	return n
}

// BenchmarkMetas requests one bundle after the other over sockets.
func BenchmarkMetas(b *testing.B) {
	address, channels := largeCatalog(b)
	var targets []string
	for _, c := range channels {
		var v struct {
			Package string
			Entries []struct{ Name string }
		}
		unmarshal(b, c.text, &v)
		for _, e := range v.Entries {
			targets = append(targets, fmt.Sprintf("%s%smetas?schema=olm.bundle&package=%s&name=%s", address, base,
				url.QueryEscape(v.Package), url.QueryEscape(e.Name)))
		}
	}
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}}
			defer client.CloseIdleConnections()
			var next atomic.Int64
			b.SetParallelism(callers)
			if callers == 1 {
				for b.Loop() {
					fetch(b, client, targets[int(next.Add(1)*7919)%len(targets)], "")
				}
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					fetch(b, client, targets[int(next.Add(1)*7919)%len(targets)], "")
				}
			})
		})
	}
}

// BenchmarkPage sends the requests of the page.
func BenchmarkPage(b *testing.B) {
	dir := os.Getenv("OPM_BIG_CATALOG")
	if dir == "" {
		b.Skip("OPM_BIG_CATALOG names no directory")
	}
	c := catalogOf(b, "c", dirSource(dir))
	largest := decode[packageList](b, handlerOf(b, c), address("packages", "catalog", "c")).Packages[0]
	for _, p := range decode[packageList](b, handlerOf(b, c), address("packages", "catalog", "c")).Packages {
		if len(p.Channels) > len(largest.Channels) {
			largest = p
		}
	}
	b.Run("packages", func(b *testing.B) {
		for b.Loop() {
			get(b, handlerOf(b, c), address("packages", "catalog", "c"))
		}
	})
	b.Run("package", func(b *testing.B) {
		for b.Loop() {
			get(b, handlerOf(b, c), address("package", "catalog", "c", "package", largest.Name))
		}
	})
}
