//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// imageCount is the number of images in a registry.
const imageCount = 1000

// A served registry has images of bundles and of a catalog. It is a process of its own, so that its memory is not
// measured.
type served struct {
	Prompt  string   // the host that answers at once
	Slow    string   // the host that takes its time for each request
	SlowTLS string   // the same over HTTP/2 with TLS
	Images  []string // the paths and digests of the images of bundles, which both hosts have
	Catalog string   // the path and digest of the image of the catalog
}

// built is the image of the catalog as opm build makes it, in the registry that answers at once.
const built = "bench/built:latest"

// build pushes the image of a catalog that a program builds.
func (s served) build(program, catalog string) error {
	cmd := exec.Command(program, "build", catalog, "--push", "--use-http", "--tag", s.Prompt+"/"+built)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// refs returns the references of n images at a host, evenly spread over all.
func (s served) refs(host string, n int) []string {
	var refs []string
	for i := range n {
		refs = append(refs, host+"/"+s.Images[i*len(s.Images)/n])
	}
	return refs
}

// startRegistry starts a process that serves images of the bundles in a directory, and of the big catalog in dir. It
// ends with stop, or when this process ends.
func startRegistry(operators, dir string, delay time.Duration) (s served, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, nil, err
	}
	cmd := exec.Command(self, "-serve", "-dir", dir, "-operators", operators, "-delay", delay.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, nil, err
	}
	if err := cmd.Start(); err != nil {
		return s, nil, err
	}
	stop = func() error {
		in.Close()
		return cmd.Wait()
	}
	if err := json.NewDecoder(out).Decode(&s); err != nil {
		return s, nil, fmt.Errorf("start the registry: %w, %w", err, stop())
	}
	return s, stop, nil
}

// serve serves n images of the bundles in a directory and one of a catalog until in ends. Once all are there, it writes
// their references to out.
func serve(in io.Reader, out io.Writer, operators, catalog string, n int, delay time.Duration) error {
	dirs, err := bundleDirs(operators)
	if err != nil {
		return err
	}
	images, err := bundleImages(dirs, n)
	if err != nil {
		return err
	}
	handler := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	var s served
	if s.Prompt, err = listen(handler); err != nil {
		return err
	}
	if s.Slow, err = listen(slowed(handler, delay)); err != nil {
		return err
	}
	slow := httptest.NewUnstartedServer(slowed(handler, delay))
	slow.EnableHTTP2 = true
	slow.StartTLS()
	s.SlowTLS = slow.Listener.Addr().String()
	for i, img := range images {
		image, err := push(s.Prompt, fmt.Sprintf("bench/bundle-%04d", i), img)
		if err != nil {
			return err
		}
		s.Images = append(s.Images, image)
	}
	img, err := catalogImage(catalog)
	if err != nil {
		return err
	}
	if s.Catalog, err = push(s.Prompt, "bench/catalog", img); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(s); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// slowed returns a handler that does as another one after a delay.
func slowed(handler http.Handler, delay time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		handler.ServeHTTP(w, r)
	})
}

// listen serves a handler on this host, and returns where, until the process ends.
func listen(handler http.Handler) (host string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := server.Serve(l); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}()
	return l.Addr().String(), nil
}

// push stores an image and returns its path with the digest.
func push(host, path string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	ref, err := name.NewDigest(host + "/" + path + "@" + digest.String())
	if err != nil {
		return "", err
	}
	return path + "@" + digest.String(), remote.Write(ref, img)
}
