package image

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
)

// A halfTransport tells where an insecure connection was needed for what the other flag stands for: --use-http and
// --skip-tls-verify mean the same, for upstream has them so.
type halfTransport struct {
	inner http.RoundTripper
	flag  string
	roots func(host string) *x509.CertPool // nil are those of the system
	log   *slog.Logger
	told  sync.Map // hosts that were looked at
}

func (t *halfTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if _, again := t.told.LoadOrStore(r.URL.Scheme+"://"+r.URL.Host, true); !again {
		t.look(r, response)
	}
	return response, nil
}

// look tells what is to be told about a connection.
func (t *halfTransport) look(r *http.Request, response *http.Response) {
	switch {
	case t.flag == "skip-tls-verify" && r.URL.Scheme == "http" && !plainByDefault(r.URL.Host):
		t.log.Warn("--skip-tls-verify has allowed plain HTTP, which --use-http is for", "registry", r.URL.Host)
	case t.flag == "use-http" && response.TLS != nil:
		if err := verify(response.TLS, r.URL.Hostname(), t.roots(r.URL.Host)); err != nil {
			t.log.Warn("--use-http has allowed a bad TLS certificate, which --skip-tls-verify is for",
				"registry", r.URL.Host, "error", err)
		}
	}
}

// plainByDefault tells whether a host is asked over plain HTTP without any flag, as those of the local network are.
func plainByDefault(host string) bool {
	registry, err := name.NewRegistry(host)
	return err == nil && registry.Scheme() == "http"
}

// verify does what an insecure connection has left out.
func verify(state *tls.ConnectionState, host string, roots *x509.CertPool) error {
	others := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		others.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: others})
	return err
}
