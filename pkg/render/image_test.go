package render_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: oak.v1.0.0}
spec: {version: 1.0.0, displayName: Oak}
`

var (
	bundleLabels  = map[string]string{image.LabelPackage: "oak"}
	catalogLabels = map[string]string{image.LabelConfigs: "/configs"}

	bundleFiles = map[string][]byte{
		"manifests/csv.yaml": []byte(csv),
		"metadata/annotations.yaml": []byte("annotations:\n  " + image.LabelPackage + ": oak\n" +
			"  " + bundle.AnnotationChannels + ": stable\n"),
	}
	catalogFiles = map[string][]byte{"configs/a/catalog.yaml": []byte(channel), "configs/b.json": []byte(pkg)}
)

// imageOf returns an image with the labels and one layer.
func imageOf(t testing.TB, labels map[string]string, files map[string][]byte) v1.Image {
	t.Helper()
	img, err := crane.Image(files)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.Config.Labels, config.OS, config.Architecture = labels, "linux", "amd64"
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// A testRegistry is a registry that counts requests.
type testRegistry struct {
	host      string
	transport http.RoundTripper
	requests  atomic.Int64
	gone      atomic.Bool // all images are removed

	mu            sync.Mutex
	first         int           // requests of blobs that are answered at once, so that a client knows the protocol
	least         int           // requests that arrive before one of the next blobs is sent
	enough        chan struct{} // closed when they have arrived; nil if all requests are answered at once
	waiting, most int           // requests at a time, now and at most
}

// expect lets requests of blobs wait until a number of requests has arrived.
func (r *testRegistry) expect(least int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.least, r.most, r.enough = 40, least, 0, make(chan struct{})
}

// newRegistry returns a registry that speaks HTTP/1.1.
func newRegistry(t testing.TB) *testRegistry {
	t.Helper()
	return startRegistry(t, (*httptest.Server).Start)
}

// startRegistry returns a registry whose server is started by start.
func startRegistry(t testing.TB, start func(*httptest.Server)) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	handler := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer r.wait(req)()
		r.requests.Add(1)
		if r.gone.Load() && req.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	start(server)
	t.Cleanup(server.Close)
	r.host, r.transport = server.Listener.Addr().String(), server.Client().Transport
	return r
}

// wait counts a request until the returned function is called, and waits for the others that are expected.
func (r *testRegistry) wait(req *http.Request) (end func()) {
	r.mu.Lock()
	r.waiting++
	r.most = max(r.most, r.waiting)
	if r.enough != nil && r.waiting == r.least {
		close(r.enough)
		r.least = 0
	}
	enough := r.enough
	if !strings.Contains(req.URL.Path, "/blobs/") {
		enough = nil
	} else if r.first > 0 {
		r.first, enough = r.first-1, nil
	}
	r.mu.Unlock()
	if enough != nil {
		select {
		case <-enough:
		case <-req.Context().Done(): // the client has given up, and the test fails
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waiting--
	}
}

// push pushes an image and returns its reference by tag.
func (r *testRegistry) push(t testing.TB, repository string, img v1.Image) string {
	t.Helper()
	ref, err := name.NewTag(r.host + "/" + repository + ":v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img, remote.WithTransport(r.transport)); err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

// withImages returns options that open images, with their blobs kept in cache, and bundles.
func withImages(t testing.TB, cache string) render.Options {
	t.Helper()
	kept := image.OpenCache(cache, image.CacheOptions{})
	opener := image.NewOpener(image.Options{Insecure: true, Cache: kept, Platform: "linux/amd64"})
	t.Cleanup(func() {
		if err := errors.Join(opener.Close(), kept.Close()); err != nil {
			t.Error(err)
		}
	})
	return render.Options{
		Bundles: &bundle.Options{},
		Images:  func() (*image.Opener, error) { return opener, nil },
	}
}

// saved writes the image into an OCI layout and into an archive, and returns the references to them.
func saved(t testing.TB, img v1.Image) (inLayout, inArchive string) {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	if err == nil {
		err = path.AppendImage(img)
	}
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("example.com/saved:v1")
	if err == nil {
		err = tarball.WriteToFile(filepath.Join(dir, "image.tar"), tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "oci:" + filepath.Join(dir, "layout"), filepath.Join(dir, "image.tar")
}

// TestBundlesFromAnywhere checks that a bundle renders to the same object from every kind of reference, except for its
// image.
func TestBundlesFromAnywhere(t *testing.T) {
	img := imageOf(t, bundleLabels, bundleFiles)
	ref := newRegistry(t).push(t, "oak", img)
	inLayout, inArchive := saved(t, img)
	dir := t.TempDir()
	for name, content := range bundleFiles {
		write(t, dir, name, string(content))
	}
	opts := withImages(t, "")
	opts.Bundles.ImageRef = template.Must(template.New("").Parse(ref))
	want, err := rendered(t.Context(), []string{ref}, opts, "", "")
	if err != nil || !strings.Contains(want, `"image": "`+ref+`"`) {
		t.Fatalf("%v\n%s", err, want)
	}
	packed := write(t, t.TempDir(), "bundle.tgz", archived(t, true,
		"manifests/csv.yaml", csv, "metadata/annotations.yaml", string(bundleFiles["metadata/annotations.yaml"])))
	for _, ref := range []string{dir, inLayout, inLayout + ":latest", inArchive, packed} {
		got, err := rendered(t.Context(), []string{ref}, opts, "", "")
		if strings.HasSuffix(ref, ":latest") {
			if !errors.Is(err, image.ErrNotFound) {
				t.Errorf("%s: error %v", ref, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", ref, err, got, want)
		}
	}
}

func TestCatalogImages(t *testing.T) {
	img := imageOf(t, catalogLabels, catalogFiles)
	ref := newRegistry(t).push(t, "catalog", img)
	inLayout, inArchive := saved(t, img)
	for _, ref := range []string{ref, inLayout, inArchive} {
		got, err := rendered(t.Context(), []string{ref}, withImages(t, ""), "", "")
		if err != nil || got != both {
			t.Errorf("%s: %v\n%s\nwant\n%s", ref, err, got, both)
		}
	}
}

// TestPlacesInImages checks that positions begin with the reference, and that problems that only concern directories
// are not reported.
func TestPlacesInImages(t *testing.T) {
	r := newRegistry(t)
	catalog := r.push(t, "catalog", imageOf(t, catalogLabels, map[string][]byte{"configs/x.yaml": []byte("a: 1\n")}))
	broken := r.push(t, "bundle", imageOf(t, bundleLabels, map[string][]byte{
		"manifests/csv.yaml": []byte("kind: [\n"), "metadata/annotations.yaml": bundleFiles["metadata/annotations.yaml"],
	}))
	nothing := r.push(t, "nothing", imageOf(t, nil, map[string][]byte{"x": nil}))
	for ref, want := range map[string]string{
		catalog:                     catalog + "/x.yaml:1:1: object is missing root schema field",
		broken:                      broken + "/manifests: no ClusterServiceVersion among the manifests",
		nothing:                     "image " + nothing + ": image type could not be determined: neither a file-based catalog nor a bundle: it has no labels",
		r.host + "/none:v1":         "failed to pull image " + r.host + "/none:v1: ",
		"none":                      `open "none": no such file or directory`,
		"quay.io/none":              `open "quay.io/none": no such file or directory; an image needs a tag or a digest`,
		"none:v1":                   "failed to pull image none:v1: no such file, and not a full image reference",
		"oci:" + t.TempDir() + "/x": "open image oci:",
	} {
		_, err := rendered(t.Context(), []string{ref}, withImages(t, ""), "", "")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", ref, err, want)
		}
	}
}

// TestRefusedKinds checks the error about a reference that is not a catalog if only catalogs are accepted.
func TestRefusedKinds(t *testing.T) {
	img := imageOf(t, bundleLabels, bundleFiles)
	ref := newRegistry(t).push(t, "oak", img)
	_, inArchive := saved(t, img)
	dir := t.TempDir()
	for name, content := range bundleFiles {
		write(t, dir, name, string(content))
	}
	catalogs := withImages(t, "")
	catalogs.Bundles = nil
	for _, tt := range []struct {
		ref  string
		opts render.Options
		want string
	}{
		{dir, catalogs, ": not a catalog: it is a bundle directory"},
		{ref, catalogs, ": not a catalog: it is a bundle image"},
		{inArchive, catalogs, ": not a catalog: it is a bundle image"},
		{inArchive, render.Options{}, ": not a catalog: it is an image archive"},
		{ref, render.Options{}, ": no such file or directory, and images are not accepted here"},
	} {
		_, err := rendered(t.Context(), []string{tt.ref}, tt.opts, "", "")
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.ref, err, tt.want)
		}
	}
}

// TestAnyDirectory checks that validation reads every directory as a catalog, as upstream does.
func TestAnyDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "manifests/b.json", pkg)
	write(t, dir, "metadata/a.yaml", channel)
	got, err := rendered(t.Context(), []string{dir}, render.Options{AnyDirectory: true}, "", "")
	if err != nil || got != both {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestJobs checks that the result and the order of warnings do not depend on the number of jobs, and that no more
// requests are made than needed: a ping for the registry, then the manifest, the config and the layer of each image.
func TestJobs(t *testing.T) {
	r := newRegistry(t)
	var refs []string
	for n := range strings.SplitSeq("abcdefghij", "") {
		files := map[string][]byte{}
		for name, content := range bundleFiles {
			files[name] = []byte(strings.ReplaceAll(string(content), "oak", n+"oak"))
		}
		files["manifests/broken.yaml"] = []byte("no: kind\n")
		refs = append(refs, r.push(t, n, imageOf(t, bundleLabels, files)))
	}
	run := func(jobs int) (out string, warnings []string) {
		opts := withImages(t, "")
		opts.Jobs = jobs
		opts.Bundles.Warn = func(e *declcfg.Error) { warnings = append(warnings, e.Error()) }
		before := r.requests.Load()
		out, err := rendered(t.Context(), refs, opts, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if n, want := r.requests.Load()-before, int64(1+3*len(refs)); n != want {
			t.Errorf("%d jobs: %d requests, want %d", jobs, n, want)
		}
		return out, warnings
	}
	want, warned := run(1)
	if len(warned) != len(refs) {
		t.Fatalf("%d warnings, want %d", len(warned), len(refs))
	}
	for _, jobs := range []int{0, 3, 16} {
		got, warnings := run(jobs)
		if got != want || strings.Join(warnings, "\n") != strings.Join(warned, "\n") {
			t.Errorf("%d jobs give something else", jobs)
		}
	}
}

// TestMultiplexing checks that over HTTP/2 more requests are made at a time than over HTTP/1.1, unless a number of jobs
// is given.
func TestMultiplexing(t *testing.T) {
	overHTTP2 := func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	}
	for _, test := range []struct {
		name     string
		start    func(*httptest.Server)
		jobs     int
		min, max int
	}{
		{"HTTP/1.1", (*httptest.Server).Start, 0, 10, 20},
		{"HTTP/1.1 with TLS", (*httptest.Server).StartTLS, 0, 10, 20},
		{"HTTP/2", overHTTP2, 0, 33, 64},
		{"HTTP/2, 30 jobs", overHTTP2, 30, 21, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := startRegistry(t, test.start)
			var refs []string
			for i := range 70 {
				files := maps.Clone(bundleFiles)
				files["manifests/number.yaml"] = fmt.Appendf(nil, "kind: Number\nmetadata: {name: n%d}\n", i)
				refs = append(refs, r.push(t, fmt.Sprintf("oak%d", i), imageOf(t, bundleLabels, files)))
			}
			r.expect(test.min)
			opts := withImages(t, "")
			opts.Jobs = test.jobs
			c, err := render.Open(t.Context(), refs, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if r.most < test.min || r.most > test.max {
				t.Errorf("%d requests at a time, want %d to %d", r.most, test.min, test.max)
			}
		})
	}
}

// TestSkipped checks that broken references are skipped and reported, and all others are rendered.
func TestSkipped(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "broken/manifests/csv.yaml", "kind: [\n")
	write(t, ".", "broken/metadata/annotations.yaml", "")
	write(t, ".", "catalog/a.yaml", channel+"---\nschema: olm.bundle\n---\n"+pkg+"\n---\nschema: olm.channel\nentries: 1\n")
	var left []string
	opts := render.Options{Bundles: &bundle.Options{}, Skipped: func(_ string, err error) { left = append(left, err.Error()) }}
	got, err := rendered(t.Context(), []string{"none", "broken", "catalog"}, opts, "", "")
	if err != nil || got != both {
		t.Errorf("%v\n%s\nwant\n%s", err, got, both)
	}
	want := []string{
		`open "none": no such file or directory`,
		"broken/",
		"catalog/a.yaml:6:1: the olm.bundle object has no package",
		"catalog/a.yaml:11:10: entries: want a list, found a number",
	}
	for i := range max(len(want), len(left)) {
		if i >= len(want) || i >= len(left) || !strings.HasPrefix(left[i], want[i]) {
			t.Fatalf("left out:\n%s\nwant\n%s", strings.Join(left, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestLock checks that a lock records the digests of tags and of the rendered bundles.
func TestLock(t *testing.T) {
	r := newRegistry(t)
	ref := r.push(t, "oak", imageOf(t, bundleLabels, bundleFiles))
	catalog := r.push(t, "catalog", imageOf(t, catalogLabels, catalogFiles))
	file := filepath.Join(t.TempDir(), "lock.json")
	run := func(refs []string, cache string, changes render.Changes, reuse ...declcfg.Source) (string, error) {
		lock, err := render.ReadLock(file)
		if err != nil {
			return "", err
		}
		opts := withImages(t, cache)
		opts.Lock, opts.Changes, opts.Reuse = lock, changes, reuse
		c, err := render.Open(t.Context(), refs, opts)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if len(lock.References) == 0 {
			if err := c.Lock.WriteFile(file); err != nil {
				return "", err
			}
		} else if !reflect.DeepEqual(lock.References, c.Lock.References) {
			t.Errorf("the lock is %v, was %v", c.Lock.References, lock.References)
		}
		return printed(t.Context(), c)
	}
	both, one := []string{catalog, ref}, []string{ref}
	migrated := render.Changes{Migration: render.MigrateAll}
	cache := t.TempDir()
	want, err := run(both, cache, migrated)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("the tag moves", func(t *testing.T) {
		r.push(t, "oak", imageOf(t, bundleLabels, map[string][]byte{"manifests/x": nil}))
		if got, err := run(both, "", migrated); err != nil || got != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	})
	r.gone.Store(true)
	t.Run("the image vanishes", func(t *testing.T) {
		if _, err := run(both, "", migrated); !errors.Is(err, image.ErrNotFound) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("it is in the cache", func(t *testing.T) {
		if got, err := run(both, cache, migrated); err != nil || got != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	})
	want, err = run(one, cache, migrated)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []declcfg.Format{declcfg.JSON, declcfg.YAML} {
		t.Run("it is in a catalog as "+string(format), func(t *testing.T) {
			opts := render.Options{Stdin: strings.NewReader(want)}
			text, err := rendered(t.Context(), []string{"-"}, opts, "", format)
			if err != nil {
				t.Fatal(err)
			}
			dir := os.DirFS(filepath.Dir(write(t, t.TempDir(), "old", text)))
			got, err := run(one, "", migrated, declcfg.Source{Name: "old", FS: dir})
			if err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
	t.Run("no catalog is named", func(t *testing.T) {
		_, err := run(one, "", migrated)
		if !errors.Is(err, image.ErrNotFound) || !strings.Contains(err.Error(), "--reuse") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("it is in no catalog", func(t *testing.T) {
		_, err := run(one, "", migrated, declcfg.Source{Name: "empty", FS: os.DirFS(t.TempDir())})
		if !errors.Is(err, image.ErrNotFound) || !strings.Contains(err.Error(), "the catalogs to reuse contain no bundle") {
			t.Errorf("error %v", err)
		}
	})
}

// TestLockForTwoTargets checks that a lock does not depend on later changes to bundles, and finds changed bundles.
func TestLockForTwoTargets(t *testing.T) {
	r := newRegistry(t)
	ref := r.push(t, "oak", imageOf(t, bundleLabels, bundleFiles))
	lock := &render.Lock{}
	run := func(form render.Form, reuse ...string) (string, error) {
		opts := withImages(t, "")
		opts.Lock, opts.Changes.Form = lock, form
		for _, text := range reuse {
			opts.Reuse = []declcfg.Source{{Name: "old", FS: os.DirFS(filepath.Dir(write(t, t.TempDir(), "old", text)))}}
		}
		c, err := render.Open(t.Context(), []string{ref}, opts)
		if err != nil {
			return "", err
		}
		defer c.Close()
		lock = &c.Lock
		return printed(t.Context(), c)
	}
	objects, err := run(render.FormObject)
	if err != nil {
		t.Fatal(err)
	}
	content := lock.References[0].Content
	metadata, err := run(render.FormMetadata)
	if err != nil || metadata == objects {
		t.Fatalf("%v\n%s", err, metadata)
	}
	if now := lock.References[0]; now.Content != content || len(now.Rendered) != 2 {
		t.Errorf("the lock is %+v, was of %s", now, content)
	}

	locked := lock.References[0]
	locked.Content = "sha256:0"
	lock = &render.Lock{References: []render.Locked{locked}}
	if _, err := run(""); err == nil || !strings.Contains(err.Error(),
		": locked content changed: rendered "+content+", lock has sha256:0; ") {
		t.Errorf("other content: %v", err)
	}

	r.gone.Store(true)
	for _, rendered := range [][]string{locked.Rendered, slices.DeleteFunc(slices.Clone(locked.Rendered), func(d string) bool {
		return d == digestOf(t, metadata)
	})} {
		locked.Rendered = rendered
		lock = &render.Lock{References: []render.Locked{locked}}
		if got, err := run(render.FormMetadata, objects); err != nil || got != metadata {
			t.Errorf("of objects: %v\n%s\nwant\n%s", err, got, metadata)
		}
		if got, err := run(render.FormMetadata, metadata); err != nil || got != metadata {
			t.Errorf("of what was made of objects: %v\n%s\nwant\n%s", err, got, metadata)
		}
	}
	if _, err := run(render.FormObject, metadata); !errors.Is(err, bundle.ErrNoManifests) {
		t.Errorf("objects of metadata: %v", err)
	}
}

// digestOf returns the digest of a printed object in the form of locks.
func digestOf(t *testing.T, object string) string {
	t.Helper()
	text := jsontext.Value(object)
	if err := text.Compact(); err != nil {
		t.Fatal(err)
	}
	if err := text.Format(jsontext.ReorderRawObjects(true)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// TestReuseAfterRewrite checks that a reused bundle is not changed again, and that unavailable images stay locked.
func TestReuseAfterRewrite(t *testing.T) {
	r := newRegistry(t)
	ref := r.push(t, "oak", imageOf(t, bundleLabels, bundleFiles))
	opts := withImages(t, "")
	opts.Lock = &render.Lock{}
	opts.Changes.Rewrites = []render.Rewrite{{Old: r.host, New: r.host + "/mirror"}}
	c, err := render.Open(t.Context(), []string{ref}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want, err := printed(t.Context(), c)
	if err != nil || !strings.Contains(want, `"image": "`+r.host+`/mirror/oak:v1"`) {
		t.Fatalf("%v\n%s", err, want)
	}

	r.gone.Store(true)
	opts = withImages(t, "")
	opts.Lock, opts.Changes.Rewrites = &c.Lock, []render.Rewrite{{Old: r.host, New: r.host + "/mirror"}}
	opts.Reuse = []declcfg.Source{{Name: "old", FS: os.DirFS(filepath.Dir(write(t, t.TempDir(), "old", want)))}}
	again, err := render.Open(t.Context(), []string{ref}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := printed(t.Context(), again); err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}

	opts.Reuse = nil
	opts.Skipped = func(string, error) {}
	left, err := render.Open(t.Context(), []string{ref}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	if !reflect.DeepEqual(left.Lock, c.Lock) {
		t.Errorf("without the image, the lock is %v, want %v", left.Lock, c.Lock)
	}
}

func TestReadLockErrors(t *testing.T) {
	for content, want := range map[string]string{
		`{"references":[{"reference":"a","digest":"b"}]}`: ": references[0]: invalid digest",
		`{"refs":[]}`: `unknown object member name "refs"`,
		``:            "unexpected EOF",
	} {
		file := write(t, t.TempDir(), "lock", content)
		if _, err := render.ReadLock(file); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want %s", content, err, want)
		}
	}
}

func printed(ctx context.Context, c *render.Catalog) (string, error) {
	metas, err := c.Metas(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = declcfg.Write(ctx, &out, metas, declcfg.WriteOptions{Edit: c.Edit})
	return out.String(), err
}
