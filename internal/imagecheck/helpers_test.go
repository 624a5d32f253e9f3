package imagecheck_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A testRegistry counts its requests.
type testRegistry struct {
	host string

	mu     sync.Mutex
	asked  map[string]int // "HEAD /v2/org/image/manifests/v1"
	status map[string]int // the response status, by path prefix
}

func newRegistry(t testing.TB) *testRegistry {
	t.Helper()
	r := &testRegistry{asked: map[string]int{}, status: map[string]int{}}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if status := r.note(req); status != 0 {
			w.WriteHeader(status)
			return
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// note counts a request, and returns the configured status, or 0 to let the registry answer.
func (r *testRegistry) note(req *http.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[req.Method+" "+req.URL.Path]++
	for prefix, status := range r.status {
		if strings.HasPrefix(req.URL.Path, prefix) {
			return status
		}
	}
	return 0
}

// answer makes the registry answer all paths with this prefix with a status.
func (r *testRegistry) answer(prefix string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status[prefix] = status
}

// requests returns the number of manifest requests by path below /v2, and resets the counts.
func (r *testRegistry) requests() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	manifests := map[string]int{}
	for request, n := range r.asked {
		if path, ok := strings.CutPrefix(request, "HEAD /v2/"); ok {
			manifests[path] = n
		} else if request != "GET /v2/" {
			manifests[request] = n // unexpected
		}
	}
	clear(r.asked)
	return manifests
}

// push stores an image with this name and returns its digest.
func (r *testRegistry) push(t testing.TB, path string) string {
	t.Helper()
	img, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(r.host + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.requests()
	return digest.String()
}

// newOpener returns an opener without credentials and without retries for overloaded registries.
func newOpener(t testing.TB, mirrors *image.Mirrors) *image.Opener {
	t.Helper()
	opener := image.NewOpener(image.Options{
		Insecure:     true,
		Keychain:     authn.NewMultiKeychain(),
		Transport:    http.DefaultTransport,
		Mirrors:      mirrors,
		IgnorePolicy: true,
	})
	t.Cleanup(func() {
		if err := opener.Close(); err != nil {
			t.Error(err)
		}
	})
	return opener
}

// source returns a catalog named c with one file, catalog.yaml.
func source(text string) declcfg.Source {
	return declcfg.Source{Name: "c", FS: fstest.MapFS{"catalog.yaml": &fstest.MapFile{Data: []byte(text)}}}
}

// bundle returns a bundle in three lines, plus two for each related image, given as NAME=REFERENCE.
func bundle(pkg, name, image string, related ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\n{schema: olm.bundle, package: %s, name: %s, image: %q,\nrelatedImages: [\n", pkg, name, image)
	for _, r := range related {
		name, ref, _ := strings.Cut(r, "=")
		fmt.Fprintf(&b, "{name: %q,\nimage: %q},\n", name, ref)
	}
	return b.String() + "]}\n"
}

func mustRead(t testing.TB, sources ...declcfg.Source) *imagecheck.References {
	t.Helper()
	references, err := imagecheck.Read(t.Context(), sources...)
	if err != nil {
		t.Fatal(err)
	}
	return references
}

func mustCheck(t testing.TB, references *imagecheck.References, from imagecheck.Registries, jobs int) *imagecheck.Report {
	t.Helper()
	report, err := imagecheck.Check(t.Context(), references, from, imagecheck.Options{Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// of returns the problems with this rule.
func of(report *imagecheck.Report, rule string) (all []*problem.Problem) {
	for _, p := range report.Problems {
		if p.Rule == rule {
			all = append(all, p)
		}
	}
	return all
}

// reasonOf returns why an image is missing or cannot be checked.
func reasonOf(p *problem.Problem) string {
	message := strings.Replace(p.Message, " does not exist: ", " cannot be checked: ", 1)
	_, reason, _ := strings.Cut(message, " cannot be checked: ")
	return reason
}

// text returns the problems as text, with host replaced by HOST.
func text(t testing.TB, report *imagecheck.Report, host string) string {
	t.Helper()
	var b strings.Builder
	if err := problem.WriteText(&b, report.Problems, false); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), host, "HOST")
}
