package image

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// DefaultTimeout is how long a registry may stay silent.
const DefaultTimeout = 30 * time.Second

// TransportOptions say how registries are reached. The zero value verifies TLS and trusts whom the system trusts.
type TransportOptions struct {
	// Insecure leaves TLS certificates unverified. Plain HTTP is up to the references, see [name.Insecure].
	Insecure bool

	// InsecureFlag is the flag that asked for Insecure: "use-http" or "skip-tls-verify". Both mean the same, but Log is
	// told where only the other one was needed. "" tells nothing.
	InsecureFlag string

	// CertDir has certificates for all registries: CAs in *.crt, and clients' in *.cert with the key in *.key. "" means
	// those of each registry in the places of podman and docker, such as /etc/containers/certs.d/HOST.
	CertDir string

	// RootCAs is a PEM file of CAs to be trusted besides those of the system.
	RootCAs string

	// Timeout is how long a registry may be silent: before it answers, and within the body of an answer; five times as
	// long after an upload. 0 is DefaultTimeout.
	Timeout time.Duration

	// Log is told about retries and what Insecure was needed for; nil is nobody.
	Log *slog.Logger

	// Env returns environment variables; nil is os.Getenv. Proxies are those of the process, as ever.
	Env func(string) string
}

// NewTransport returns the way to registries: through proxies, with the certificates of the options and the user agent
// opm. Registries that are silent for too long are given up with a [*StallError], and those that are busy or break off
// are asked again, as long as they ask for if they say so.
//
// The library above should not retry what it reads, or each attempt becomes several:
//
//	remote.WithTransport(t), remote.WithRetryStatusCodes(), remote.WithRetryBackoff(remote.Backoff{Steps: 1})
//
// When it pushes, its own retries are needed, for only it knows where an upload begins.
func NewTransport(o TransportOptions) (http.RoundTripper, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	certificates, err := newCertTransport(baseTransport(o), o)
	if err != nil {
		return nil, err
	}
	var way http.RoundTripper = &stallTransport{certificates, o.Timeout}
	if o.Insecure && o.InsecureFlag != "" {
		way = &halfTransport{inner: way, flag: o.InsecureFlag, roots: certificates.roots, log: o.Log}
	}
	return &transport{newRetryTransport(way, o.Log), certificates, o.Insecure}, nil
}

// baseTransport returns the standard library's transport with our limits.
func baseTransport(o TransportOptions) *http.Transport {
	dialer := &net.Dialer{Timeout: min(10*time.Second, o.Timeout), KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   min(10*time.Second, o.Timeout),
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64, // the default of 2 makes many references at once open a connection for each request
		ForceAttemptHTTP2:     true,
	}
}

// A transport names itself to registries.
type transport struct {
	inner        http.RoundTripper
	certificates *certTransport
	insecure     bool
}

// errPlainHTTP is what a registry gets whose name looks as if it were nearby, such as localhost: the library below
// tries HTTP then, and credentials would go with it.
var errPlainHTTP = errors.New("plain HTTP is not allowed")

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.insecure && r.URL.Scheme == "http" && strings.HasPrefix(r.URL.Path, "/v2/") {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, errPlainHTTP
	}
	r = r.Clone(r.Context()) // a round tripper must not change its request
	r.Header.Set("User-Agent", "opm")
	return t.inner.RoundTrip(r)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *transport) CloseIdleConnections() { t.certificates.CloseIdleConnections() }
