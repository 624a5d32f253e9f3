package image

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// DefaultTimeout is the default of TransportOptions.Timeout.
const DefaultTimeout = 30 * time.Second

// TransportOptions are the options of NewTransport. The zero value verifies TLS with the system's CAs.
type TransportOptions struct {
	// Insecure disables the verification of TLS certificates. Plain HTTP depends on Options.Insecure.
	Insecure bool

	// OnInsecure is called once for each registry that is reachable only because of Insecure or over plain HTTP, with
	// the reason: ErrPlainHTTP, or the error of its certificate.
	OnInsecure func(host string, reason error)

	// CertDir has certificates for all registries: CAs in *.crt, and client certificates in *.cert with the key in
	// *.key. "" means the directories of podman and docker for each registry, such as /etc/containers/certs.d/HOST.
	CertDir string

	// RootCAs is a PEM file of CAs to trust in addition to the system's.
	RootCAs string

	// Timeout is the longest time to wait for a response; five times as long after an upload. In the body of a
	// response, the registry must send at least 4 KB a second on average over every such period, or 128 KB if that is
	// less: links with 20 KB a second are fast enough, and slower ones with a longer timeout. The same applies to
	// uploads. Time in which nobody waits for the registry does not count. 0 means DefaultTimeout.
	Timeout time.Duration

	// AllowRedirects are loopback, link-local or private destinations that registries may redirect to although they
	// are not in the registry's own network. This includes token servers and upload locations, which are also chosen
	// by the registry.
	AllowRedirects []Destination

	// Log records retries; nil discards them.
	Log *slog.Logger

	// Env returns environment variables; nil means os.Getenv. Proxies always come from the environment of the
	// process.
	Env func(string) string
}

// NewTransport returns a transport for registries: it uses proxies, the certificates in the options and the user
// agent opm. A registry that is silent or slow for too long is given up, with a timeout error. Requests to a registry
// that is busy or breaks the connection are retried, after its Retry-After if it sends one.
//
// An Opener adds a layer of its own on top of this or any other transport. A request passes these layers, from the
// go-containerregistry library down to the network; each is in its own file:
//
//	registryTransport  no plain HTTP unless allowed; one ping for each registry; bounded responses; resumed downloads
//	userAgent          identifies opm
//	retryTransport     retries, honouring Retry-After
//	insecureTransport  reports registries that only an insecure transport accepts
//	stallTransport     gives up on silence and on transfers below the minimum speed
//	certTransport      connects only to allowed targets, with the certificates of each host
func NewTransport(o TransportOptions) (http.RoundTripper, error) {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	certificates, err := newCertTransport(o)
	if err != nil {
		return nil, err
	}
	var t http.RoundTripper = &stallTransport{certificates, o.Timeout}
	if o.Insecure && o.OnInsecure != nil {
		t = &insecureTransport{inner: t, roots: certificates.roots, report: o.OnInsecure}
	}
	return &userAgent{newRetryTransport(t, logger(o.Log)), certificates}, nil
}

// userAgent sets the User-Agent header.
type userAgent struct {
	inner http.RoundTripper
	*certTransport
}

func (t *userAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper must not change its request
	r.Header.Set("User-Agent", "opm")
	return t.inner.RoundTrip(r)
}
