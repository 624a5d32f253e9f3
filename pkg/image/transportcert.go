package image

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A certTransport uses the certificates that each registry has in the directories of podman and docker, see
// containers-certs.d(5).
type certTransport struct {
	base   *http.Transport
	places []string // directories with one for each HOST:PORT; none if one directory is for all

	mu    sync.Mutex
	hosts map[string]*http.Transport // by URL host; base for those without certificates
}

func newCertTransport(base *http.Transport, o TransportOptions) (*certTransport, error) {
	config := &tls.Config{InsecureSkipVerify: o.Insecure}
	base.TLSClientConfig = config
	if o.RootCAs != "" {
		if err := addRoots(config, o.RootCAs); err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
	}
	t := &certTransport{base: base, hosts: map[string]*http.Transport{}}
	if o.CertDir == "" {
		t.places = certPlaces(o.Env)
		return t, nil
	}
	if err := addCertificates(config, o.CertDir); err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	return t, nil
}

// certPlaces returns the directories that may have one with certificates for each registry. The first that has counts.
func certPlaces(env func(string) string) []string {
	places := []string{"/etc/containers/certs.d", "/usr/share/containers/certs.d", "/etc/docker/certs.d"}
	if own := under(configHome(env), "containers", "certs.d"); own != "" {
		places = append([]string{own}, places...)
	}
	return places
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

func (t *certTransport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base.CloseIdleConnections()
	for _, own := range t.hosts {
		own.CloseIdleConnections()
	}
}

// addCertificates adds what a directory has: CAs in *.crt, and pairs of *.cert and *.key, neither of which may miss.
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
			err = addRoots(config, path)
		case ".cert":
			err = addClient(config, path, base+".key")
		case ".key":
			if !exists(base + ".cert") {
				err = fmt.Errorf("%s: there is no certificate %s.cert for it", path, filepath.Base(base))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addClient adds a certificate to show to registries.
func addClient(config *tls.Config, cert, key string) error {
	if !exists(key) {
		return fmt.Errorf("%s: there is no key %s for it; the name of a CA ends in .crt", cert, filepath.Base(key))
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s: %w", cert, err)
	}
	config.Certificates = append(slices.Clip(config.Certificates), pair)
	return nil
}

// addRoots adds the CAs of a PEM file to those that are trusted, which are those of the system at first.
func addRoots(config *tls.Config, path string) error {
	data, err := os.ReadFile(path)
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
		return fmt.Errorf("%s: there is no certificate in PEM", path)
	}
	config.RootCAs = pool
	return nil
}
