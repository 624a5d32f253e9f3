package mirror

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/pkg/image"
)

// A fakeRegistry is a registry in memory with TLS and a password. Unlike in the registry that it wraps, a repository
// has only the blobs that were uploaded to it or mounted.
type fakeRegistry struct {
	host   string
	inner  http.Handler
	server *httptest.Server

	mu      sync.Mutex
	blobs   map[string]bool // REPOSITORY@DIGEST
	sent    map[string]int  // number of times that each blob was sent completely
	bytes   int64           // of blobs sent
	noMount bool            // mounts no blobs
	asked   []string        // see requests
	largest int64           // number of bytes of the largest blob sent
	mounts  int

	answer answer
}

// An answer, if not nil, may answer a request instead of the registry.
type answer func(w http.ResponseWriter, r *http.Request) bool

// setAnswer replaces the answer, for the next requests. Those of a client that was interrupted may still be under way.
func (f *fakeRegistry) setAnswer(a answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = a
}

const user, password = "potter", "clay"

func newRegistry(t *testing.T, referrers bool) *fakeRegistry {
	t.Helper()
	f := &fakeRegistry{
		inner: registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)), registry.WithReferrersSupport(referrers)),
		blobs: map[string]bool{}, sent: map[string]int{},
	}
	f.server = httptest.NewUnstartedServer(f)
	f.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // of clients that were killed
	f.server.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate()}, MinVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519},
	}
	f.server.StartTLS()
	f.server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = maxRequests // as in opm
	t.Cleanup(f.server.Close)
	f.host = strings.TrimPrefix(f.server.URL, "https://")
	return f
}

// certificate returns a certificate for all registries. The RSA key of httptest would take most of the processor time
// of the tests.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

func (f *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, secret, _ := r.BasicAuth(); name != user || secret != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="pottery"`)
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.Path)
	answer := f.answer
	f.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	if r.Method == http.MethodDelete {
		f.untag(r)
	}
	repo, rest, isBlob := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/")
	switch {
	case !isBlob && r.Method == http.MethodPut: // the inner registry keeps what a client sent before it was killed
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	case !isBlob:
	case strings.HasPrefix(rest, "uploads"):
		if digest, from := r.URL.Query().Get("mount"), r.URL.Query().Get("from"); digest != "" && f.mount(repo, from, digest) {
			w.Header().Set("Docker-Content-Digest", digest)
			w.WriteHeader(http.StatusCreated)
			return
		}
		if digest := r.URL.Query().Get("digest"); digest != "" {
			defer f.add(repo, digest)
		}
		r.URL.RawQuery = "digest=" + r.URL.Query().Get("digest")
		if strings.HasSuffix(r.URL.RawQuery, "=") {
			r.URL.RawQuery = ""
		}
	case !f.has(repo, rest):
		http.Error(w, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`, http.StatusNotFound)
		return
	case r.Method == http.MethodGet:
		sent := &countingWriter{ResponseWriter: w, f: f}
		w = sent
		defer func() { f.count(rest, sent.n) }()
	}
	f.inner.ServeHTTP(w, r)
}

// untag deletes the tags of a manifest that is about to be deleted, as registries do.
func (f *fakeRegistry) untag(r *http.Request) {
	repo, digest, _ := strings.Cut(r.URL.Path, "/manifests/")
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.inner.ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), method, path, nil))
		return w
	}
	var list struct {
		Tags []string `json:"tags"`
	}
	if err := json.Unmarshal(ask(http.MethodGet, repo+"/tags/list").Body.Bytes(), &list); err != nil {
		panic(err)
	}
	for _, tag := range list.Tags {
		at := repo + "/manifests/" + tag
		if ask(http.MethodHead, at).Header().Get("Docker-Content-Digest") == digest {
			ask(http.MethodDelete, at)
		}
	}
}

type countingWriter struct {
	http.ResponseWriter
	f *fakeRegistry
	n int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	w.f.bytes += int64(n)
	w.n += int64(n)
	return n, err
}

func (f *fakeRegistry) count(digest string, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[digest]++
	f.largest = max(f.largest, n)
}

func (f *fakeRegistry) has(repo, digest string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blobs[repo+"@"+digest]
}

func (f *fakeRegistry) add(repo, digest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blobs[repo+"@"+digest] = true
}

func (f *fakeRegistry) mount(repo, from, digest string) bool {
	if f.noMount || !f.has(from, digest) {
		return false
	}
	f.add(repo, digest)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mounts++
	return true
}

// reset resets the counts.
func (f *fakeRegistry) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent, f.bytes, f.asked, f.mounts = map[string]int{}, 0, nil, 0
}

// requests returns the requests since the last reset, each as METHOD PATH, in the order of their arrival. It leaves out
// the end of uploads that are not needed: such a request may arrive after the run that sent it.
func (f *fakeRegistry) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.asked), func(r string) bool {
		return strings.HasPrefix(r, "DELETE ") && strings.Contains(r, "/blobs/uploads/")
	})
}

// wrote returns the number of manifests put since the last reset.
func (f *fakeRegistry) wrote() (n int) {
	for _, r := range f.requests() {
		if strings.HasPrefix(r, "PUT ") && path.Base(path.Dir(r)) == "manifests" {
			n++
		}
	}
	return n
}

type keychain struct{ authn.AuthConfig }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(k.AuthConfig), nil
}

var login = keychain{authn.AuthConfig{Username: user, Password: password}}

// opener returns an opener for all registries of the tests, with the transport of opm.
func (f *fakeRegistry) opener(t *testing.T) *image.Opener {
	t.Helper()
	transport, err := image.NewTransport(image.TransportOptions{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	o := image.NewOpener(image.Options{Keychain: login, Transport: transport})
	t.Cleanup(func() {
		transport.(interface{ CloseIdleConnections() }).CloseIdleConnections()
		o.Close()
	})
	return o
}

func (f *fakeRegistry) options() []remote.Option {
	return []remote.Option{remote.WithTransport(f.server.Client().Transport), remote.WithAuthFromKeychain(login)}
}

func (f *fakeRegistry) ref(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(f.host + "/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// push pushes an image or an index, and returns its digest.
func (f *fakeRegistry) push(t *testing.T, text string, img image.Artifact) string {
	t.Helper()
	if err := remote.Push(f.ref(t, text), img, f.options()...); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// digest returns the digest of a reference in the registry, or "" if it does not exist.
func (f *fakeRegistry) digest(t *testing.T, text string) string {
	t.Helper()
	desc, err := remote.Head(f.ref(t, text), f.options()...)
	if err != nil {
		return ""
	}
	return desc.Digest.String()
}

func newImage(t *testing.T, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := random.Image(300, 1)
	if err == nil {
		img, err = mutate.AppendLayers(img, layers...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func newLayer(t *testing.T, size int64) v1.Layer {
	t.Helper()
	l, err := random.Layer(size, "application/vnd.oci.image.layer.v1.tar+gzip")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newIndex returns an index of images for amd64 and arm64.
func newIndex(t *testing.T, images ...v1.Image) v1.ImageIndex {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for i, img := range images {
		platform := &v1.Platform{OS: "linux", Architecture: []string{"amd64", "arm64"}[i]}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index
}

// referTo returns an image whose subject is another one.
func referTo(t *testing.T, to partial.Describable) v1.Image {
	t.Helper()
	desc, err := partial.Descriptor(to)
	if err != nil {
		t.Fatal(err)
	}
	return mutate.Subject(newImage(t), *desc).(v1.Image)
}

// signTag returns the tag of cosign for a digest.
func signTag(digest, suffix string) string { return strings.Replace(digest, ":", "-", 1) + suffix }

// A pottery is a registry with images that share a layer, one of them signed in every way.
type pottery struct {
	*fakeRegistry
	refs []string // by digest, and the last by tag
	want []string // references below the host that a mirror must have, as in the registry
}

func newPottery(t *testing.T, referrers bool) *pottery {
	t.Helper()
	p := &pottery{fakeRegistry: newRegistry(t, referrers)}
	shared := newLayer(t, 5000)
	child := newImage(t, shared)
	kiln := newIndex(t, child, newImage(t, newLayer(t, 700)))
	digest := p.push(t, "pottery/kiln:v1", kiln)
	add := func(repo, tag, digest string) {
		if tag != "" {
			p.want = append(p.want, repo+":"+tag)
		}
		p.want = append(p.want, repo+"@"+digest)
	}
	add("pottery/kiln", "", digest)
	add("pottery/kiln", signTag(digest, ".sig"), p.push(t, "pottery/kiln:"+signTag(digest, ".sig"), newImage(t)))
	ofChild, err := child.Digest()
	if err != nil {
		t.Fatal(err)
	}
	add("pottery/kiln", signTag(ofChild.String(), ".sig"), p.push(t, "pottery/kiln:"+signTag(ofChild.String(), ".sig"), newImage(t)))
	for suffix, both := range map[string]v1.Image{".att": newImage(t), ".sbom": referTo(t, child)} { // each has two tags
		for _, of := range []string{digest, ofChild.String()} {
			add("pottery/kiln", signTag(of, suffix), p.push(t, "pottery/kiln:"+signTag(of, suffix), both))
		}
	}
	for _, subject := range []partial.Describable{kiln, kiln, child} {
		r := referTo(t, subject)
		d, err := r.Digest()
		if err != nil {
			t.Fatal(err)
		}
		add("pottery/kiln", "", p.push(t, "pottery/kiln@"+d.String(), r))
		rr := referTo(t, r)
		d, _ = rr.Digest()
		add("pottery/kiln", "", p.push(t, "pottery/kiln@"+d.String(), rr))
	}
	p.refs = []string{p.host + "/pottery/kiln@" + digest}
	for _, repo := range []string{"pottery/wheel", "looms/loom"} {
		digest := p.push(t, repo+":v1", newImage(t, shared))
		p.refs = append(p.refs, p.host+"/"+repo+"@"+digest)
		add(repo, "", digest)
	}
	tagged := p.push(t, "looms/shuttle:v1", newImage(t, shared))
	p.refs = append(p.refs, p.host+"/looms/shuttle:v1")
	add("looms/shuttle", "v1", tagged)
	p.reset()
	return p
}

// images returns the images to mirror, each used by a bundle.
func (p *pottery) images(t *testing.T, n Names) (images []*Image) {
	t.Helper()
	for i, ref := range p.refs {
		img, err := n.New(ref, Use{"kiln", fmt.Sprintf("kiln.v%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	return images
}

// checkMirror checks that a registry has all images, and finds the referrers of each.
func (p *pottery) checkMirror(t *testing.T, to *fakeRegistry, base string) {
	t.Helper()
	for _, ref := range p.want {
		want := p.digest(t, ref)
		if got := to.digest(t, base+ref); got != want || want == "" {
			t.Errorf("%s: got %q, want %q", ref, got, want)
		}
		repo, digest, ok := strings.Cut(ref, "@")
		if !ok {
			continue
		}
		if got, want := to.referrers(t, base+repo, digest), p.referrers(t, repo, digest); got != want {
			t.Errorf("referrers of %s: got %s, want %s", ref, got, want)
		}
		checkPull(t, to, base+ref)
	}
}

// referrers lists the digests of the referrers of a digest.
func (f *fakeRegistry) referrers(t *testing.T, repo, digest string) string {
	t.Helper()
	index, err := remote.Referrers(f.ref(t, repo+"@"+digest).(name.Digest), f.options()...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range list.Manifests {
		found[m.Digest.String()] = true
	}
	return fmt.Sprint(found)
}

// contents returns a repository, and the contents of one of its images or indexes.
func (f *fakeRegistry) contents(t *testing.T, repo, id string) (*image.Repository, image.Contents) {
	t.Helper()
	r, err := f.opener(t).Target(f.host + "/" + repo)
	if err != nil {
		t.Fatal(err)
	}
	raw, desc, err := r.Manifest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := image.ParseContents(raw, desc.MediaType)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// checkPull reads every blob of an image.
func checkPull(t *testing.T, f *fakeRegistry, ref string) {
	t.Helper()
	repo, id, _ := strings.Cut(ref, "@")
	r, c := f.contents(t, repo, id)
	for _, m := range c.Manifests {
		checkPull(t, f, repo+"@"+m.Digest.String())
	}
	for _, b := range c.Blobs {
		body, err := r.Blob(t.Context(), b)
		if err == nil {
			_, err = io.Copy(io.Discard, body)
		}
		if err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// plan plans and runs the mirror of images, and fails unless all are copied.
func mustRun(ctx context.Context, t *testing.T, images []*Image, to Target, o Options) (*Plan, *Record) {
	t.Helper()
	p, err := NewPlan(ctx, images, to, o)
	if err != nil {
		t.Fatal(err)
	}
	record, err := p.Run(ctx, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Report().Failures() {
		t.Errorf("%s: %s", f.Source, f.Reason)
	}
	return p, record
}
