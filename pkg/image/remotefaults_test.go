package image

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFaults reads an image through a failing proxy.
func TestFaults(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("0123456789abcdef", 1<<17) // 2 MB
	img := imageOf(t, nil, tarOf(t, "x=1"), tarOf(t, "a="+body))
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer := digestOf(t, layers[1])
	var data []byte
	if r, err := layers[1].Compressed(); err == nil {
		data, err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
	}
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", img)

	// fault answers the nth request for the layer, counted from 1; if it returns false, the registry answers.
	tests := []struct {
		name  string
		fault func(w http.ResponseWriter, r *http.Request, n int) bool
		want  string // in the error
		asked int
	}{
		{"none", func(http.ResponseWriter, *http.Request, int) bool { return false }, "", 1},
		{"slow", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			for part := data; len(part) > 0; part = part[min(len(part), 1<<18):] {
				_, _ = w.Write(part[:min(len(part), 1<<18)])
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			return true
		}, "", 1},
		{"cut once", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				cut(w, data, len(data)/2)
			}
			return n == 1
		}, "", 2},
		{"cut, and no ranges", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				cut(w, data, len(data)/2)
			}
			_, _ = w.Write(data)
			return true
		}, "", 2},
		{"cut always", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			cut(w, data, 100)
			return true
		}, "closes the connection", 1 + maxResumes},
		{"wrong range", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				cut(w, data, 100)
			}
			w.Header().Set("Content-Range", "bytes 7-8/9")
			w.WriteHeader(http.StatusPartialContent)
			return true
		}, `asked for the bytes from 100 on, the registry sends "bytes 7-8/9"`, 2},
		{"corrupt", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			bad := bytes.Clone(data)
			bad[1<<20] ^= 1
			_, _ = w.Write(bad)
			return true
		}, "sent damaged data: digest mismatch: the content of " + layer + " has the digest sha256:", 1},
		{"short", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_, _ = w.Write(data[:100])
			return true
		}, "sent damaged data: digest mismatch: error verifying sha256 checksum after reading 100 bytes", 1},
		{"long", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(append(bytes.Clone(data), 'x'))
			return true
		}, "the registry sends more than the", 1},
		{"stalls", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			_, _ = w.Write(data[:100])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		}, "does not answer", 2},
		{"truncated and gone", func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				cut(w, data, 100)
			}
			http.NotFound(w, r)
			return true
		}, "answers 404 Not Found", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, layer) {
					return false
				}
				n++
				return tt.fault(w, r, n)
			})
			opts := testOptions(t)
			limit := time.Minute
			if tt.name == "stalls" {
				limit = time.Second
			}
			transport, err := NewTransport(TransportOptions{Insecure: true, Timeout: limit})
			if err != nil {
				t.Fatal(err)
			}
			opts.Transport = transport
			opened := mustOpen(t, ref, opts)
			fsys, err := opened.Files(t.Context(), "/")
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, fsys, filesOf("x=1", "a="+body))
			} else if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), "read image "+ref+": layer "+layer+": ") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if n != tt.asked {
				t.Errorf("the layer was asked for %d times, want %d", n, tt.asked)
			}
		})
	}
}

// cut sends only the first n bytes of a response.
func cut(w http.ResponseWriter, data []byte, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	_, _ = w.Write(data[:n])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
