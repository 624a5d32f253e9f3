package image

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

// A certTransport uses the certificates that each registry has in the directories of podman and docker, see
// containers-certs.d(5).
type certTransport struct {
	base   *http.Transport
	places []string // directories with one for each HOST:PORT; none if one directory is for all

	mu    sync.Mutex
	hosts map[string]*http.Transport // by URL host; base for those without certificates
}

func newCertTransport(o TransportOptions) (*certTransport, error) {
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	dialer := &net.Dialer{Timeout: min(10*time.Second, o.Timeout), KeepAlive: 30 * time.Second}
	t := &certTransport{hosts: map[string]*http.Transport{}, base: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   min(10*time.Second, o.Timeout),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64, // the default of 2 makes many references at once open a connection for each request
		ForceAttemptHTTP2:     true,
	}}
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
	inner, err := t.transport(r.URL.Host)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("read certificates for %s: %w", r.URL.Host, err)
	}
	return inner.RoundTrip(r)
}

// transport returns the transport for a host, with its certificates if it has any.
func (t *certTransport) transport(host string) (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own, ok := t.hosts[host]; ok {
		return own, nil
	}
	own := t.base
	for _, place := range t.places {
		dir := filepath.Join(place, podmanName(host))
		if !exists(dir) {
			continue
		}
		own = t.base.Clone()
		if err := addCertificates(own.TLSClientConfig, dir); err != nil {
			return nil, err
		}
		break
	}
	t.hosts[host] = own
	return own, nil
}

// roots returns the CAs that are trusted for a host that was asked, nil for those of the system.
func (t *certTransport) roots(host string) *x509.CertPool {
	own, err := t.transport(host)
	if err != nil {
		return nil
	}
	return own.TLSClientConfig.RootCAs
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *certTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base.CloseIdleConnections()
	for _, own := range t.hosts {
		own.CloseIdleConnections()
	}
}
