package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

func TestNetworkOf(t *testing.T) {
	for want, addrs := range map[network][]string{
		"": {"8.8.8.8", "192.0.2.2", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "172.32.0.1", "100.128.0.1"},
		loopback: {"127.0.0.1", "127.255.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
			"2002:7f00:1::", "::127.0.0.1"},
		linkLocal: {"169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
			"fd00:ec2::254", "100.100.100.200"},
		private: {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd00::1", "fc00::1",
			"::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "198.18.0.1"},
		multicast: {"224.0.0.1", "255.255.255.255", "ff02::1"},
	} {
		for _, addr := range addrs {
			if got := networkOf(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s: got %q, want %q", addr, got, want)
			}
		}
	}
}

func TestParseDestination(t *testing.T) {
	for _, test := range []struct {
		text, host, addr string
		has              bool
	}{
		{"10.0.0.0/8", "x.example", "10.1.2.3", true},
		{"10.1.2.3/8", "x.example", "10.9.9.9", true},
		{"10.0.0.0/8", "x.example", "11.1.2.3", false},
		{"10.1.2.3", "x.example", "10.1.2.3", true},
		{"fd00::/8", "x.example", "fd00::1", true},
		{"localhost", "localhost", "127.0.0.1", true},
		{"Blobs.example", "blobs.example.", "10.1.2.3", true},
		{"blobs.example", "x.blobs.example", "10.1.2.3", false},
	} {
		d, err := ParseDestination(test.text)
		if got := d.has(test.host, netip.MustParseAddr(test.addr)); got != test.has || err != nil {
			t.Errorf("%+v: got %v, %v", test, got, err)
		}
	}
	for _, text := range []string{"", "a b", "https://x.example", "x.example:443", "10.0.0.0/33", "0x7f.1", "127.1", "$(x)",
		"a..b"} {
		if _, err := ParseDestination(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// An internet is one server reachable at all addresses, with a DNS.
type internet struct {
	server *httptest.Server

	mu        sync.Mutex
	names     map[string][]string // addresses by name, one for each lookup; the last one is then repeated
	connected []string
}

// newInternet returns an internet whose server first calls answer. If that returns false, the server redirects
// /to?URL, and answers other requests with "fine".
func newInternet(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) *internet {
	t.Helper()
	n := &internet{names: map[string][]string{
		"registry.example.com":  {"93.184.216.34"},
		"corp.example.com":      {"10.0.0.1"},
		"public.example.com":    {"8.8.8.8"},
		"private.example.com":   {"10.0.0.5"},
		"loopback.example.com":  {"127.0.0.1"},
		"linklocal.example.com": {"169.254.169.254"},
	}}
	n.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case answer != nil && answer(w, r):
		case r.URL.Path == "/to":
			to, err := url.QueryUnescape(r.URL.RawQuery)
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, "fine"+r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(n.server.Close)
	return n
}

func (n *internet) lookUp(host string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	addrs := n.names[host]
	switch len(addrs) {
	case 0:
		return host
	case 1:
	default:
		n.names[host] = addrs[1:]
	}
	return addrs[0]
}

// dial has the parameters of the method that it replaces.
//
//nolint:revive // so the context is the second
func (n *internet) dial(d *net.Dialer, ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort(n.lookUp(host), port)
	if err := d.Control(network, at, nil); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	n.mu.Lock()
	n.connected = append(n.connected, at)
	n.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, n.server.Listener.Addr().String())
	return connAt{conn, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(at))}, err
}

type connAt struct {
	net.Conn
	addr net.Addr
}

func (c connAt) RemoteAddr() net.Addr { return c.addr }

// stack returns all transport layers, connected to this internet.
func (n *internet) stack(t *testing.T, o TransportOptions) *registryTransport {
	t.Helper()
	stack := newStack(t, o, t.TempDir())
	connections := stack.inner.(*userAgent).certTransport
	connections.base.TLSClientConfig = n.server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	connections.base.TLSClientConfig.InsecureSkipVerify = o.Insecure
	connections.dial = n.dial
	return stack
}

// follow gets a URL and follows redirects as go-containerregistry does, but without its checks.
func follow(t *testing.T, stack http.RoundTripper, registry, address string) (string, error) {
	t.Helper()
	request := newRequest(withRegistry(t.Context(), registry), t, http.MethodGet, address, nil)
	request.Header.Set("Authorization", "+secret")
	_, text, err := read((&http.Client{Transport: stack}).Do(request))
	return text, err
}

// TestRedirectPolicy checks that a registry may redirect only to the internet, its own network, and allowed
// destinations.
func TestRedirectPolicy(t *testing.T) {
	const public, corp, local = "registry.example.com", "corp.example.com", "127.0.0.1:5000"
	for _, test := range []struct {
		registry, to, allow string
		want                string // in the error; "" for none
	}{
		{public, "https://public.example.com/x", "", ""},
		{public, "https://private.example.com/x", "", "registry.example.com redirects to private.example.com (10.0.0.5), " +
			"a private address: if that is intended, pass --allow-redirect private.example.com"},
		{public, "https://loopback.example.com:8443/x", "", "loopback.example.com (127.0.0.1), a loopback address"},
		{public, "https://linklocal.example.com/x", "", "a link-local address"},
		{public, "https://private.example.com/x", "private.example.com", ""},
		{public, "https://private.example.com/x", "10.0.0.0/8", ""},
		{public, "https://private.example.com/x", "192.168.0.0/16", "--allow-redirect private.example.com"},
		{public, "https://10.0.0.5/x", "", "redirects to 10.0.0.5, a private address: if that is intended, pass " +
			"--allow-redirect 10.0.0.5"},
		{public, "https://[::1]:8443/x", "", "redirects to ::1, a loopback address: if that is intended, pass " +
			"--allow-redirect ::1"},
		{public, "https://[::ffff:10.0.0.5]/x", "", "a private address"},
		{public, "https://[64:ff9b::a9fe:a9fe]/x", "", "a link-local address"},
		{public, "https://localhost/x", "", "a loopback address"},
		{public, "https://x.localhost./x", "", "a loopback address"},
		{public, "https://0x7f.1/x", "", "redirects to 0x7f.1, which is not a valid host"},
		{public, "https://2130706433/x", "", "not a valid host"},
		{public, "https://１２７.0.0.1/x", "", "not a valid host"},
		{public, "https://$(x)/x", "", "not a valid host"},
		{public, "http://public.example.com/x", "", "public.example.com: plain HTTP is not allowed after TLS"},
		{corp, "https://private.example.com/x", "", ""},
		{corp, "https://10.0.0.5/x", "", ""},
		{public, "https://10.0.0.5/x", "10.0.0.5", ""},
		{corp, "https://loopback.example.com/x", "", "a loopback address"},
		{corp, "https://linklocal.example.com/x", "", "a link-local address"},
		{corp, "https://100.100.100.200/x", "", "a link-local address"},
		{local, "https://127.0.0.1:5001/x", "", ""},
		{local, "https://loopback.example.com/x", "", ""},
		{local, "https://private.example.com/x", "", "a private address"},
	} {
		n := newInternet(t, nil)
		o := TransportOptions{Insecure: strings.Contains(test.to, "//10.0.0.5/")} // no certificate for it
		if test.allow != "" {
			to, err := ParseDestination(test.allow)
			if err != nil {
				t.Fatal(err)
			}
			o.AllowRedirects = []Destination{to}
		}
		got, err := follow(t, n.stack(t, o), test.registry, "https://"+test.registry+"/to?"+url.QueryEscape(test.to))
		repo, invalid := name.NewRepository(test.registry + "/x")
		if invalid != nil {
			t.Fatal(invalid)
		}
		err = access{repo: repo}.advise(err)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v", test, err)
		}
		if err == nil && strings.TrimSuffix(got, "+secret") != "fine" {
			t.Errorf("%+v: got %q", test, got)
		}
		if strings.Contains(got, "secret") && !strings.Contains(test.to, "127.0.0.1") {
			t.Errorf("%+v: the credentials went elsewhere", test)
		}
		if connections := len(n.connected); err != nil && connections > 1 {
			t.Errorf("%+v: connected to %v", test, n.connected)
		}
	}
}

// TestRebinding checks that a name that resolves to a new address does not bypass the policy.
func TestRebinding(t *testing.T) {
	refused := as[*redirectError]
	n := newInternet(t, nil)
	n.names["blobs.example.com"] = []string{"8.8.8.8", "127.0.0.1"}
	stack := n.stack(t, TransportOptions{})
	const to = "https://registry.example.com/to?https://blobs.example.com/x"
	if _, err := follow(t, stack, "registry.example.com", to); err != nil {
		t.Fatal(err)
	}
	stack.inner.(*userAgent).CloseIdleConnections()
	if _, err := follow(t, stack, "registry.example.com", to); !refused(err) {
		t.Errorf("a host that has moved to this one: %v", err)
	}

	// A registry with addresses in different networks is in none of them.
	n.names["registry.example.com"] = []string{"127.0.0.1", "93.184.216.34"}
	stack = n.stack(t, TransportOptions{})
	for range 2 {
		if _, err := follow(t, stack, "registry.example.com", "https://registry.example.com/x"); err != nil {
			t.Fatal(err)
		}
		stack.inner.(*userAgent).CloseIdleConnections()
	}
	if _, err := follow(t, stack, "registry.example.com",
		"https://registry.example.com/to?https://loopback.example.com/x"); !refused(err) {
		t.Errorf("a registry that was here once: %v", err)
	}

	// Without verified TLS, another server may answer for its name.
	n.names["registry.example.com"] = []string{"93.184.216.34", "127.0.0.1"}
	stack = n.stack(t, TransportOptions{Insecure: true})
	if _, err := follow(t, stack, "registry.example.com", "https://registry.example.com/x"); err != nil {
		t.Fatal(err)
	}
	stack.inner.(*userAgent).CloseIdleConnections()
	if _, err := follow(t, stack, "registry.example.com", "https://registry.example.com/x"); !refused(err) {
		t.Errorf("a registry that has moved to this host: %v", err)
	}
}

// TestConnectionsAreOfOneRegistry checks that a registry cannot reuse a connection allowed for another registry.
func TestConnectionsAreOfOneRegistry(t *testing.T) {
	n := newInternet(t, nil)
	stack := n.stack(t, TransportOptions{})
	if _, err := follow(t, stack, "loopback.example.com", "https://loopback.example.com/x"); err != nil {
		t.Fatal(err)
	}
	_, err := follow(t, stack, "registry.example.com", "https://registry.example.com/to?https://loopback.example.com/x")
	if !as[*redirectError](err) {
		t.Errorf("got %v", err)
	}
}

// TestWhereRegistriesLead checks that the policy applies to all requests that a registry causes.
func TestWhereRegistriesLead(t *testing.T) {
	const uploads = "/v2/x/blobs/uploads/"
	img := imageOf(t, nil, tarOf(t, "a=1"))
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"ping": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://private.example.com/v2/", http.StatusFound)
			return true
		},
		"token": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://private.example.com/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
		"redirected token": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				http.Redirect(w, r, "https://private.example.com/token", http.StatusFound)
				return true
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://public.example.com/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
		"manifest": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v2/" {
				http.Redirect(w, r, "https://private.example.com/x", http.StatusTemporaryRedirect)
			}
			return true
		},
		"upload": func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Method == http.MethodHead:
				w.WriteHeader(http.StatusNotFound)
			case r.URL.Path == uploads:
				w.Header().Set("Location", "https://private.example.com/upload")
				w.WriteHeader(http.StatusAccepted)
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newInternet(t, answer)
			opts := Options{Transport: n.stack(t, TransportOptions{}).inner, IgnorePolicy: true,
				Keychain: authn.NewMultiKeychain()}
			opener := NewOpener(opts)
			defer opener.Close()
			errs := []error{nil}
			_, errs[0] = Push(t.Context(), img, "registry.example.com/x:v1", opts)
			if name != "upload" {
				_, err := opener.Open(t.Context(), "registry.example.com/x:v1")
				_, digestErr := opener.Digest(t.Context(), "registry.example.com/x:v1")
				errs = append(errs, err, digestErr)
			}
			for _, err := range errs {
				if err == nil || !strings.Contains(err.Error(), "pass --allow-redirect private.example.com") {
					t.Errorf("got %v", err)
				}
			}
			if slices.Contains(n.connected, "10.0.0.5:443") {
				t.Errorf("connected to %v", n.connected)
			}
		})
	}
}

// TestTokenServers checks that only the policy decides whether token servers at private addresses are allowed.
func TestTokenServers(t *testing.T) {
	for _, test := range []struct {
		registry, server, allow string
		want                    string // in the error; "" for none
	}{
		{"10.0.0.1:5000", "10.0.0.1:5001", "", ""},
		{"10.0.0.1:5000", "10.9.9.9", "", ""},
		{"corp.example.com", "10.0.0.1:5001", "", ""},
		{"registry.example.com", "10.0.0.5:5001", "10.0.0.0/8", ""},
		{"registry.example.com", "[fd00::5]:5001", "fd00::/8", ""},
		{"registry.example.com", "10.0.0.5:5001", "", "registry.example.com redirects to 10.0.0.5, a private address: " +
			"if that is intended, pass --allow-redirect 10.0.0.5"},
		{"10.0.0.1:5000", "169.254.169.254", "", "pass --allow-redirect 169.254.169.254"},
		{"registry.example.com", "localhost:5001", "", "pass --allow-redirect localhost"},
	} {
		n := newInternet(t, func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/token":
				_, _ = io.WriteString(w, `{"token": "t"}`)
			case r.Header.Get("Authorization") != "Bearer t":
				w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+test.server+`/token?X-Amz-Signature=s",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path != "/v2/":
				w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			}
			return true
		})
		o := TransportOptions{Insecure: true} // the server has no certificates for addresses
		if test.allow != "" {
			to, err := ParseDestination(test.allow)
			if err != nil {
				t.Fatal(err)
			}
			o.AllowRedirects = []Destination{to}
		}
		opener := NewOpener(Options{
			Transport: n.stack(t, o).inner, IgnorePolicy: true, Keychain: authn.NewMultiKeychain(),
		})
		defer opener.Close()
		_, err := opener.Digest(t.Context(), test.registry+"/x:v1")
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v", test, err)
		}
		if connected := slices.ContainsFunc(n.connected, func(addr string) bool {
			return strings.TrimSuffix(addr, ":443") == test.server
		}); connected == (err != nil) {
			t.Errorf("%+v: connected to %v", test, n.connected)
		}
	}
}

// TestPrintedErrors checks that errors omit signatures in URLs.
func TestPrintedErrors(t *testing.T) {
	for text, want := range map[string]string{
		`Get "https://h/p?X-Amz-Signature=s&x=y": EOF`:             `Get "https://h/p": EOF`,
		"GET https://h/p?X-Amz-Signature=s: unexpected status 403": "GET https://h/p: unexpected status 403",
		"see https://h:1/p?a=b":                                    "see https://h:1/p",
		"is https://h/p there?":                                    "is https://h/p there?",
		"http://x31.address.invalid/?a='b":                         "http://1/'b",
	} {
		if got := (printedError{errors.New(text)}).Error(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestPlainUpload checks that an upload over TLS is never redirected to plain HTTP.
func TestPlainUpload(t *testing.T) {
	n := newInternet(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.Method {
		case http.MethodHead:
			w.WriteHeader(http.StatusNotFound)
		case http.MethodPost:
			w.Header().Set("Location", "http://public.example.com/upload")
			w.WriteHeader(http.StatusAccepted)
		}
		return true
	})
	_, err := Push(t.Context(), imageOf(t, nil, tarOf(t, "a=1")), "registry.example.com/x:v1", Options{Insecure: true,
		Transport: n.stack(t, TransportOptions{Insecure: true}).inner, Keychain: authn.NewMultiKeychain()})
	if !errors.Is(err, errDowngrade) {
		t.Errorf("got %v", err)
	}
}

// TestProxiedRedirect checks that for hosts resolved by a proxy, the policy uses only the host in the URL.
func TestProxiedRedirect(t *testing.T) {
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	for to, refused := range map[string]bool{
		"https://10.0.0.5/x": true, "https://localhost/x": true, "https://127.1/x": true,
		"https://private.example.com/x": false, "https://8.8.8.8/x": false,
	} {
		stack := newStack(t, TransportOptions{}, t.TempDir())
		stack.inner.(*userAgent).base.Proxy = proxy
		_, err := follow(t, stack, "registry.example.com", to)
		if as[*redirectError](err) != refused || !refused && !errors.Is(err, syscall.ECONNREFUSED) { // by the proxy
			t.Errorf("%s: got %v", to, err)
		}
	}
}

// TestEndlessAnswers checks that responses to all kinds of requests are bounded.
func TestEndlessAnswers(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for block := make([]byte, 1<<20); r.Context().Err() == nil; {
			_, _ = w.Write(block)
		}
	}
	n := newInternet(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v2/":
			http.Redirect(w, r, "https://public.example.com/ping", http.StatusFound)
		case "/v2/x/blobs/a", "/v2/x/manifests/a":
			w.WriteHeader(http.StatusTeapot)
			endless(w, r)
		case "/v2/x/blobs/header":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		default:
			endless(w, r)
		}
		return true
	})
	stack := n.stack(t, TransportOptions{})
	limit := (Limits{}).manifest()
	for path, want := range map[string]int64{
		"/v2/": maxAnswer, "/v2/x/blobs/a": maxAnswer, "/v2/x/manifests/a": maxAnswer, "/token": -1,
		"/v2/x/tags/list": -1, "/v2/x/manifests/b": -1, "/v2/x/referrers/b": -1, "/v2/x/blobs/header": -2,
		"/token?" + strings.Repeat("x", maxHeader+1): -2,
	} {
		got, err := follow(t, stack, "registry.example.com", "https://registry.example.com"+path)
		switch {
		case want == -1 && !errors.Is(err, ErrLimit), want == -2 && (err == nil || errors.Is(err, ErrLimit)),
			want >= 0 && (err != nil || int64(len(got)) != want):
			t.Errorf("%.30s: got %d bytes, %.200v; the limit is %d", path, len(got), err, limit)
		}
	}
}

func FuzzRedirectHost(f *testing.F) {
	for _, host := range []string{"a.example", "127.0.0.1", "[::1]:80", "0x7f.1", "$(x)", "x.localhost.", "１２７.0.0.1"} {
		f.Add(host)
	}
	p := &redirectPolicy{homes: map[string]network{}}
	f.Fuzz(func(t *testing.T, host string) {
		err := p.checkHost(route{registry: "registry.example", host: host})
		if err == nil {
			return
		}
		refused, ok := errors.AsType[*redirectError](err)
		if !ok {
			t.Fatal(err)
		}
		if advice := refused.advice(); strings.ContainsAny(advice, "$`'\"\\;&|<>()*?!\n") {
			t.Errorf("%s is not safe to paste", advice)
		}
		_ = fmt.Sprint(refused)
	})
}
