package image

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A certTransport has the connections: for each registry its own, which lead only where its policy allows, with the
// certificates that each host has in the directories of podman and docker, see containers-certs.d(5).
type certTransport struct {
	base   *http.Transport
	dialer net.Dialer
	dial   func(*net.Dialer, context.Context, string, string) (net.Conn, error)
	policy *redirectPolicy
	places []string // directories with one for each HOST:PORT; none if one directory is for all

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
			MaxIdleConnsPerHost:    64, // the default of 2 makes many references at once open a connection for each request
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
	if o.CertDir == "" {
		t.places = certPlaces(o.Env)
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

// transport returns the transport for a request, unless it must not be sent.
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

// dialTo returns a function that connects to the host of a route, at an address that the policy allows. It looks at
// what is connected to, not at what a name means when it is asked for.
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

// config returns the certificates for a host. It is called with the lock held.
func (t *certTransport) config(host string) (*tls.Config, error) {
	if own, ok := t.tls[host]; ok {
		return own, nil
	}
	own := t.base.TLSClientConfig
	for _, place := range t.places {
		dir := filepath.Join(place, podmanName(host))
		if !exists(dir) {
			continue
		}
		own = own.Clone()
		if err := addCertificates(own, dir); err != nil {
			return nil, err
		}
		break
	}
	t.tls[host] = own
	return own, nil
}

// roots returns the CAs that are trusted for a host that was asked, nil for those of the system.
func (t *certTransport) roots(host string) *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own, err := t.config(host)
	if err != nil {
		return nil
	}
	return own.RootCAs
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *certTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, own := range t.routes {
		own.CloseIdleConnections()
	}
}
