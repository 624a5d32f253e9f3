package image

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// silent answers with a header and some bytes, as far as told, and then with nothing until the request ends.
func silent(header, body bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusOK)
		}
		if body {
			_, _ = io.WriteString(w, "12345")
		}
		if header {
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
}

func TestStall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		header, body bool
		want         string
	}{
		{"no answer", false, false, "stalls: no answer for 1"},
		{"no body", true, false, "stalls: no answer for 1"},
		{"half a body", true, true, "stalls: no byte for 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(silent(test.header, test.body))
			defer server.Close()
			transport := newStack(t, TransportOptions{Timeout: time.Second}, t.TempDir())
			_, err := get(t, transport, server.URL)
			stall, ok := errors.AsType[*stallError](err)
			if !ok || !stall.Timeout() || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// slowly takes all, and gives a block now and then, for longer than the limit in all.
func slowly(n, size int, pause time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range n {
			_, _ = w.Write(make([]byte, size))
			if http.NewResponseController(w).Flush() != nil || r.Context().Err() != nil {
				return
			}
			time.Sleep(pause)
		}
	})
}

func TestSlowIsNoStall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		n, size int
		pause   time.Duration
		want    string // of the error
	}{
		{"20 KB a second", 15, 2 << 10, 100 * time.Millisecond, ""},
		{"large blocks and pauses", 4, 1 << 20, 600 * time.Millisecond, ""},
		{"10 bytes a second", 1000, 1, 100 * time.Millisecond, "is too slow"},
		{"1 KB a second", 1000, 100, 100 * time.Millisecond, "bytes in 1s, want 4 KB at least"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(slowly(test.n, test.size, test.pause))
			defer server.Close()
			transport := newStack(t, TransportOptions{Timeout: time.Second}, t.TempDir())
			start := time.Now()
			got, err := get(t, transport, server.URL+"/v2/x/blobs/y")
			if test.want == "" && (len(got) != test.n*test.size || err != nil) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if test.want != "" && (!isTimeout(err) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestSlowReaderIsNoStall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newStack(t, TransportOptions{Timeout: time.Second}, t.TempDir()).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.Sleep(1500 * time.Millisecond)
	if n, err := io.Copy(io.Discard, response.Body); n != 1<<20 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

// TestSlowUploadIsNoStall allows a registry 5 s after an upload, and the source of the upload all the time it wants.
func TestSlowUploadIsNoStall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		source, registry time.Duration
	}{
		{"source", 6 * time.Second, 0},
		{"registry", 0, 1500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(test.registry)
			}))
			defer server.Close()
			body, in := io.Pipe()
			go func() {
				_, _ = in.Write([]byte("x"))
				time.Sleep(test.source)
				_ = in.Close()
			}()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			transport := newStack(t, TransportOptions{Timeout: time.Second}, t.TempDir())
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		})
	}
}

// TestSlowUploadStalls holds that a registry must take what it is sent.
func TestSlowUploadStalls(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 1))
		<-end
	}))
	defer server.Close()
	defer close(end)
	endless := io.LimitReader(neverEnds{}, 1<<40)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, endless)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newStack(t, TransportOptions{Timeout: 200 * time.Millisecond}, t.TempDir()).RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if !as[*stallError](err) {
		t.Errorf("got %v", err)
	}
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

func TestCanceledIsNoStall(t *testing.T) {
	server := httptest.NewServer(silent(true, true))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newStack(t, TransportOptions{}, t.TempDir()).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := io.ReadAll(response.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
