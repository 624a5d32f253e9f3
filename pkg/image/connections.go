package image

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/opm-toolchain/opm/internal/regular"
)

// A certTransport manages the connections. Each registry has connections of its own, only to hosts that its redirect
// policy allows, with the certificates of each host from the directories of podman and docker, see
// containers-certs.d(5).
type certTransport struct {
	base   *http.Transport
	dialer net.Dialer
	dial   func(*net.Dialer, context.Context, string, string) (net.Conn, error)
	policy *redirectPolicy
	places []string // directories with a subdirectory per HOST:PORT; nil if one directory is for all

	mu     sync.Mutex
	tls    map[string]*tls.Config // by URL host
	routes map[route]*http.Transport
}

func newCertTransport(o TransportOptions) (*certTransport, error) {
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	t := &certTransport{
		base: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    min(10*time.Second, o.Timeout),
			ExpectContinueTimeout:  time.Second,
			IdleConnTimeout:        90 * time.Second,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    64, // with the default of 2, concurrent reads would open a connection per request
			MaxResponseHeaderBytes: maxHeader,
			ForceAttemptHTTP2:      true,
		},
		dialer: net.Dialer{Timeout: min(10*time.Second, o.Timeout), KeepAlive: 30 * time.Second},
		dial:   (*net.Dialer).DialContext,
		policy: &redirectPolicy{allowed: o.AllowRedirects, homes: map[string]network{}},
		tls:    map[string]*tls.Config{},
		routes: map[route]*http.Transport{},
	}
	var err error
	if o.RootCAs != "" {
		err = addRoots(config, o.RootCAs)
	}
	if err == nil && o.CertDir != "" {
		err = addCertificates(config, o.CertDir)
	}
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	if o.CertDir == "" { // for each registry, the first that exists is used
		t.places = []string{"/etc/containers/certs.d", "/usr/share/containers/certs.d", "/etc/docker/certs.d"}
		if own := under(configHome(), "containers", "certs.d"); own != "" {
			t.places = slices.Insert(t.places, 0, own)
		}
	}
	return t, nil
}

func (t *certTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	inner, err := t.transport(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	return inner.RoundTrip(r)
}

// transport returns the transport for a request, or an error if the request is not allowed.
func (t *certTransport) transport(r *http.Request) (*http.Transport, error) {
	proxy, err := t.base.Proxy(r)
	if err != nil {
		return nil, err
	}
	to := route{
		registry: registryOf(r),
		host:     r.URL.Host,
		verified: r.URL.Scheme == "https" && !t.base.TLSClientConfig.InsecureSkipVerify,
		proxied:  proxy != nil,
	}
	if err := t.policy.checkHost(to); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if own, ok := t.routes[to]; ok {
		return own, nil
	}
	config, err := t.config(to.host)
	if err != nil {
		return nil, fmt.Errorf("read certificates for %s: %w", to.host, err)
	}
	own := t.base.Clone()
	own.TLSClientConfig = config.Clone()
	own.DialContext = t.dialer.DialContext
	if !to.proxied {
		own.Proxy, own.DialContext = nil, t.dialTo(to)
	}
	t.routes[to] = own
	return own, nil
}

// dialTo returns a dial function for the host of a route, restricted to addresses that the policy allows. It checks
// the address of the connection itself, because each lookup of a name may return another address.
func (t *certTransport) dialTo(to route) func(context.Context, string, string) (net.Conn, error) {
	dialer := t.dialer
	dialer.Control = func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return t.policy.checkAddress(to, at.Addr())
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := t.dial(&dialer, ctx, network, address)
		if err == nil && to.isHome() {
			t.policy.connected(to.registry, conn.RemoteAddr())
		}
		return conn, err
	}
}

// config returns the TLS configuration for a host. The caller must hold the lock.
func (t *certTransport) config(host string) (*tls.Config, error) {
	if own, ok := t.tls[host]; ok {
		return own, nil
	}
	own, name := t.base.TLSClientConfig, podmanName(host)
	i := slices.IndexFunc(t.places, func(place string) bool { return exists(filepath.Join(place, name)) })
	if i >= 0 {
		own = own.Clone()
		if err := addCertificates(own, filepath.Join(t.places[i], name)); err != nil {
			return nil, err
		}
	}
	t.tls[host] = own
	return own, nil
}

// roots returns the trusted CAs for a host, nil for the system's.
func (t *certTransport) roots(host string) *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own, err := t.config(host); err == nil {
		return own.RootCAs
	}
	return nil
}

// CloseIdleConnections implements the interface used by [http.Client.CloseIdleConnections].
func (t *certTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, own := range t.routes {
		own.CloseIdleConnections()
	}
}

// addCertificates adds the certificates of a directory: CAs in *.crt, and client pairs of *.cert and *.key, both
// required.
func addCertificates(config *tls.Config, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		base := strings.TrimSuffix(path, filepath.Ext(path))
		switch filepath.Ext(path) {
		case ".crt":
			if err = checkRegular(path); err == nil {
				err = addRoots(config, path)
			}
		case ".cert":
			err = addClient(config, path, base+".key")
		case ".key":
			if !exists(base + ".cert") {
				err = fmt.Errorf("%s: certificate %s.cert is missing", path, filepath.Base(base))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addClient adds a client certificate.
func addClient(config *tls.Config, cert, key string) error {
	if !exists(key) {
		return fmt.Errorf("%s: key %s is missing; the name of a CA ends in .crt", cert, filepath.Base(key))
	}
	if err := cmp.Or(checkRegular(cert), checkRegular(key)); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s: %w", cert, err)
	}
	config.Certificates = append(slices.Clip(config.Certificates), pair)
	return nil
}

// checkRegular returns an error for special files such as pipes, which would block.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = regular.Check(info.Mode())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addRoots adds the CAs of a PEM file to the trusted CAs, which are initially the system's.
func addRoots(config *tls.Config, path string) error {
	data, err := regular.ReadPath(path)
	if err != nil {
		return err
	}
	pool := config.RootCAs
	if pool == nil {
		if pool, err = x509.SystemCertPool(); err != nil {
			pool = x509.NewCertPool()
		}
	}
	pool = pool.Clone()
	if !pool.AppendCertsFromPEM(data) {
		return fmt.Errorf("%s: contains no PEM certificate", path)
	}
	config.RootCAs = pool
	return nil
}
