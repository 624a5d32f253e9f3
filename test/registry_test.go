package test

import (
	"archive/tar"
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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/sirupsen/logrus"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// The only valid credentials of a distribution.
const (
	testUser     = "user"
	testPassword = "secret"
	testHtpasswd = testUser + ":$2a$04$RSeIfy5ijUxsdGdQtPqGuO6Kahzl/6GiYrJAZ2wb6vSvhYVMOl6KW\n"
)

// A distribution is a real registry, with TLS.
type distribution struct {
	*httptest.Server
	host   string
	ca     string       // a directory
	issued atomic.Int32 // tokens
}

// newDistribution starts a registry that requires credentials: "htpasswd" or "token".
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
	write(t, filepath.Join(d.ca, "ca.crt"), string(cert))

	// Its storage in memory copies a blob for each part of 32 KB.
	storage := configuration.Storage{"filesystem": {"rootdirectory": t.TempDir()}, "delete": {"enabled": true}}
	config := &configuration.Configuration{Storage: storage}
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
		path := write(t, filepath.Join(t.TempDir(), "htpasswd"), testHtpasswd)
		return configuration.Parameters{"realm": "test", "path": path}
	}
	jwks := fmt.Sprintf(`{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "test", "use": "sig", "x": %q}]}`,
		base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
	return configuration.Parameters{
		"realm": d.URL + "/token", "service": "test", "issuer": "test",
		"jwks":              write(t, filepath.Join(t.TempDir(), "jwks"), jwks),
		"signingalgorithms": []any{"EdDSA"},
	}
}

// token issues a token for the requested scope, if the user may have it.
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

// flags returns the flags for a user of the registry with a password, or without credentials.
func (d *distribution) flags(t *testing.T, password string) []string {
	t.Helper()
	auths := map[string]map[string]string{}
	if password != "" {
		auths[d.host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(testUser + ":" + password))}
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--cert-dir", d.ca, "--authfile", write(t, filepath.Join(t.TempDir(), "auth.json"), string(text))}
}

// options returns the options for a push to the registry.
func (d *distribution) options() []remote.Option {
	return []remote.Option{remote.WithTransport(d.Client().Transport),
		remote.WithAuth(&authn.Basic{Username: testUser, Password: testPassword})}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// imageOf returns the image of a catalog in /c, with a layer for each list of files, given as NAME=TEXT.
func imageOf(t *testing.T, layers ...[]string) v1.Image {
	t.Helper()
	img, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/c"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range layers {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, file := range files {
			name, text, _ := strings.Cut(file, "=")
			if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// object returns an object of a catalog, as opm render prints it, with a text of that size.
func object(name string, size int) string {
	return fmt.Sprintf("{\n    \"name\": %q,\n    \"schema\": \"example.com/any\",\n    \"text\": %q\n}\n", name, noise(size))
}

// noise returns text that does not compress well, always the same.
func noise(size int) string {
	text := make([]byte, size)
	state := uint32(1)
	for i := range text {
		state = state*1664525 + 1013904223
		text[i] = "abcdefghijklmnopqrstuvwxyz012345"[state>>27]
	}
	return string(text)
}

func parse(t *testing.T, ref string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	a, b := object("a", 1), object("b", 1<<20)
	img := imageOf(t, []string{"c/a.json=" + a, "c/gone.json=" + object("gone", 1)},
		[]string{"c/.wh.gone.json=", "c/b.json=" + b}, []string{"other.json=" + object("other", 1)})
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img,
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	imageDigest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	indexDigest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, access := range []string{"htpasswd", "token"} {
		t.Run(access, func(t *testing.T) {
			d := newDistribution(t, access)
			ref, multi := d.host+"/org/deep/image:v1", d.host+"/org/multi:v1"
			if err := remote.Write(parse(t, ref), img, d.options()...); err != nil {
				t.Fatal(err)
			}
			if err := remote.WriteIndex(parse(t, multi), index, d.options()...); err != nil {
				t.Fatal(err)
			}
			flags := append(d.flags(t, testPassword), "--platform", "linux/amd64")
			d.issued.Store(0)
			for ref, digest := range map[string]v1.Hash{
				ref: imageDigest, multi: indexDigest, d.host + "/org/multi@" + indexDigest.String(): indexDigest,
			} {
				lock := filepath.Join(t.TempDir(), "lock")
				got := mustOpm(t, "", slices.Concat([]string{"render", ref, "--lock", lock}, flags)...)
				if got != a+b {
					t.Errorf("%s: got %.200q", ref, got)
				}
				if locked, err := os.ReadFile(lock); err != nil || !bytes.Contains(locked, []byte(digest.String())) {
					t.Errorf("%s: the lock is %s, %v, want digest %s", ref, locked, err, digest)
				}
			}
			if n := d.issued.Load(); access == "token" && n != 3 {
				t.Errorf("%d tokens were requested, want one for each image", n)
			}

			for _, tt := range []struct {
				name, ref string
				flags     []string
				want      []string
			}{
				{"a wrong password", ref, d.flags(t, "wrong"), []string{"401 Unauthorized", "it refuses the credentials"}},
				{"no credentials", ref, d.flags(t, ""), []string{"there are no credentials for it"}},
				{"a missing tag", d.host + "/org/deep/image:v2", flags,
					[]string{"404 Not Found (manifest unknown): it has no such image in org/deep/image: check the name and the tag"}},
				{"an unknown certificate", ref, flags[2:], []string{"--cert-dir"}},
			} {
				got := opm(t, "", append([]string{"render", tt.ref}, tt.flags...)...)
				for _, want := range tt.want {
					if got.Code == 0 || got.Stdout != "" || !strings.Contains(got.Stderr, want) {
						t.Errorf("%s: exit status %d, %s; want %q", tt.name, got.Code, got.Stderr, want)
					}
				}
			}
			if got := mustOpm(t, "", slices.Concat([]string{"render", ref, "--skip-tls-verify"}, flags[2:])...); got != a+b {
				t.Errorf("without verification: got %.200q", got)
			}
		})
	}
}

// TestPushToDistribution checks that the image of a bundle can be pushed.
func TestPushToDistribution(t *testing.T) {
	t.Parallel()
	for _, access := range shared.Sample([]string{"htpasswd", "token"}, 1) {
		t.Run(access, func(t *testing.T) {
			d := newDistribution(t, access)
			ref := d.host + "/org/deep/bundle:v1"
			build := []string{"bundle", "build", "--image-builder", "none", "--directory", "../examples/bundle/manifests",
				"--package", "kiln", "--channels", "stable", "--output-dir", t.TempDir(), "--tag", ref}
			printed := mustOpm(t, "", append(build, d.flags(t, testPassword)...)...)
			pushed, err := remote.Head(parse(t, ref), d.options()...)
			if err != nil || !strings.Contains(printed, pushed.Digest.String()) {
				t.Errorf("opm prints %q, the registry has %v, %v", printed, pushed, err)
			}
			got := opm(t, "", append(build, d.flags(t, "")...)...)
			if want := "there are no credentials for it: log in"; got.Code == 0 || !strings.Contains(got.Stderr, want) {
				t.Errorf("without credentials: exit status %d, %s; want %q", got.Code, got.Stderr, want)
			}
		})
	}
}

// TestDistributionResumes checks that downloads resume if every response with a large blob is cut short, as a proxy may
// do.
func TestDistributionResumes(t *testing.T) {
	shared.OnlyFull(t)
	t.Parallel()
	const part = 1 << 20
	d := newDistribution(t, "htpasswd")
	a, b := object("a", 1), object("b", 4<<20)
	img := imageOf(t, []string{"c/a.json=" + a}, []string{"c/b.json=" + b})
	ref := d.host + "/org/image:v1"
	if err := remote.Write(parse(t, ref), img, d.options()...); err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	size, err := layers[1].Size()
	if err != nil {
		t.Fatal(err)
	}
	var ranges atomic.Int64
	inner := d.Config.Handler
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") && r.Header.Get("Range") != "" {
			ranges.Add(1)
		}
		inner.ServeHTTP(&cut{ResponseWriter: w, left: part}, r)
	})
	if got := mustOpm(t, "", append([]string{"render", ref}, d.flags(t, testPassword)...)...); got != a+b {
		t.Errorf("got %d bytes, want %d", len(got), len(a+b))
	}
	if got, want := ranges.Load(), (size-1)/part; got != want || want < 2 {
		t.Errorf("%d requests for ranges, want %d", got, want)
	}
}

// A cut breaks the connection after this many bytes of a body.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; err == nil && n < len(p) {
		panic(http.ErrAbortHandler)
	}
	return n, err
}
