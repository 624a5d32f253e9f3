package image

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// An adviceError is a registry failure with advice for the user.
type adviceError struct {
	what   string
	advice string
	err    error
}

func (e *adviceError) Error() string {
	if e.advice == "" {
		return e.what
	}
	return e.what + ": " + e.advice
}

func (e *adviceError) Unwrap() error { return e.err }

// Is matches ErrNotFound for a 404 response, and ErrUnavailable for any other failure.
func (e *adviceError) Is(target error) bool {
	answer, ok := errors.AsType[*gcr.Error](e.err)
	notFound := ok && answer.StatusCode == http.StatusNotFound
	return target == ErrNotFound && notFound || target == ErrUnavailable && !notFound
}

// An access is an attempt to reach a repository.
type access struct {
	repo        name.Repository
	credentials bool   // the requests carried credentials
	ignored     string // without credentials: the reason why an entry for the repository is ignored, or ""
	push        bool
}

// A printedError is an error without the query strings of URLs, which may contain signatures that grant access.
type printedError struct{ error }

// query matches the query string of a URL in text. A trailing colon belongs to the text, not to the query.
var query = regexp.MustCompile(`(https?://[^\s"'?]*)\?[^\s"']*?(:?(?:[\s"']|$))`)

func (e printedError) Error() string {
	return restoreHosts(query.ReplaceAllString(e.error.Error(), "$1$2"))
}

func (e printedError) Unwrap() error { return e.error }

// advise adds advice to the error of a registry, and removes the query strings of URLs.
func (a access) advise(err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*redirectError](err); ok {
		return printedError{&adviceError{refused.Error(), refused.advice(), err}}
	}
	// If plain HTTP was tried after TLS had failed, the TLS error is more helpful.
	found := a.onFailure(certificateFailures, err)
	if answer, ok := errors.AsType[*gcr.Error](err); ok && found == nil {
		found = a.onStatus(answer, err)
	}
	if found == nil {
		found = a.onFailure(failures, err)
	}
	return printedError{cmp.Or(found, err)}
}

// onFailure returns the advice of the first matching row, or nil.
func (a access) onFailure(rows []failure, err error) error {
	for _, row := range rows {
		if !row.is(err) {
			continue
		}
		cause := err
		if request, ok := err.(*url.Error); ok { //nolint:errorlint // an error that wraps a url.Error says more
			cause = request.Err
		}
		what := fmt.Sprintf(row.say, a.repo.RegistryStr()) + ": " + printable(cause.Error())
		return &adviceError{what, row.advice, err}
	}
	return nil
}

// onStatus returns the advice for an HTTP error status.
func (a access) onStatus(answer *gcr.Error, err error) error {
	what := fmt.Sprintf("%s answers %d %s", a.repo.RegistryStr(), answer.StatusCode, http.StatusText(answer.StatusCode))
	if len(answer.Errors) > 0 {
		said := answer.Errors[0]
		what += fmt.Sprintf(" (%s)", printable(cmp.Or(said.Message, string(said.Code))))
	}
	r := answer.Request
	blob := r != nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") // a config or a layer
	advice := a.statusAdvice(answer.StatusCode, blob)
	isUnknown := func(d gcr.Diagnostic) bool { return d.Code == gcr.ManifestUnknownErrorCode }
	if answer.StatusCode == http.StatusNotFound && !blob && slices.ContainsFunc(answer.Errors, isUnknown) {
		advice = "it has no such image in " + a.repo.RepositoryStr() + ": check the name and the tag"
		if r != nil && strings.Contains(r.URL.Path, "/manifests/sha256:") {
			advice = "it has no image with this digest in " + a.repo.RepositoryStr() + ": check the digest; an image without " +
				"a tag may have been deleted"
		}
	}
	return &adviceError{what, advice, err}
}

// statusAdvice returns the advice for a status. blob is set for a blob of an image whose manifest the registry has
// sent.
func (a access) statusAdvice(code int, blob bool) string {
	host, do := a.repo.RegistryStr(), "read"
	if a.push {
		do = "write"
	}
	login := fmt.Sprintf("log in with \"podman login %s\", or pass a file with credentials for it as --authfile; "+
		"\"opm auth explain\" shows where credentials are looked for", host)
	if a.ignored != "" {
		login = a.ignored + ": " + login
	}
	switch {
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && !a.credentials:
		return "there are no credentials for it: " + login
	case code == http.StatusUnauthorized:
		return "it refuses the credentials: " + login
	case code == http.StatusForbidden:
		return fmt.Sprintf("the credentials are not allowed to %s %s: ask its owner, or %s", do,
			a.repo.RepositoryStr(), login)
	case code == http.StatusNotFound && blob:
		return "it has the manifest of the image, but not all its blobs: push the image again, or use a mirror"
	case code == http.StatusNotFound && !a.credentials:
		return "check the name; many registries answer 404 for private images, too: " + login
	case code == http.StatusNotFound:
		return "check the name and the tag, and whether the credentials are for it"
	case code == http.StatusMethodNotAllowed && a.push:
		return "it is read-only, or allows no deletion: ask its owner"
	case code == http.StatusTooManyRequests && !a.credentials:
		return "it limits the rate of requests: wait, or log in, which often raises the limit: " + login
	case code == http.StatusTooManyRequests:
		return "it limits the rate of requests: wait, lower --jobs, or use a mirror"
	case code >= http.StatusInternalServerError && a.push:
		return "the registry has failed: try again later"
	case code >= http.StatusInternalServerError:
		return "the registry has failed: try again later, or use a mirror"
	}
	return ""
}

// A failure maps an error of reaching a registry to advice. The first matching row of a table is used.
type failure struct {
	is     func(error) bool
	say    string // a format for the host
	advice string
}

const certAdvice = "pass its certificate authority with --cert-dir, or --skip-tls-verify"

var certificateFailures = []failure{
	{as[x509.UnknownAuthorityError], "the certificate of %s is signed by an unknown authority", certAdvice},
	{as[x509.HostnameError], "the certificate of %s is for another host",
		"check the name, or pass --skip-tls-verify"},
	{as[x509.CertificateInvalidError], "the certificate of %s is not valid",
		"check the clock of this host, or pass --skip-tls-verify"},
	{as[*tls.CertificateVerificationError], "the certificate of %s cannot be verified", certAdvice},
}

var failures = []failure{
	{as[*cacheError], "cannot cache data from %s", ""},
	{either(as[tls.RecordHeaderError], as[tls.AlertError]), "no TLS connection to %s",
		"check the port and the proxy settings"},
	{as[*net.DNSError], "the host %s is not known", "check the name, the network and the proxy settings"},
	{isAny(syscall.ECONNREFUSED), "%s refuses the connection", "check the port, and that the registry is running"},
	{isTimeout, "%s does not answer", "check the network and the proxy settings, or try again later"},
	{either(as[*brokenError], isBroken), "%s closes the connection", "try again later, or use a mirror"},
	{isAny(errDigest), "%s sent damaged data",
		"try again; if it persists, the registry, a mirror or a proxy changes images"},
	{isAny(errNotStored), "%s has not stored the image",
		"try again; if it persists, the registry, or a proxy before it, loses images: ask its owner"},
	{isAny(errDowngrade), "%s redirects to plain HTTP", "redirects must stay on TLS: ask its owner, or use a mirror"},
	{isAny(ErrPlainHTTP), "%s would be reached over plain HTTP", "if that is intended, pass --use-http"},
	// If the registry may use plain HTTP, the error of that attempt matches a row above.
	{isAny(http.ErrSchemeMismatch), "%s does not speak TLS", "if that is intended, pass --use-http"},
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isAny(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

func either(a, b func(error) bool) func(error) bool {
	return func(err error) bool { return a(err) || b(err) }
}

// isTimeout reports whether any error in the tree of err is a timeout. It checks all kinds of timeouts, because
// errors.As finds only the first error of each kind in a joined error.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || as[*stallError](err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded)
}
