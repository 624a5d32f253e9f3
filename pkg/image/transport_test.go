package image

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newTransport returns a transport that looks for certificates in dir only.
func newTransport(t testing.TB, o TransportOptions, dir string) http.RoundTripper {
	t.Helper()
	o.Env = func(s string) string { return map[string]string{"HOME": dir}[s] }
	way, err := NewTransport(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&http.Client{Transport: way}).CloseIdleConnections)
	return way
}

func get(t testing.TB, way http.RoundTripper, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := way.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestUserAgent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.UserAgent())
	}))
	defer server.Close()
	if got, err := get(t, newTransport(t, TransportOptions{}, t.TempDir()), server.URL); got != "opm" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// newTLSServer returns a server with a certificate that the system does not trust, and the certificate in PEM. It
// answers with how many certificates it was shown.
func newTLSServer(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("c", len(r.TLS.PeerCertificates)))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	return server, string(pem.EncodeToMemory(block))
}

// clientPair returns a certificate and its key in PEM.
func clientPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestTLS(t *testing.T) {
	server, ca := newTLSServer(t)
	certificate, key := clientPair(t)
	host := strings.TrimPrefix(server.URL, "https://")
	for _, test := range []struct {
		name  string
		setUp func(dir string) TransportOptions
		want  string
		fails bool
	}{
		{"untrusted", func(string) TransportOptions { return TransportOptions{} }, "", true},
		{"insecure", func(string) TransportOptions { return TransportOptions{Insecure: true} }, "", false},
		{"root CA", func(dir string) TransportOptions {
			return TransportOptions{RootCAs: writeFile(t, filepath.Join(dir, "ca.pem"), ca)}
		}, "", false},
		{"directory", func(dir string) TransportOptions {
			writeFile(t, filepath.Join(dir, "x.crt"), ca)
			return TransportOptions{CertDir: dir}
		}, "", false},
		{"client", func(dir string) TransportOptions {
			writeFile(t, filepath.Join(dir, "x.crt"), ca)
			writeFile(t, filepath.Join(dir, "me.cert"), certificate)
			writeFile(t, filepath.Join(dir, "me.key"), key)
			return TransportOptions{CertDir: dir}
		}, "c", false},
		{"place of the host", func(dir string) TransportOptions {
			own := filepath.Join(dir, ".config/containers/certs.d", host)
			writeFile(t, filepath.Join(own, "x.crt"), ca)
			writeFile(t, filepath.Join(own, "me.cert"), certificate)
			writeFile(t, filepath.Join(own, "me.key"), key)
			return TransportOptions{}
		}, "c", false},
		{"place of another host", func(dir string) TransportOptions {
			writeFile(t, filepath.Join(dir, ".config/containers/certs.d/q.io/x.crt"), ca)
			return TransportOptions{}
		}, "", true},
		{"directory replaces places", func(dir string) TransportOptions {
			writeFile(t, filepath.Join(dir, ".config/containers/certs.d", host, "x.crt"), ca)
			return TransportOptions{CertDir: filepath.Dir(writeFile(t, filepath.Join(dir, "empty/readme"), ""))}
		}, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			got, err := get(t, newTransport(t, test.setUp(dir), dir), server.URL)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestCertificatesAreOfOneHost(t *testing.T) {
	server, ca := newTLSServer(t)
	other, _ := newTLSServer(t) // with the same certificate
	dir := t.TempDir()
	own := filepath.Join(dir, ".config/containers/certs.d", strings.TrimPrefix(server.URL, "https://"))
	writeFile(t, filepath.Join(own, "x.crt"), ca)
	way := newTransport(t, TransportOptions{}, dir)
	if _, err := get(t, way, server.URL); err != nil {
		t.Error(err)
	}
	if _, err := get(t, way, other.URL); err == nil {
		t.Error("another host is trusted for the CA of the first")
	}
}

func TestCertificateErrors(t *testing.T) {
	certificate, key := clientPair(t)
	for _, test := range []struct {
		name, file, content, want string
	}{
		{"no PEM", "a.crt", "x", "a.crt: there is no certificate in PEM"},
		{"no key", "a.cert", certificate, "a.cert: there is no key a.key for it"},
		{"no certificate", "a.key", key, "a.key: there is no certificate a.cert for it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, test.file), test.content)
			if _, err := NewTransport(TransportOptions{CertDir: dir}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	gone := filepath.Join(t.TempDir(), "gone")
	for _, o := range []TransportOptions{{CertDir: gone}, {RootCAs: gone}} {
		if _, err := NewTransport(o); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

func TestHalfInsecure(t *testing.T) {
	secure, ca := newTLSServer(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	trusted := writeFile(t, filepath.Join(t.TempDir(), "ca.pem"), ca)
	for _, test := range []struct {
		name, flag, roots, url string
		want                   string
	}{
		{"bad certificate", "use-http", "", secure.URL, "--skip-tls-verify is for"},
		{"good certificate", "use-http", trusted, secure.URL, ""},
		{"asked for", "skip-tls-verify", "", secure.URL, ""},
		{"plain HTTP of the local network", "skip-tls-verify", "", plain.URL, ""},
		{"no flag", "", "", secure.URL, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			way := newTransport(t, TransportOptions{
				Insecure: true, InsecureFlag: test.flag, RootCAs: test.roots, Log: slog.New(slog.NewTextHandler(&log, nil)),
			}, t.TempDir())
			for range 2 {
				if _, err := get(t, way, test.url); err != nil {
					t.Fatal(err)
				}
			}
			if got := log.String(); !strings.Contains(got, test.want) || strings.Count(got, "\n") != min(len(test.want), 1) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHalfInsecurePlainHTTP(t *testing.T) {
	var log bytes.Buffer
	inner := roundTripFunc(func(*http.Request) (*http.Response, error) { return &http.Response{Body: http.NoBody}, nil })
	way := &halfTransport{inner: inner, flag: "skip-tls-verify", log: slog.New(slog.NewTextHandler(&log, nil))}
	request := &http.Request{URL: &url.URL{Scheme: "http", Host: "q.io"}}
	response, err := way.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if !strings.Contains(log.String(), "--use-http is for") {
		t.Errorf("got %q", log.String())
	}
}

// TestPlainHTTP holds that nothing goes to a registry over plain HTTP, wherever it is, unless that is asked for.
func TestPlainHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer server.Close()
	if _, err := get(t, newTransport(t, TransportOptions{}, t.TempDir()), server.URL+"/v2/"); !errors.Is(err, errPlainHTTP) {
		t.Errorf("error %v", err)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProxy runs itself in another process: package net/http looks at the environment only once.
func TestProxy(t *testing.T) {
	if os.Getenv("OPM_TEST_PROXY") != "" {
		if got, err := get(t, newTransport(t, TransportOptions{Insecure: true}, t.TempDir()), "http://registry.invalid/v2/"); err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		return
	}
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.String() }))
	defer proxy.Close()
	self := exec.Command(os.Args[0], "-test.run=^TestProxy$")
	self.Env = append(os.Environ(), "OPM_TEST_PROXY=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if out, err := self.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := <-asked; got != "http://registry.invalid/v2/" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

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
	for _, test := range []struct {
		name         string
		header, body bool
		want         string
	}{
		{"no answer", false, false, "stalls: no answer for 30ms"},
		{"no body", true, false, "stalls: no answer for 30ms"},
		{"half a body", true, true, "stalls: no byte for 30ms, after 5 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(silent(test.header, test.body))
			defer server.Close()
			way := newTransport(t, TransportOptions{Timeout: 30 * time.Millisecond}, t.TempDir())
			_, err := get(t, way, server.URL)
			stall, ok := errors.AsType[*StallError](err)
			if !ok || !stall.Timeout() || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// slowly takes and gives a byte now and then, for longer than the limit in all.
func slowly(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range n {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestSlowIsNoStall(t *testing.T) {
	server := httptest.NewServer(slowly(10))
	defer server.Close()
	way := newTransport(t, TransportOptions{Timeout: 90 * time.Millisecond}, t.TempDir())
	if got, err := get(t, way, server.URL); len(got) != 10 || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSlowReaderIsNoStall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newTransport(t, TransportOptions{Timeout: 30 * time.Millisecond}, t.TempDir()).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.Sleep(60 * time.Millisecond)
	if n, err := io.Copy(io.Discard, response.Body); n != 1<<20 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}

// TestSlowUploadIsNoStall allows a registry 50 ms after an upload, and the source of the upload all the time it wants.
func TestSlowUploadIsNoStall(t *testing.T) {
	for _, test := range []struct {
		name             string
		source, registry time.Duration
	}{
		{"source", 80 * time.Millisecond, 0},
		{"registry", 0, 25 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
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
			way := newTransport(t, TransportOptions{Timeout: 10 * time.Millisecond}, t.TempDir())
			response, err := way.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		})
	}
}

func TestCanceledIsNoStall(t *testing.T) {
	server := httptest.NewServer(silent(true, true))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := newTransport(t, TransportOptions{}, t.TempDir()).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := io.ReadAll(response.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInsecure(t *testing.T) {
	none, off, on := Flag{}, Flag{Given: true}, Flag{Given: true, Value: true}
	for _, test := range []struct {
		skipTLS, useHTTP, skipTLSVerify Flag
		want, fails                     bool
	}{
		{none, none, none, false, false},
		{on, none, none, true, false},
		{off, none, none, false, false},
		{none, on, none, true, false},
		{none, off, none, false, false},
		{none, none, on, true, false},
		{none, on, off, true, false},
		{none, off, on, true, false},
		{none, off, off, false, false},
		{none, on, on, false, true},
		{off, on, none, false, true},
		{on, off, none, false, true},
		{off, off, none, false, true},
		{off, none, on, false, true},
		{on, none, off, false, true},
		{off, none, off, false, true},
	} {
		got, err := Insecure(test.skipTLS, test.useHTTP, test.skipTLSVerify)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%+v: got %v, %v", test, got, err)
		}
	}
}

func BenchmarkBody(b *testing.B) {
	const size = 8 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	defer server.Close()
	plain := &http.Transport{}
	defer plain.CloseIdleConnections()
	for _, way := range []struct {
		name string
		http.RoundTripper
	}{{"plain", plain}, {"opm", newTransport(b, TransportOptions{}, b.TempDir())}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				response, err := way.RoundTrip(request)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil {
					b.Fatal(err)
				}
				_ = response.Body.Close()
			}
		})
	}
}
