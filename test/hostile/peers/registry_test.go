package peers

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/test/program"
)

// registryMemory is the maximum memory of opm for a malicious registry.
const registryMemory = 150e6

// An evilRegistry has the image org/image:v1 and answers some requests in its own way.
type evilRegistry struct {
	*httptest.Server
	ref   string
	flags []string // to reach it
}

// newEvilRegistry starts a registry that speaks TLS, at an address of this machine. evil answers if when returns true.
func newEvilRegistry(t *testing.T, address string, evil http.HandlerFunc, when func(*http.Request) bool) *evilRegistry {
	t.Helper()
	var ready atomic.Bool
	good := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ready.Load() && when(r) {
			evil(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}))
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })

	img, err := random.Image(1<<20, 1)
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	ref, err := name.ParseReference(host + "/org/image:v1")
	if err != nil {
		t.Fatal(err)
	}
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true // the certificate is for loopback addresses
	if err := remote.Write(ref, img, remote.WithTransport(transport)); err != nil {
		t.Fatal(err)
	}
	r := &evilRegistry{Server: server, ref: ref.Name()}
	certs := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(certs, "ca.crt"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if netip.MustParseAddrPort(host).Addr().IsLoopback() {
		r.flags = []string{"--cert-dir", certs}
	} else {
		r.flags = []string{"--skip-tls-verify"}
	}
	ready.Store(true)
	return r
}

// attack reads the whole image of a registry. want is a part of the expected error, or "" for success.
func (r *evilRegistry) attack(t *testing.T, want string, args ...string) {
	t.Helper()
	call := program.Call{
		Args:  slices.Concat([]string{"bundle", "unpack", r.ref, "--skip-validation", "-o", t.TempDir()}, r.flags, args),
		Limit: 30 * time.Second,
		Env:   []string{"HOME=" + t.TempDir(), "CONTAINERS_REGISTRIES_CONF=/dev/null", "NO_PROXY=*"},
	}
	got := call.Bounded(t, registryMemory)
	if got.Time > call.Limit {
		t.Errorf("it took %v", got.Time)
	}
	if (got.Code == 0) != (want == "") || !strings.Contains(got.Stderr, want) {
		t.Errorf("exit status %d, want %q, it says: %.2000s", got.Code, want, got.Stderr)
	}
	if len(got.Stderr) > 2000 {
		t.Errorf("it says %d bytes", len(got.Stderr))
	}
}

func all(*http.Request) bool { return true }

func isPing(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v2/") && strings.Count(r.URL.Path, "/") == 2
}

func isBlob(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }

func isToken(r *http.Request) bool { return r.URL.Path == "/token" || isPing(r) }

// endless writes zeros until the client hangs up.
func endless(w http.ResponseWriter, r *http.Request) {
	for block := make([]byte, 1<<20); r.Context().Err() == nil; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// trickle writes a byte a second.
func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
	}
}

func challenge(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="x"`, r.Host))
	w.WriteHeader(http.StatusUnauthorized)
}

// tokens responds to a ping with the address of the token server, and to a request for a token with evil.
func tokens(evil http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			evil(w, r)
			return
		}
		challenge(w, r)
	}
}

// TestHostileRegistry checks the time, memory and error of reading an image from registries that answer some requests
// with endless or misleading data.
func TestHostileRegistry(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 50<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		when func(*http.Request) bool
		evil http.HandlerFunc
		want string // of the error; "" if the image can be read nevertheless
	}{
		{"endless redirected ping", func(r *http.Request) bool { return isPing(r) || r.URL.Path == "/ping" },
			func(w http.ResponseWriter, r *http.Request) {
				if isPing(r) {
					http.Redirect(w, r, "/ping", http.StatusFound)
					return
				}
				w.WriteHeader(http.StatusForbidden)
				endless(w, r)
			}, "answers 403"},
		{"endless error", isPing, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			endless(w, r)
		}, "answers 418"},
		{"endless error for a blob", isBlob, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			endless(w, r)
		}, "answers 418"},
		{"endless token", isToken, tokens(endless), "exceeds"},
		{"bomb for a token", isToken, tokens(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}), "invalid character"},
		{"header without end", isPing, func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\n")
			for line := "X-Y: " + strings.Repeat("x", 1000) + "\r\n"; err == nil; {
				_, err = buf.WriteString(line)
			}
		}, "exceeded"},
		{"Retry-After of ten years", all, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "315360000")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "answers 429"},
		{"redirect loop", isBlob, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, "stopped after 10 redirects"},
		{"redirect loop of the ping", isPing, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/v2/", http.StatusFound)
		}, "stopped after 10 redirects"},
		{"slow blob", isBlob, trickle, "too slow"},
		{"slow ping", isPing, trickle, ""}, // its header is enough
		{"endless ping", isPing, endless, ""},
		{"slow token", isToken, tokens(trickle), "too slow"},
		{"many challenges", isToken, func(w http.ResponseWriter, r *http.Request) {
			for n := range 400 {
				w.Header().Add("WWW-Authenticate",
					fmt.Sprintf(`Bearer realm="https://%s/token",service="x",scope="%d"`, r.Host, n))
			}
			w.WriteHeader(http.StatusUnauthorized)
		}, "answers 401"},
		{"to metadata", isBlob, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusFound)
		}, "--allow-redirect 169.254.169.254"},
		{"to the network", isBlob, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://10.1.2.3/x", http.StatusFound)
		}, "--allow-redirect 10.1.2.3"},
		{"ping to metadata", isPing, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusFound)
		}, "--allow-redirect 169.254.169.254"},
		{"to plain HTTP", isBlob, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/x", http.StatusFound)
		}, "plain HTTP is not allowed after TLS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newEvilRegistry(t, "127.0.0.1", test.evil, test.when)
			r.attack(t, test.want, "--registry-timeout", "2s")
		})
	}
}

// TestRegistryLeadsHere checks that a remote registry cannot make opm connect to this host.
func TestRegistryLeadsHere(t *testing.T) {
	address := externalAddress(t)
	var connections atomic.Int32
	here, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	go func() {
		for {
			conn, err := here.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(here.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"} {
		to, says := fmt.Sprintf("https://%s:%s/", host, port), host
		if host[0] == '[' {
			says = "127.0.0.1"
		}
		for name, attack := range map[string]struct {
			when func(*http.Request) bool
			evil http.HandlerFunc
		}{
			"ping": {isPing, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to+"v2/", http.StatusFound) }},
			"blob": {isBlob, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }},
			"token": {isPing, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%stoken",service="x"`, to))
				w.WriteHeader(http.StatusUnauthorized)
			}},
		} {
			t.Run(name+" to "+host, func(t *testing.T) {
				newEvilRegistry(t, address, attack.evil, attack.when).attack(t, says)
			})
		}
	}
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections", n)
	}

	to := "https://127.0.0.1:" + port
	redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	newEvilRegistry(t, address, redirect, isBlob).attack(t, "closes the connection", "--allow-redirect", "127.0.0.0/8")
	if connections.Load() == 0 {
		t.Error("no connection, though it is allowed")
	}
}

// externalAddress returns an address at which other hosts can reach this machine.
func externalAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if ip, ok := addr.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}

// TestHostilePush checks the errors of pushes to registries that reject or ignore data, or redirect opm to other hosts.
func TestHostilePush(t *testing.T) {
	bundle, err := filepath.Abs("../../../examples/bundle/manifests")
	if err != nil {
		t.Fatal(err)
	}
	isWrite := func(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
	for _, test := range []struct {
		name string
		evil http.HandlerFunc
		want string
	}{
		{"endless error", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			endless(w, r)
		}, "403"},
		{"to the network", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://10.1.2.3/upload")
			w.WriteHeader(http.StatusAccepted)
		}, "10.1.2.3"},
		{"redirected to metadata", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://169.254.169.254/", http.StatusTemporaryRedirect)
		}, "--allow-redirect 169.254.169.254"},
		{"to plain HTTP", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://example.com/upload")
			w.WriteHeader(http.StatusAccepted)
		}, "plain HTTP is not allowed after TLS"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newEvilRegistry(t, "127.0.0.1", test.evil, isWrite)
			call := program.Call{
				Args: slices.Concat([]string{"bundle", "build", "-b", "none", "-d", bundle, "-u", t.TempDir(), "-p", "kiln",
					"-c", "beta", "-t", r.ref}, r.flags),
				Limit: 30 * time.Second,
				Env:   []string{"HOME=" + t.TempDir(), "CONTAINERS_REGISTRIES_CONF=/dev/null", "NO_PROXY=*"},
			}
			got := call.Bounded(t, registryMemory)
			if got.Time > call.Limit {
				t.Errorf("it took %v", got.Time)
			}
			if got.Code == 0 || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("exit status %d, want %q, it says: %.2000s", got.Code, test.want, got.Stderr)
			}
		})
	}
}
