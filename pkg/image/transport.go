package image

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// DefaultTimeout is how long a registry may be silent or slow.
const DefaultTimeout = 30 * time.Second

// TransportOptions are the options of NewTransport. The zero value verifies TLS with the CAs of the system.
type TransportOptions struct {
	// Insecure skips the verification of TLS certificates. Options.Insecure decides about plain HTTP.
	Insecure bool

	// OnInsecure is called once for each registry that is reached only thanks to Insecure or over plain HTTP, with the
	// reason: ErrPlainHTTP, or the error of its certificate.
	OnInsecure func(host string, reason error)

	// CertDir has certificates for all registries: CAs in *.crt, and clients' in *.cert with the key in *.key. "" means
	// those of each registry in the places of podman and docker, such as /etc/containers/certs.d/HOST.
	CertDir string

	// RootCAs is a PEM file of CAs to trust in addition to those of the system.
	RootCAs string

	// Timeout is how long a registry may be silent before it answers, five times as long after an upload. Within the body
	// of an answer, it must send at least 4 KB a second on average over every such time, or 128 KB if that is less: links
	// of 20 KB a second are fast enough, and with a longer timeout slower ones are. The same holds for what it takes of
	// an upload. The time in which nobody waits for it does not count. 0 is DefaultTimeout.
	Timeout time.Duration

	// AllowRedirects are where registries may lead although it is a loopback, link-local or private address that is not
	// in their own network. The destination is not always a redirect's: tokens and uploads go where registries say, too.
	AllowRedirects []Destination

	// Log gets retries; nil drops them.
	Log *slog.Logger

	// Env returns environment variables; nil is os.Getenv. Proxies are always those of the process.
	Env func(string) string
}

// NewTransport returns a transport to registries: through proxies, with the certificates of the options and the user
// agent opm. Registries that are silent or slow for too long are given up, with an error that is a timeout, and those
// that are busy or break off are asked again, after the time that they ask for if they do.
//
// An Opener puts a layer of its own on it, or on any other transport. Together, a request passes these, from the
// library down to the network; each has a file:
//
//	registryTransport  no plain HTTP unless allowed; one ping for each registry; bounded answers; resumed downloads
//	userAgent          says that it is opm
//	retryTransport     asks again, minding Retry-After
//	insecureTransport  notices what only an insecure transport accepts
//	stallTransport     gives up on silence, and on less than the least speed
//	certTransport      connects only where the registry may lead, with certificates for each host
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

// userAgent says who is asking.
type userAgent struct {
	inner http.RoundTripper
	*certTransport
}

func (t *userAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a round tripper must not change its request
	r.Header.Set("User-Agent", "opm")
	return t.inner.RoundTrip(r)
}
