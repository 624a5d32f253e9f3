package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// silent sends a header and some bytes, each if set, and then nothing until the request ends.
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

// bubble runs a test with a server in memory and its URL in a synctest bubble, in which time advances only while all
// goroutines wait.
func bubble(t *testing.T, handler http.Handler, timeout time.Duration,
	test func(t *testing.T, transport *registryTransport, url string)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(64 << 10)
		server := &http.Server{Handler: handler}
		ended := make(chan error)
		go func() { ended <- server.Serve(l) }()
		t.Cleanup(func() {
			if err := server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != http.ErrServerClosed {
				t.Error(err)
			}
		})
		transport := newStack(t, TransportOptions{Timeout: timeout}, dir)
		transport.inner.(*userAgent).dial = func(_ *net.Dialer, ctx context.Context, _, _ string) (net.Conn, error) {
			return l.DialContext(ctx)
		}
		test(t, transport, "http://registry.example")
	})
}

func TestStall(t *testing.T) {
	for _, test := range []struct {
		name         string
		header, body bool
		want         string
	}{
		{"no answer", false, false, "stalls: no answer for 1s"},
		{"no body", true, false, "stalls: no answer for 1s"},
		{"half a body", true, true, "stalls: no byte for 1s, after 5 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, silent(test.header, test.body), time.Second, func(t *testing.T, transport *registryTransport, url string) {
				_, err := get(t, transport, url)
				stall, ok := errors.AsType[*stallError](err)
				if !ok || !stall.Timeout() || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %s", err, test.want)
				}
			})
		})
	}
}

// slowly reads the whole request, and then sends n blocks with pauses, for longer than the limit in total.
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
	for _, test := range []struct {
		name    string
		n, size int
		pause   time.Duration
		want    string // in the error
	}{
		{"20 KB a second", 15, 2 << 10, 100 * time.Millisecond, ""},
		{"large blocks and pauses", 4, 1 << 20, 600 * time.Millisecond, ""},
		{"10 bytes a second", 1000, 1, 100 * time.Millisecond, "is too slow"},
		{"1 KB a second", 1000, 100, 100 * time.Millisecond, "bytes in 1s, want 4 KB at least"},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := slowly(test.n, test.size, test.pause)
			bubble(t, handler, time.Second, func(t *testing.T, transport *registryTransport, url string) {
				start := time.Now()
				got, err := get(t, transport, url+"/v2/x/blobs/y")
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
		})
	}
}

func TestSlowReaderIsNoStall(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
	})
	bubble(t, handler, time.Second, func(t *testing.T, transport *registryTransport, url string) {
		response, err := transport.RoundTrip(newRequest(t.Context(), t, http.MethodGet, url, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		time.Sleep(1500 * time.Millisecond)
		if n, err := io.Copy(io.Discard, response.Body); n != 1<<20 || err != nil {
			t.Errorf("got %d bytes, %v", n, err)
		}
	})
}

// TestSlowUploadIsNoStall allows a registry 5 s after an upload, and the source of the upload any time.
func TestSlowUploadIsNoStall(t *testing.T) {
	for _, test := range []struct {
		name             string
		source, registry time.Duration
	}{
		{"source", 6 * time.Second, 0},
		{"registry", 0, 1500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(test.registry)
			})
			bubble(t, handler, time.Second, func(t *testing.T, transport *registryTransport, url string) {
				body, in := io.Pipe()
				go func() {
					_, _ = in.Write([]byte("x"))
					time.Sleep(test.source)
					_ = in.Close()
				}()
				response, err := transport.RoundTrip(newRequest(t.Context(), t, http.MethodPut, url, body))
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
			})
		})
	}
}

// TestSlowUploadStalls checks that a registry that does not read an upload is given up.
func TestSlowUploadStalls(t *testing.T) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 1))
		time.Sleep(time.Minute)
	})
	bubble(t, handler, 200*time.Millisecond, func(t *testing.T, transport *registryTransport, url string) {
		endless := io.LimitReader(neverEnds{}, 1<<40)
		response, err := transport.RoundTrip(newRequest(t.Context(), t, http.MethodPut, url, endless))
		if err == nil {
			_ = response.Body.Close()
		}
		if !as[*stallError](err) {
			t.Errorf("got %v", err)
		}
	})
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

func TestCanceledIsNoStall(t *testing.T) {
	bubble(t, silent(true, true), time.Second, func(t *testing.T, transport *registryTransport, url string) {
		ctx, cancel := context.WithCancel(t.Context())
		response, err := transport.RoundTrip(newRequest(ctx, t, http.MethodGet, url, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := io.ReadAll(response.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRequestsEndAlone checks that a request is sent again if its connection was closed because another request was
// canceled, as net/http does: the error is then the cause for which the other one was canceled.
func TestRequestsEndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := errors.New("another registry answers 403")
		causes := make(chan error, 1)
		asked := 0
		transport := newRetryTransport(&stallTransport{limit: time.Minute, inner: roundTripFunc(
			func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/canceled" {
					<-r.Context().Done()
					causes <- context.Cause(r.Context())
					return nil, context.Cause(r.Context())
				}
				if asked++; asked == 1 {
					return nil, fmt.Errorf("connection broken: %w", <-causes)
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			})}, logger(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		var requests sync.WaitGroup
		requests.Go(func() {
			_, _, err := read(transport.RoundTrip(newRequest(ctx, t, http.MethodGet, "http://registry.example/canceled", nil)))
			if !errors.Is(err, denied) {
				t.Errorf("got %v, want its own cause", err)
			}
		})
		requests.Go(func() {
			resp, err := transport.RoundTrip(newRequest(t.Context(), t, http.MethodGet, "http://registry.example/", nil))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
		synctest.Wait()
		cancel(denied)
		requests.Wait()
		asked = 0
		causes <- &endedError{denied}
		_, _, err := read(transport.RoundTrip(newRequest(t.Context(), t, http.MethodPost, "http://registry.example/", nil)))
		if errors.Is(err, denied) || !errors.Is(err, io.ErrUnexpectedEOF) || !isBroken(err) {
			t.Errorf("got %v for a request that must not be sent again", err)
		}
	})
}
