package image

import (
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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newStack returns all transport layers of an Opener, with certificates from dir only and plain HTTP.
func newStack(t testing.TB, o TransportOptions, dir string) *registryTransport {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	inner, err := NewTransport(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&http.Client{Transport: inner}).CloseIdleConnections)
	return &registryTransport{inner: inner, insecure: true}
}

func newRequest(ctx context.Context, t testing.TB, method, url string, body io.Reader) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func get(t testing.TB, transport http.RoundTripper, url string) (string, error) {
	t.Helper()
	_, text, err := read(transport.RoundTrip(newRequest(t.Context(), t, http.MethodGet, url, nil)))
	return text, err
}

// read returns the status and the body of a response.
func read(response *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestUserAgent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.UserAgent())
	}))
	defer server.Close()
	if got, err := get(t, newStack(t, TransportOptions{}, t.TempDir()), server.URL); got != "opm" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// newTLSServer returns a server with a certificate that the system does not trust, and the certificate in PEM. It
// responds with a "c" for each client certificate.
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
			got, err := get(t, newStack(t, test.setUp(dir), dir), server.URL)
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
	transport := newStack(t, TransportOptions{}, dir)
	if _, err := get(t, transport, server.URL); err != nil {
		t.Error(err)
	}
	if _, err := get(t, transport, other.URL); err == nil {
		t.Error("another host is trusted for the CA of the first")
	}
}

func TestCertificateErrors(t *testing.T) {
	certificate, key := clientPair(t)
	for _, test := range []struct {
		name, file, content, want string
	}{
		{"no PEM", "a.crt", "x", "a.crt: contains no PEM certificate"},
		{"no key", "a.cert", certificate, "a.cert: key a.key is missing"},
		{"no certificate", "a.key", key, "a.key: certificate a.cert is missing"},
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

func TestOnInsecure(t *testing.T) {
	secure, ca := newTLSServer(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	trusted := writeFile(t, filepath.Join(t.TempDir(), "ca.pem"), ca)
	for _, test := range []struct {
		name, roots, url string
		insecure         bool
		want             func(error) bool // nil if nothing is reported
	}{
		{"bad certificate", "", secure.URL, true, as[x509.UnknownAuthorityError]},
		{"good certificate", trusted, secure.URL, true, nil},
		{"plain HTTP", "", plain.URL, true, isAny(ErrPlainHTTP)},
		{"verified", trusted, secure.URL, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var reported []error
			stack := newStack(t, TransportOptions{
				Insecure: test.insecure, RootCAs: test.roots, OnInsecure: func(host string, reason error) {
					if !strings.HasSuffix(test.url, host) {
						t.Errorf("reported for %s", host)
					}
					reported = append(reported, reason)
				},
			}, t.TempDir())
			for range 2 {
				if _, err := get(t, stack, test.url); err != nil {
					t.Fatal(err)
				}
			}
			if test.want == nil && reported != nil || test.want != nil && (len(reported) != 1 || !test.want(reported[0])) {
				t.Errorf("reported %v", reported)
			}
		})
	}
}

// TestPlainHTTP checks that no host is reached over plain HTTP, not even a local one, unless it is allowed.
func TestPlainHTTP(t *testing.T) {
	reached := false
	inner := roundTripFunc(func(*http.Request) (*http.Response, error) {
		reached = true
		return nil, errors.New("reached")
	})
	for url, secure := range map[string]bool{"http://10.0.0.1/v2/": false, "http://quay.io/x": false, "https://quay.io/": true,
		"http://localhost:5000/": false, "http://127.0.0.1/": false, "http://[::1]:80/v2/": false} {
		for _, insecure := range []bool{false, true} {
			reached = false
			_, err := get(t, &registryTransport{inner: inner, insecure: insecure}, url)
			if reached != (secure || insecure) || !reached && !errors.Is(err, ErrPlainHTTP) {
				t.Errorf("%s, insecure %v: reached %v, %v", url, insecure, reached, err)
			}
		}
	}

	opts := testOptions(t)
	opts.Insecure = false
	registry := newRegistry(t)
	_, err := Open(t.Context(), registry.host+"/org/image:v1", opts)
	for _, want := range []string{registry.host + " would be reached over plain HTTP", "pass --use-http"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if len(registry.forget()) > 0 {
		t.Error("the registry was asked")
	}
}

// TestRedirects checks that a registry cannot redirect to local addresses or in a loop.
func TestRedirects(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	for _, test := range []struct{ target, want string }{
		{"http://169.254.169.254/x", "169.254.169.254"},
		{"https://10.1.2.3/x", "10.1.2.3"},
		{"https://[fd00::1]/x", "fd00::1"},
		{"/again", "stopped after 10 redirects"},
		{"/moved", ""},
	} {
		registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/moved":
				r.URL.Path = r.URL.RawQuery
				return false
			case r.URL.Path != "/again" && !strings.Contains(r.URL.Path, "/blobs/"):
				return false
			}
			http.Redirect(w, r, test.target+"?"+r.URL.Path, http.StatusFound)
			return true
		})
		_, err := Open(t.Context(), ref, testOptions(t))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("to %s: got %v, want %q", test.target, err, test.want)
		}
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProxy checks that requests use the proxy in the environment. It runs itself in another process, because net/http
// reads the environment only once.
func TestProxy(t *testing.T) {
	if os.Getenv("OPM_TEST_PROXY") != "" {
		if got, err := get(t, newStack(t, TransportOptions{}, t.TempDir()), "http://registry.invalid/v2/"); err != nil {
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

func BenchmarkBody(b *testing.B) {
	const size = 8 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	defer server.Close()
	plain := &http.Transport{}
	defer plain.CloseIdleConnections()
	for _, transport := range []struct {
		name string
		http.RoundTripper
	}{{"plain", plain}, {"opm", newStack(b, TransportOptions{}, b.TempDir())}} {
		b.Run(transport.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				response, err := transport.RoundTrip(newRequest(b.Context(), b, http.MethodGet, server.URL, nil))
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
