package image

import (
	"crypto/x509"
	"net/http"
	"sync"
)

// An insecureTransport reports registries that only an insecure transport accepts.
type insecureTransport struct {
	inner    http.RoundTripper
	roots    func(host string) *x509.CertPool // nil means the system's
	report   func(host string, reason error)
	reported sync.Map // schemes and hosts already checked
}

func (t *insecureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, again := t.reported.LoadOrStore(r.URL.Scheme+r.URL.Host, true); !again {
		if reason := t.look(r, response); reason != nil {
			t.report(r.URL.Host, reason)
		}
	}
	return response, nil
}

// look returns the reason why a connection is insecure, or nil.
func (t *insecureTransport) look(r *http.Request, response *http.Response) error {
	if r.URL.Scheme == "http" {
		return ErrPlainHTTP
	}
	if response.TLS == nil {
		return nil
	}
	chain := response.TLS.PeerCertificates
	others := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		others.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: r.URL.Hostname(), Roots: t.roots(r.URL.Host), Intermediates: others,
	})
	return err
}
