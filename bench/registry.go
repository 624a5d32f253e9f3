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

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/opm-toolchain/opm/bench/internal/makeimage"
)

// imageCount is the number of bundle images in a registry.
const imageCount = 1000

// An imageServer is a registry with images of bundles and of a catalog. It is a process of its own, so that its memory
// is not measured.
type imageServer struct {
	Prompt  string   // host that responds at once
	Slow    string   // host that delays each response
	SlowTLS string   // host that delays each response, over HTTP/2 with TLS
	Images  []string // paths and digests of the bundle images, which are the same on all hosts
	Catalog string   // path and digest of the catalog image
}

// built is the image that opm build makes of the catalog, in the registry that responds at once.
const built = "bench/built:latest"

// build runs opm build with a catalog, and pushes the image as built.
func (s imageServer) build(program, catalog string) error {
	cmd := exec.Command(program, "build", catalog, "--push", "--use-http", "--tag", s.Prompt+"/"+built)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// refs returns the references of n images at a host, evenly spread over all images.
func (s imageServer) refs(host string, n int) []string {
	var refs []string
	for i := range n {
		refs = append(refs, host+"/"+s.Images[i*len(s.Images)/n])
	}
	return refs
}

// startRegistry starts a process that serves images of the bundles in a directory, and of the big catalog in dir. The
// process ends with stop, or when this process ends.
func startRegistry(operators, dir string, delay time.Duration) (s imageServer, stop func() error, err error) {
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

// serve serves n images of the bundles in a directory, and one of a catalog, until the end of in. When all images are
// stored, it writes their references to out.
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
	var s imageServer
	if s.Prompt, err = listen(handler); err != nil {
		return err
	}
	if s.Slow, err = listen(delayed(handler, delay)); err != nil {
		return err
	}
	slow := httptest.NewUnstartedServer(delayed(handler, delay))
	slow.EnableHTTP2 = true
	slow.StartTLS()
	s.SlowTLS = slow.Listener.Addr().String()
	for i, img := range images {
		image, err := makeimage.Push(s.Prompt, fmt.Sprintf("bench/bundle-%04d", i), img)
		if err != nil {
			return err
		}
		s.Images = append(s.Images, image)
	}
	img, err := makeimage.Catalog(catalog)
	if err != nil {
		return err
	}
	if s.Catalog, err = makeimage.Push(s.Prompt, "bench/catalog", img); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(s); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// delayed returns a handler that calls another handler after a delay.
func delayed(handler http.Handler, delay time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		handler.ServeHTTP(w, r)
	})
}

// listen serves a handler on a local address until the process ends, and returns the address.
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
