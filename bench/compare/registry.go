//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/bench/internal/makeimage"
)

// Seeds are the images that are in every registry.
type seeds struct {
	images  map[string]v1.Image // of the examples, by path and tag; lines may replace them
	bundles http.Handler        // a registry with the bundles of real operators, which nobody writes to
}

// newSeeds makes the images of the examples and of bundle directories.
func newSeeds(examples string, bundles []string) (*seeds, error) {
	s := &seeds{images: map[string]v1.Image{}, bundles: newRegistry()}
	for _, b := range []struct{ dir, pkg, ref string }{
		{"bundle", "kiln", "pottery/kiln-bundle:v2.0.0"}, {"loom", "loom", "weavers/loom-bundle:v0.6.0"},
	} {
		img, err := makeimage.Bundle(filepath.Join(examples, b.dir), b.pkg, time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		s.images[b.ref] = img
	}
	img, err := makeimage.Catalog(filepath.Join(examples, "catalog"))
	if err != nil {
		return nil, err
	}
	s.images["crafts/catalog:v1"] = img
	for _, dir := range bundles {
		img, err := makeimage.Bundle(dir, filepath.Base(filepath.Dir(dir)), time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		if err := store(s.bundles, bundleTag(dir), img); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bundlesPath is the start of the paths of the images of real operators.
const bundlesPath = "operators/"

// bundleTag returns the path and the tag of the image of a bundle directory PACKAGE/VERSION.
func bundleTag(dir string) string {
	return bundlesPath + filepath.Base(filepath.Dir(dir)) + ":" + notInTag.ReplaceAllString(filepath.Base(dir), "-")
}

var notInTag = regexp.MustCompile(`[^\w.-]`)

func newRegistry() http.Handler {
	return registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
}

// store stores an image in a registry, without a network.
func store(registry http.Handler, ref string, img v1.Image) error {
	tag, err := name.NewTag("127.0.0.1/" + ref)
	if err != nil {
		return err
	}
	return remote.Write(tag, img, remote.WithTransport(direct{registry}))
}

// direct is a transport that calls a handler.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &recorder{header: http.Header{}, status: http.StatusOK}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.handler.ServeHTTP(response, r)
	return &http.Response{
		StatusCode: response.status, Header: response.header, Body: io.NopCloser(&response.body), Request: r,
		ContentLength: int64(response.body.Len()),
	}, nil
}

// A recorder is the response of a handler.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header            { return r.header }
func (r *recorder) WriteHeader(status int)         { r.status = status }
func (r *recorder) Write(text []byte) (int, error) { return r.body.Write(text) }

// A host serves a registry at one port of this machine. It is also the proxy for all other hosts, to which it refuses
// every connection.
type host struct {
	seeds   *seeds
	address string

	mu      sync.Mutex
	current *content
}

// A content has the repositories of a registry during one run.
type content struct {
	registry http.Handler
	seed     sync.Once
	seedErr  error

	mu     sync.Mutex
	writes []string // successful changes of manifests
}

// newHost serves a registry until the process ends.
func newHost(s *seeds) (*host, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &host{seeds: s, address: l.Addr().String()}
	h.empty()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := server.Serve(l); err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
		}
	}()
	return h, nil
}

// empty removes everything but the seeds, and returns the new content.
func (h *host) empty() *content {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = &content{registry: newRegistry()}
	return h.current
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	c := h.current
	h.mu.Unlock()
	switch {
	case r.Method == http.MethodConnect || r.Host != h.address:
		http.Error(w, "this registry knows no other host", http.StatusForbidden)
	case strings.HasPrefix(r.URL.Path, "/v2/"+bundlesPath):
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "read-only", http.StatusForbidden)
			return
		}
		h.seeds.bundles.ServeHTTP(w, r)
	default:
		c.serve(w, r, h.seeds)
	}
}

// serve stores the seeds with the first request, because most lines make none.
func (c *content) serve(w http.ResponseWriter, r *http.Request, s *seeds) {
	c.seed.Do(func() {
		for ref, img := range s.images {
			c.seedErr = errors.Join(c.seedErr, store(c.registry, ref, img))
		}
	})
	if c.seedErr != nil {
		http.Error(w, c.seedErr.Error(), http.StatusInternalServerError)
		return
	}
	if !strings.Contains(r.URL.Path, "/manifests/") || r.Method == http.MethodGet || r.Method == http.MethodHead {
		c.registry.ServeHTTP(w, r)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	c.registry.ServeHTTP(status, r)
	if status.status < 300 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.writes = append(c.writes, fmt.Sprintf("%s %s sha256:%x\n", r.Method, r.URL.Path, sha256.Sum256(text)))
	}
}

// log returns the changes of manifests, sorted: a program may push several at once.
func (c *content) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.writes)
	return strings.Join(c.writes, "")
}

// A statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// writeLayout writes the image of a bundle directory to an OCI layout.
func writeLayout(bundle, dir, tag string) error {
	img, err := makeimage.Bundle(bundle, "kiln", time.Unix(0, 0))
	if err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
}
