package image

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sirupsen/logrus"
)

// These are the only credentials that a distribution knows.
const (
	testUser     = "user"
	testPassword = "secret"
	testHtpasswd = testUser + ":$2a$04$RSeIfy5ijUxsdGdQtPqGuO6Kahzl/6GiYrJAZ2wb6vSvhYVMOl6KW\n"
)

// A distribution is a real registry, with TLS.
type distribution struct {
	*httptest.Server
	host   string
	ca     string // a directory
	issued atomic.Int32
}

// newDistribution starts a registry that wants credentials: "htpasswd" or "token".
func newDistribution(t *testing.T, access string) *distribution {
	t.Helper()
	logrus.SetOutput(io.Discard)
	d := &distribution{ca: t.TempDir()}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var app http.Handler
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			d.token(w, r, key)
			return
		}
		app.ServeHTTP(w, r)
	}))
	d.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	d.StartTLS()
	t.Cleanup(d.Close)
	d.host = d.Listener.Addr().String()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
	writeFile(t, filepath.Join(d.ca, "ca.crt"), string(cert))

	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": nil}}
	config.HTTP.Secret = "of uploads"
	config.Auth = configuration.Auth{access: d.accessOptions(t, access, key)}
	config.Log.AccessLog.Disabled = true
	config.Catalog.MaxEntries = 1
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	app = handlers.NewApp(ctx, config)
	return d
}

func (d *distribution) accessOptions(t *testing.T, access string, key ed25519.PrivateKey) configuration.Parameters {
	t.Helper()
	if access == "htpasswd" {
		path := writeFile(t, filepath.Join(t.TempDir(), "htpasswd"), testHtpasswd)
		return configuration.Parameters{"realm": "test", "path": path}
	}
	jwks := fmt.Sprintf(`{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "test", "use": "sig", "x": %q}]}`,
		base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
	return configuration.Parameters{
		"realm": d.URL + "/token", "service": "test", "issuer": "test",
		"jwks":              writeFile(t, filepath.Join(t.TempDir(), "jwks"), jwks),
		"signingalgorithms": []any{"EdDSA"},
	}
}

// token issues a token for what is asked, if the user may have it.
func (d *distribution) token(w http.ResponseWriter, r *http.Request, key ed25519.PrivateKey) {
	d.issued.Add(1)
	user, password, _ := r.BasicAuth()
	if user != testUser || password != testPassword {
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
		return
	}
	var granted []map[string]any
	for _, scope := range r.URL.Query()["scope"] {
		parts := strings.Split(scope, ":")
		granted = append(granted, map[string]any{"type": parts[0], "name": parts[1],
			"actions": strings.Split(parts[2], ",")})
	}
	part := func(v any) string {
		data, _ := json.Marshal(v) // of maps and texts
		return base64.RawURLEncoding.EncodeToString(data)
	}
	now := time.Now().Unix()
	signed := part(map[string]string{"typ": "JWT", "alg": "EdDSA", "kid": "test"}) + "." + part(map[string]any{
		"iss": "test", "sub": user, "aud": "test", "exp": now + 300, "nbf": now - 10, "iat": now, "access": granted})
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(signed)))
	_ = json.NewEncoder(w).Encode(map[string]string{"token": signed + "." + signature}) // the client may hang up
}

// options are those of a user with the credentials.
func (d *distribution) options(t *testing.T, user, password string) Options {
	t.Helper()
	way, err := NewTransport(TransportOptions{CertDir: d.ca, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&http.Client{Transport: way}).CloseIdleConnections)
	opts := testOptions(t)
	opts.Transport, opts.Insecure, opts.Keychain = way, false, keychainOf(user, password)
	if user == "" {
		opts.Keychain = authn.NewMultiKeychain()
	}
	return opts
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	img := imageOf(t, map[string]string{LabelConfigs: "/c"}, tarOf(t, "c/a=1", "c/gone=1"),
		tarOf(t, "c/.wh.gone=", "c/b="+strings.Repeat("x", 1<<20)), tarOf(t, "other=1"))
	for _, access := range []string{"htpasswd", "token"} {
		t.Run(access, func(t *testing.T) {
			d := newDistribution(t, access)
			opts := d.options(t, testUser, testPassword)
			auth := remote.WithAuthFromKeychain(opts.Keychain)
			ref := d.host + "/org/deep/image:v1"
			if err := remote.Write(mustReference(t, ref), img, auth, remote.WithTransport(opts.Transport)); err != nil {
				t.Fatal(err)
			}
			index := indexOf(t, nil)
			index = appendTo(index, img, "linux/amd64")
			multi := d.host + "/org/multi:v1"
			if err := remote.WriteIndex(mustReference(t, multi), index, auth, remote.WithTransport(opts.Transport)); err != nil {
				t.Fatal(err)
			}
			d.issued.Store(0)
			for _, ref := range []string{ref, multi, d.host + "/org/multi@" + digestOf(t, index)} {
				opened := mustOpen(t, ref, opts)
				fsys, err := opened.Files(t.Context(), "/c")
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, fsys, filesOf("a=1", "b="+strings.Repeat("x", 1<<20)))
				if opened.Digest != digestOf(t, img) {
					t.Errorf("got digest %s", opened.Digest)
				}
			}
			if n := d.issued.Load(); access == "token" && n != 3 {
				t.Errorf("%d tokens were asked for, want one for each image", n)
			}

			_, err := Open(t.Context(), ref, d.options(t, testUser, "wrong"))
			if err == nil || !strings.Contains(err.Error(), "401 Unauthorized") ||
				!strings.Contains(err.Error(), "it refuses the credentials") {
				t.Errorf("got %v for a wrong password", err)
			}
			_, err = Open(t.Context(), ref, d.options(t, "", ""))
			if err == nil || !strings.Contains(err.Error(), "there are no credentials for it") {
				t.Errorf("got %v without credentials", err)
			}
			if _, err = Open(t.Context(), d.host+"/org/deep/image:v2", opts); err == nil ||
				!strings.Contains(err.Error(), "404 Not Found (manifest unknown): check the name and the tag") {
				t.Errorf("got %v for a tag that is not there", err)
			}
			trusting := opts
			trusting.Transport = nil
			if _, err = Open(t.Context(), ref, trusting); err == nil || !strings.Contains(err.Error(), "--cert-dir") {
				t.Errorf("got %v for a certificate that nobody knows", err)
			}
			trusting.Insecure = true
			if _, err := mustOpen(t, ref, trusting).Files(t.Context(), "/c"); err != nil {
				t.Errorf("got %v for a certificate that is not verified", err)
			}
		})
	}
}

func TestDistributionResumes(t *testing.T) {
	t.Parallel()
	d := newDistribution(t, "htpasswd")
	data, h := content(t, 1, 4<<20)
	img := imageOf(t, nil, tarOf(t, "a=1"), tarOf(t, "b="+string(data)))
	opts := d.options(t, testUser, testPassword)
	ref := d.host + "/org/image:v1"
	if err := remote.Write(mustReference(t, ref), img, remote.WithAuthFromKeychain(opts.Keychain),
		remote.WithTransport(opts.Transport)); err != nil {
		t.Fatal(err)
	}
	inner, ranges := opts.Transport, 0
	opts.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err != nil || !strings.Contains(r.URL.Path, "/blobs/") || resp.ContentLength < 1<<20 {
			return resp, err
		}
		if r.Header.Get("Range") != "" {
			ranges++
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, 1<<20), resp.Body} // ends too early, as a proxy may have it
		return resp, nil
	})
	fsys, err := mustOpen(t, ref, opts).Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	files := contents(t, fsys)
	if got, _, err := v1.SHA256(bytes.NewReader([]byte(files["b"]))); err != nil || got != h {
		t.Errorf("got %d bytes, %v", len(files["b"]), err)
	}
	if ranges != 3 {
		t.Errorf("taken up %d times", ranges)
	}
}
