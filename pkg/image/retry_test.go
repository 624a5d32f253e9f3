package image

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
)

// someTime is the current time in the tests.
var someTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A retryTest is a registry with transports to it that record the delays instead of waiting.
type retryTest struct {
	*retryTransport
	stack  *registryTransport
	server *httptest.Server
	waits  []time.Duration
	asked  atomic.Int32 // requests received by the registry
}

// newRetryTest returns a registry that answers requests with the handlers in order, and then with 200.
func newRetryTest(t *testing.T, answers ...http.HandlerFunc) *retryTest {
	t.Helper()
	r := &retryTest{}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if n := int(r.asked.Add(1)); n <= len(answers) {
			answers[n-1](w, q)
			return
		}
		body, _ := io.ReadAll(q.Body)
		_, _ = fmt.Fprintf(w, "fine%s", body)
	}))
	t.Cleanup(r.server.Close)
	r.stack = newStack(t, TransportOptions{}, t.TempDir())
	r.retryTransport = r.stack.inner.(*userAgent).inner.(*retryTransport)
	r.now = func() time.Time { return someTime }
	r.random = func() float64 { return 0 }
	r.sleep = func(ctx context.Context, d time.Duration) error {
		r.waits = append(r.waits, d)
		return context.Cause(ctx)
	}
	return r
}

func (r *retryTest) do(ctx context.Context, t *testing.T, method, path, body string) (status int, text string, err error) {
	t.Helper()
	return read(r.stack.RoundTrip(newRequest(ctx, t, method, r.server.URL+path, strings.NewReader(body))))
}

// status responds with a status and an optional Retry-After.
func status(code int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
	}
}

// breakOff closes the connection without an answer.
func breakOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRetry(t *testing.T) {
	const ms = time.Millisecond
	always := func(h http.HandlerFunc) []http.HandlerFunc { return slices.Repeat([]http.HandlerFunc{h}, 10) }
	date := func(d time.Duration) string { return someTime.Add(d).Format(http.TimeFormat) }
	for _, test := range []struct {
		name    string
		method  string
		answers []http.HandlerFunc
		status  int // 0: the connection breaks
		waits   []time.Duration
	}{
		{"fine", "GET", nil, 200, nil},
		{"missing", "GET", always(status(404, "")), 404, nil},
		{"busy once", "GET", []http.HandlerFunc{status(503, "")}, 200, []time.Duration{200 * ms}},
		{"backoff", "HEAD", always(status(500, "")), 500, []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms}},
		{"each status", "GET", []http.HandlerFunc{status(502, ""), status(504, ""), status(429, "")}, 200,
			[]time.Duration{200 * ms, 400 * ms, 800 * ms}},
		{"seconds", "GET", []http.HandlerFunc{status(429, "7")}, 200, []time.Duration{7100 * ms}},
		{"date", "GET", []http.HandlerFunc{status(429, date(9*time.Second))}, 200, []time.Duration{9100 * ms}},
		{"past date", "GET", []http.HandlerFunc{status(429, date(-time.Hour))}, 200, []time.Duration{200 * ms}},
		{"nonsense", "GET", []http.HandlerFunc{status(429, "soon")}, 200, []time.Duration{200 * ms}},
		{"too long", "GET", always(status(429, "3600")), 429, nil},
		{"broken connection", "GET", []http.HandlerFunc{breakOff, breakOff}, 200, []time.Duration{200 * ms, 400 * ms}},
		{"broken for good", "GET", always(breakOff), 0, []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms}},
		{"upload that broke", "POST", always(breakOff), 0, nil},
		{"upload that was refused", "POST", []http.HandlerFunc{status(429, "")}, 200, []time.Duration{200 * ms}},
		{"upload that failed", "POST", always(status(503, "")), 503, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRetryTest(t, test.answers...)
			body := ""
			if test.method == http.MethodPost {
				body = "+body"
			}
			got, text, err := r.do(t.Context(), t, test.method, "", body)
			if got != test.status || errors.Is(err, io.EOF) != (got == 0) || !slices.Equal(r.waits, test.waits) {
				t.Errorf("got %d, %v after %v, want %d after %v", got, err, r.waits, test.status, test.waits)
			}
			if got == http.StatusOK && text != "fine"+body {
				t.Errorf("got %q", text)
			}
			if asked := int(r.asked.Load()); asked != len(test.waits)+1 {
				t.Errorf("%d requests", asked)
			}
		})
	}
}

// TestRetryHTTP2 checks that a request is repeated after a stream that was reset and after a connection that was given
// up, which errors of HTTP/2 report.
func TestRetryHTTP2(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{NextProtos: []string{http2.NextProtoTLS}}
	server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		http2.NextProtoTLS: func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
			_, _ = io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface)))
			frames := http2.NewFramer(conn, conn)
			_ = frames.WriteSettings()
			for {
				frame, err := frames.ReadFrame()
				if err != nil {
					return
				}
				if _, ok := frame.(*http2.HeadersFrame); !ok {
					continue
				}
				switch stream := frame.Header().StreamID; asked.Add(1) {
				case 1:
					_ = frames.WriteRSTStream(stream, http2.ErrCodeInternal)
				case 2:
					_ = frames.WriteGoAway(stream, http2.ErrCodeEnhanceYourCalm, nil)
					return
				default:
					_ = frames.WriteHeaders(http2.HeadersFrameParam{
						StreamID: stream, BlockFragment: []byte{0x88}, EndStream: true, EndHeaders: true, // 200
					})
				}
			}
		},
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	stack := newStack(t, TransportOptions{Insecure: true}, t.TempDir())
	got, _, err := read(stack.RoundTrip(newRequest(t.Context(), t, http.MethodGet, server.URL, nil)))
	if got != http.StatusOK || asked.Load() != 3 {
		t.Errorf("got %d, %v after %d requests", got, err, asked.Load())
	}
}

func TestRetryEndsWithContext(t *testing.T) {
	r := newRetryTest(t, slices.Repeat([]http.HandlerFunc{status(503, "")}, 10)...)
	ctx, cancel := context.WithCancel(t.Context())
	r.sleep = func(context.Context, time.Duration) error {
		cancel()
		return sleep(ctx, time.Hour)
	}
	if _, _, err := r.do(ctx, t, http.MethodGet, "", ""); !errors.Is(err, context.Canceled) || r.asked.Load() != 1 {
		t.Errorf("got %v after %d requests", err, r.asked.Load())
	}
}

func TestRetryKeepsDeadline(t *testing.T) {
	r := newRetryTest(t, status(429, "30"))
	r.now = time.Now
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if got, _, err := r.do(ctx, t, http.MethodGet, "", ""); got != 429 || err != nil || r.waits != nil {
		t.Errorf("got %d, %v after %v, want the answer at once", got, err, r.waits)
	}
}

func TestRetryIsLogged(t *testing.T) {
	var log strings.Builder
	r := newRetryTest(t, breakOff, status(429, "7"))
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	if _, _, err := r.do(t.Context(), t, http.MethodGet, "/v2/x?token=hunter2", ""); err != nil {
		t.Fatal(err)
	}
	got := log.String()
	for _, want := range []string{"status=429", "wait=7.2s", "closed the connection", "path=/v2/x"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("secret in %s", got)
	}
}

func TestJitter(t *testing.T) {
	r := newRetryTransport(nil, nil)
	r.random = func() float64 { return 1 }
	for attempt, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if got, ok := r.wait(t.Context(), nil, attempt+1); got != want*time.Millisecond || !ok {
			t.Errorf("attempt %d: got %v, want %v", attempt+1, got, want*time.Millisecond)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("1")
	f.Add("99999999999999999999")
	f.Add("Fri, 31 Dec 1999 23:59:59 GMT")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, someTime); got < 0 {
			t.Errorf("got %v", got)
		}
	})
}

// TestQueue checks that a registry that has limited the rate of requests gets few at a time from then on.
func TestQueue(t *testing.T) {
	var limited atomic.Bool
	var now, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !limited.Swap(true) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); {
			m = most.Load()
		}
		time.Sleep(20 * time.Millisecond) // so that others come meanwhile
	}))
	defer server.Close()
	stack := newStack(t, TransportOptions{}, t.TempDir())
	ask := func() error {
		code, _, err := read(stack.RoundTrip(newRequest(t.Context(), t, http.MethodGet, server.URL, nil)))
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d", code)
		}
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for range 40 {
		group.Go(ask)
	}
	if err := group.Wait(); err != nil || most.Load() > maxQueued {
		t.Errorf("%d requests at a time, want at most %d; %v", most.Load(), maxQueued, err)
	}
}
