package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

// impatient returns options without retries and with a short timeout.
func impatient(t testing.TB) Options {
	opts := testOptions(t)
	base := &http.Transport{ResponseHeaderTimeout: time.Second}
	t.Cleanup(base.CloseIdleConnections)
	opts.Transport = base
	return opts
}

// TestAdvice checks that the error of each failure includes advice.
func TestAdvice(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	user := keychainOf("user", "secret")
	tests := []struct {
		code     int
		keychain authn.Keychain
		want     string
	}{
		{401, nil, "answers 401 Unauthorized (not\\x1btoday): there are no credentials for it: log in with \"podman login 127"},
		{401, user, "it refuses the credentials: log in"},
		{403, nil, "there are no credentials for it"},
		{403, user, "the credentials are not allowed to read org/image: ask its owner, or log in"},
		{404, nil, "check the name; many registries answer 404 for private images"},
		{404, user, "check the name and the tag"},
		{429, nil, "it limits the rate of requests: wait, or log in"},
		{429, user, "lower --jobs"},
		{500, user, "answers 500 Internal Server Error (not\\x1btoday): the registry has failed: try again later"},
		{503, user, "the registry has failed"},
		{418, user, "answers 418 I'm a teapot (not\\x1btoday)"},
	}
	for _, tt := range tests {
		for _, at := range []string{"/manifests/", "/blobs/"} {
			t.Run(fmt.Sprint(tt.code, at, tt.keychain != nil), func(t *testing.T) {
				registry.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, at) {
						return false
					}
					w.WriteHeader(tt.code)
					_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"not\u001btoday"}]}`)
					return true
				})
				opts := impatient(t)
				opts.Keychain = tt.keychain
				if tt.keychain == nil {
					opts.Keychain = authn.NewMultiKeychain()
				}
				_, err := Open(t.Context(), ref, opts)
				want := tt.want
				if tt.code == 404 && at == "/blobs/" {
					want = "it has the manifest of the image, but not all its blobs: push the image again"
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				if errors.Is(err, ErrUnavailable) == errors.Is(err, ErrNotFound) {
					t.Errorf("%v wraps both or none of ErrUnavailable and ErrNotFound", err)
				}
				if errors.Is(err, ErrNotFound) != (tt.code == 404) {
					t.Errorf("%v wraps ErrNotFound: %v", err, tt.code != 404)
				}
				if strings.Contains(fmt.Sprint(err), "secret") {
					t.Errorf("%v tells the password", err)
				}
			})
		}
	}
}

// TestUnknownDigest checks that the advice about an image that a repository does not have is not to log in.
func TestUnknownDigest(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	repository := strings.TrimSuffix(ref, ":v1")
	for suffix, want := range map[string]string{
		"@sha256:" + strings.Repeat("0", 64): "it has no image with this digest in org/image: check the digest",
		":v2":                                "it has no such image in org/image: check the name and the tag",
	} {
		opts := impatient(t)
		opts.Keychain = authn.NewMultiKeychain()
		_, err := Open(t.Context(), repository+suffix, opts)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "log in") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// keychainOf returns a keychain with the same credentials for every registry.
func keychainOf(user, password string) authn.Keychain { return oneKey{user, password} }

type oneKey struct{ user, password string }

func (k oneKey) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}

func TestConnections(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	registry := newRegistry(t)
	registry.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.Host, "slow.example") {
			<-r.Context().Done()
		}
		return false
	})
	plain := registry.host
	// All names resolve to this host; the name selects the server.
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		for name, to := range map[string]string{"plain": plain, "slow": plain, "tls": secure.Listener.Addr().String(),
			"example.com": secure.Listener.Addr().String(),
			"closed":      closed.Addr().String()} {
			if strings.HasPrefix(addr, name) {
				return (&net.Dialer{}).DialContext(ctx, network, to)
			}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	tests := []struct {
		ref      string
		insecure bool
		want     string
	}{
		{"plain.example/a:v1", false, "plain.example does not speak TLS: "},
		{"plain.example/a:v1", false, ": if that is intended, pass --use-http"},
		{"tls.example/a:v1", false, "the certificate of tls.example is for another host: "},
		{"example.com/a:v1", false, "the certificate of example.com is signed by an unknown authority: "},
		{"example.com/a:v1", false, "pass its certificate authority with --cert-dir, or --skip-tls-verify"},
		{"closed.example/a:v1", false, "closed.example refuses the connection"},
		{"missing.invalid/a:v1", false, "missing.invalid"},
		{"slow.example/a:v1", true, "slow.example does not answer: "},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			opts := testOptions(t)
			base := &http.Transport{DialContext: dial, ResponseHeaderTimeout: 2 * time.Second}
			t.Cleanup(base.CloseIdleConnections)
			opts.Transport, opts.Insecure, opts.Keychain = base, tt.insecure, authn.NewMultiKeychain()
			_, err := Open(t.Context(), tt.ref, opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
