package mirror

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/pkg/image"
)

// TestMirror checks that a mirror is complete, that the source sends each blob once, and that a second run neither
// reads nor writes blobs and manifests. It combines sources and targets with and without the referrers API. Some
// targets do not mount blobs.
func TestMirror(t *testing.T) {
	for _, api := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		from, to := newPottery(t, api[0]), newRegistry(t, api[1])
		to.noMount = api[0] == api[1]
		opener := from.opener(t)
		target, err := ToRegistry(opener, to.host+"/mirror")
		if err != nil {
			t.Fatal(err)
		}
		_, record := mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener})
		for digest, n := range from.sent {
			if n > 1 {
				t.Errorf("%v: blob %s was sent %d times", api, digest, n)
			}
		}
		if (to.mounts == 0) != to.noMount {
			t.Errorf("%v: %d blobs were mounted", api, to.mounts)
		}
		from.checkMirror(t, to, "mirror/")
		from.reset()
		to.reset()
		p, _ := mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener, Last: record})
		if from.bytes > 0 || to.wrote() > 0 {
			t.Errorf("%v: second run: %d bytes were read, and %d manifests written: %v", api, from.bytes, to.wrote(), to.requests())
		}
		if r := p.Report(); r.Total.Missing > 0 || len(r.Obsolete) > 0 {
			t.Errorf("%v: second run: %+v", api, r)
		}
	}
}

// TestDirectory checks mirroring through a directory: with all images, and with only the images that are new since a
// record.
func TestDirectory(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, false)
	opener, first, second := from.opener(t), filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	all := from.images(t, Names{})
	writeDirectory(t, from, all[:2], first, nil)
	since, err := ReadRecord(filepath.Join(first, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	from.reset()
	writeDirectory(t, from, from.images(t, Names{}), second, since)
	shared := sharedLayer(t, since, all[1])
	if from.sent[shared] > 0 {
		t.Error("the second directory has a layer of the first")
	}
	load := func(dir string) (*Plan, error) {
		d, record, err := FromDirectory(dir)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { d.Close() })
		target, err := ToRegistry(opener, to.host)
		if err != nil {
			return nil, err
		}
		p, err := NewPlan(t.Context(), record.Images, target, Options{})
		if err == nil {
			_, err = p.Run(t.Context(), RunOptions{})
		}
		return p, err
	}
	p, err := load(second)
	if err != nil || !strings.Contains(fmt.Sprint(p.Report().Failures()), "mirror the directory of that run first") {
		t.Errorf("without the first directory: %v, %v", p.Report().Failures(), err)
	}
	for _, dir := range []string{first, second} {
		if p, err := load(dir); err != nil || len(p.Report().Failures()) > 0 {
			t.Errorf("%v, %v", err, p.Report().Failures())
		}
	}
	from.checkMirror(t, to, "")

	// A directory that was damaged on the way.
	blob := filepath.Join(first, "blobs", "sha256", strings.TrimPrefix(shared, "sha256:"))
	text, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	for want, damage := range map[string]func() error{
		"was cut off or changed": func() error { return os.WriteFile(blob, text[:9], 0o600) },
		"1 blob is missing":      func() error { return os.Remove(blob) },
		"it has no opm-mirror":   func() error { return os.Remove(filepath.Join(first, RecordFile)) },
	} {
		record, err := os.ReadFile(filepath.Join(first, RecordFile))
		if err := errors.Join(err, damage()); err != nil {
			t.Fatal(err)
		}
		if _, err := load(first); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		err = errors.Join(os.WriteFile(blob, text, 0o600), os.WriteFile(filepath.Join(first, RecordFile), record, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	text[7] ^= 1
	if err := os.WriteFile(blob, text, 0o600); err != nil {
		t.Fatal(err)
	}
	to = newRegistry(t, true)
	if p, err := load(first); err != nil || !strings.Contains(fmt.Sprint(p.Report().Failures()), "digest") {
		t.Errorf("a changed byte: %v, %v", p.Report().Failures(), err)
	}
}

// TestSizes checks that an image fails if a blob does not have the size in the manifest, or if that is not a size, that
// other images with the blob do not, and that no sum of sizes is negative.
func TestSizes(t *testing.T) {
	from := newPottery(t, true)
	opener := from.opener(t)
	for _, tt := range []struct {
		size func(int64) int64
		want string
	}{
		{func(n int64) int64 { return n + 1 }, "descriptor says"},
		{func(n int64) int64 { return n - 1 }, " says"}, // the text depends on the image that is copied first
		{func(int64) int64 { return math.MinInt64 }, "is -9223372036854775808"},
		{func(int64) int64 { return math.MaxInt64 }, "the sum of its sizes is more"},
		{func(int64) int64 { return 1<<62 - 5000 }, "says 4611686018427382904"},
	} {
		for _, toDir := range []bool{true, false} {
			to := newRegistry(t, true)
			var wrong []*Image
			for _, ref := range from.refs[1:3] {
				repo, digest, _ := strings.Cut(strings.TrimPrefix(ref, from.host+"/"), "@")
				bad := from.putSized(t, repo, digest, tt.size)
				img, err := Names{}.New(from.host+"/"+repo+"@"+bad, Use{"kiln", "bad"})
				if err != nil {
					t.Fatal(err)
				}
				wrong = append(wrong, img)
			}
			var target Target
			var err error
			dir := filepath.Join(t.TempDir(), "dir")
			if toDir {
				target, err = ToDirectory(dir, nil)
			} else {
				target, err = ToRegistry(opener, to.host)
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(t.Context(), append(wrong, from.images(t, Names{})[1:]...), target, Options{Opener: opener})
			if err != nil {
				t.Fatal(err)
			}
			if r := p.Report(); r.Total.Bytes < 0 || r.Total.MissingBytes < 0 || r.Packages[0].Bytes < 0 {
				t.Errorf("%s: %+v", tt.want, r.Total)
			}
			record, err := p.Run(t.Context(), RunOptions{})
			failures := p.Report().Failures()
			if err != nil || len(failures) != len(wrong) {
				t.Fatalf("%s: %v, %+v", tt.want, err, failures)
			}
			for _, f := range failures {
				if !strings.Contains(f.Reason, tt.want) || f.Bundles[0] != "bad" || strings.Contains(f.Reason, "target:") {
					t.Errorf("got %+v, want %s", f, tt.want)
				}
			}
			check := func() {
				for _, ref := range from.refs[1:3] {
					checkPull(t, to, strings.TrimPrefix(ref, from.host+"/"))
				}
			}
			if !toDir {
				check()
				continue
			}
			if err := target.(*Directory).Finish(record); err != nil {
				t.Fatal(err)
			}
			d, record, err := FromDirectory(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			target, err = ToRegistry(opener, to.host)
			if err == nil {
				p, err = NewPlan(t.Context(), record.Images, target, Options{})
			}
			if err == nil {
				_, err = p.Run(t.Context(), RunOptions{})
			}
			if failures := p.Report().Failures(); err != nil || len(failures) != len(wrong) {
				t.Errorf("%s: from the directory: %v, %+v", tt.want, err, failures)
			}
			check()
		}
	}
}

// putSized puts a copy of an image whose manifest has other sizes of the layers, and returns its digest.
func (f *fakeRegistry) putSized(t *testing.T, repo, digest string, size func(int64) int64) string {
	t.Helper()
	r, _ := f.contents(t, repo, digest)
	raw, desc, err := r.Manifest(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Layers {
		m.Layers[i].Size = size(m.Layers[i].Size)
	}
	if raw, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	sum, _, err := v1.SHA256(bytes.NewReader(raw))
	if err == nil {
		err = r.Put(t.Context(), sum.String(), raw, desc.MediaType)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sum.String()
}

// TestBrokenImages checks that a damaged directory is mirrored without the images that are broken, each with its error,
// and that the sums of sizes in a record are not negative.
func TestBrokenImages(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	dir := filepath.Join(t.TempDir(), "dir")
	images := from.images(t, Names{})
	writeDirectory(t, from, images, dir, nil)
	record, err := ReadRecord(filepath.Join(dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	file := func(digest v1.Hash) string { return filepath.Join(dir, filepath.FromSlash(blobPath(digest))) }
	broken := map[string]string{}
	for i, img := range record.Images { // an image each without its config, with a config of another size, and with another size
		own := &img.Manifests[0].Blobs[0]
		switch i {
		case 0:
			err = os.Remove(file(own.Digest))
			broken[img.Source] = "1 blob is missing: " + own.Digest.String()
		case 1:
			err = os.Truncate(file(own.Digest), 1)
			broken[img.Source] = blobPath(own.Digest) + " has 1 byte instead of "
		case 2:
			own.Size = math.MinInt64
			broken[img.Source] = "bytes instead of -"
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := record.WriteFile(filepath.Join(dir, RecordFile)); err != nil {
		t.Fatal(err)
	}
	d, record, err := FromDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	target, err := ToRegistry(from.opener(t), to.host)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(t.Context(), record.Images, target, Options{})
	if err == nil {
		_, err = p.Run(t.Context(), RunOptions{})
	}
	r := p.Report()
	if err != nil || len(r.Failures()) != len(broken) || r.Total.Bytes < 0 {
		t.Errorf("%v, %+v", err, r)
	}
	for _, f := range r.Failures() {
		if broken[f.Source] == "" || !strings.Contains(f.Reason, broken[f.Source]) {
			t.Errorf("got %+v, want %q", f, broken[f.Source])
		}
	}
	for _, img := range r.Images {
		if img.State == Copied {
			checkPull(t, to, strings.Replace(img.Target, ":v1", "@"+img.Digest, 1))
		}
	}
}

// writeDirectory mirrors images to a directory.
func writeDirectory(t *testing.T, from *pottery, images []*Image, dir string, since *Record) {
	t.Helper()
	d, err := ToDirectory(dir, since)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, record := mustRun(t.Context(), t, images, d, Options{Opener: from.opener(t)})
	if err := d.Finish(record); err != nil {
		t.Fatal(err)
	}
}

// sharedLayer returns the digest of the largest blob of an image.
func sharedLayer(t *testing.T, r *Record, img *Image) (digest string) {
	t.Helper()
	var size int64
	for _, b := range img.content() {
		if b.Size > size {
			digest, size = b.Digest.String(), b.Size
		}
	}
	if h, err := v1.NewHash(digest); err != nil || !r.has(h) {
		t.Fatalf("the record does not have %s, %v", digest, err)
	}
	return digest
}

// TestFailures checks that each failure is reported with its cause, and that the other images are copied.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request) bool // of the target
		source func(w http.ResponseWriter, r *http.Request) bool
		want   string
		failed int
		opts   Options
	}{
		{name: "vanished", failed: 1, want: "404", source: func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, strings.HasPrefix(r.URL.Path, "/v2/looms/loom/manifests/sha256:"), http.StatusNotFound)
		}},
		{name: "a blob is missing", failed: 1, want: "not all its blobs", source: func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, strings.HasPrefix(r.URL.Path, "/v2/looms/loom/blobs/sha256:"), http.StatusNotFound)
		}},
		{name: "full", failed: 4, want: "507", answer: func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, r.Method == http.MethodPatch, http.StatusInsufficientStorage)
		}},
		{name: "read-only", failed: 4, want: "read-only", answer: func(w http.ResponseWriter, r *http.Request) bool {
			return refuse(w, r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/"), http.StatusMethodNotAllowed)
		}},
		{name: "a deep path", failed: 1, want: `"looms/loom", join components with --max-components`,
			answer: func(w http.ResponseWriter, r *http.Request) bool {
				bad := r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v2/looms/loom/")
				if bad {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(w, `{"errors":[{"code":"NAME_INVALID","message":"invalid repository name"}]}`)
				}
				return bad
			}},
		{name: "schema 1", failed: 1, want: "schema 1", source: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, "/v2/looms/shuttle/manifests/v1") {
				return false
			}
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")
			fmt.Fprint(w, `{"schemaVersion":1,"fsLayers":[]}`)
			return true
		}},
		{name: "platform", failed: 1, want: "no image for linux/s390x, only for linux/amd64, linux/arm64",
			opts: Options{Platforms: []string{"linux/s390x"}}},
		{name: "sparse", failed: 1, want: "leave out --platform", opts: Options{Platforms: []string{"linux/arm64"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := newPottery(t, true), newRegistry(t, true)
			from.setAnswer(tt.source)
			to.setAnswer(tt.answer)
			tt.opts.Opener = from.opener(t)
			target, err := ToRegistry(tt.opts.Opener, to.host)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(t.Context(), from.images(t, Names{}), target, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			record, err := p.Run(t.Context(), RunOptions{})
			if err != nil {
				t.Fatal(err)
			}
			failures := p.Report().Failures()
			if len(failures) != tt.failed || len(record.Failed()) != tt.failed || !strings.Contains(failures[0].Reason, tt.want) {
				t.Errorf("got %+v", failures)
			}
			if tt.failed == 4 {
				return
			}
			from.setAnswer(nil)
			to.setAnswer(nil)
			tt.opts.Platforms, tt.opts.Last, tt.opts.RetryFailed = nil, record, true
			from.reset()
			mustRun(t.Context(), t, from.images(t, Names{}), target, tt.opts)
			for _, r := range from.requests() {
				if strings.Contains(r, "/pottery/wheel/") {
					t.Errorf("an image that did not fail was asked for: %s", r)
				}
			}
			from.checkMirror(t, to, "")
		})
	}
}

func refuse(w http.ResponseWriter, bad bool, status int) bool {
	if bad {
		http.Error(w, "", status)
	}
	return bad
}

// TestFull checks that a target that becomes full or read-only during a run is given up after some failures, that the
// images copied before are recorded, and that the next run transfers only the remaining ones.
func TestFull(t *testing.T) {
	for want, refused := range map[string]func(r *http.Request) int{
		"507": func(r *http.Request) int {
			return map[string]int{http.MethodPatch: http.StatusInsufficientStorage}[r.Method]
		},
		"read-only": func(r *http.Request) int {
			return map[string]int{http.MethodPost: http.StatusMethodNotAllowed, http.MethodPut: http.StatusMethodNotAllowed}[r.Method]
		},
	} {
		from, to := newRegistry(t, true), newRegistry(t, true)
		var refs []string
		for i := range 50 {
			refs = append(refs, fmt.Sprintf("%s/pots/pot@%s", from.host, from.push(t, fmt.Sprintf("pots/pot:v%d", i), newImage(t))))
		}
		images := func() (images []*Image) {
			for _, ref := range refs {
				img, err := Names{}.New(ref)
				if err != nil {
					t.Fatal(err)
				}
				images = append(images, img)
			}
			return images
		}
		from.reset()
		var done, failed atomic.Int64
		to.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
			status := refused(r)
			if status == 0 || !strings.HasPrefix(r.URL.Path, "/v2/pots/") || done.Add(1) <= 60 {
				return false
			}
			failed.Add(1)
			return refuse(w, true, status)
		})
		opener := from.opener(t)
		target, err := ToRegistry(opener, to.host)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(t.Context(), images(), target, Options{Opener: opener, Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		record, err := p.Run(t.Context(), RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		failures := p.Report().Failures()
		const gaveUp = "since the target failed 5 times in a row"
		if text := fmt.Sprint(failures); len(failures) == len(refs) || !strings.Contains(text, want) || !strings.Contains(text, gaveUp) {
			t.Errorf("%s: %d failures: %s", want, len(failures), text)
		}
		if n := failed.Load(); n > 3*maxTargetFailures {
			t.Errorf("%s: the target was asked %d times after it was full", want, n)
		}
		for _, img := range record.Images {
			if img.Failure == "" {
				checkPull(t, to, img.Target())
			}
		}
		to.setAnswer(nil)
		mustRun(t.Context(), t, images(), target, Options{Opener: opener, Last: record})
		var again int
		for _, n := range from.sent {
			again += n - 1
		}
		if again > 3*maxTargetFailures {
			t.Errorf("%s: %d blobs were sent again", want, again)
		}
	}
}

// TestTarget checks that a target that cannot be written is found before anything is copied.
func TestTarget(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	opener := image.NewOpener(image.Options{
		Keychain: perHost{from.host: login}, Transport: from.server.Client().Transport,
	})
	defer opener.Close()
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPlan(t.Context(), from.images(t, Names{}), target, Options{Opener: opener})
	if err == nil || !strings.Contains(err.Error(), "there are no credentials for it: log in") || len(from.requests()) > 0 {
		t.Errorf("got %v, and %v", err, from.requests())
	}
}

// A perHost has the credentials of each host.
type perHost map[string]authn.Keychain

func (p perHost) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if k := p[r.RegistryStr()]; k != nil {
		return k.Resolve(r)
	}
	return authn.Anonymous, nil
}

// TestTooMany checks that a run waits if a source or a target asks for a pause.
func TestTooMany(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	var refused, early atomic.Int64
	var paused sync.Map // the time of the first refusal by method and path
	busy := func(method string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != method || !strings.Contains(r.URL.Path, "/blobs/") {
				return false
			}
			start, again := paused.LoadOrStore(r.Method+r.URL.Path, time.Now())
			if again {
				if time.Since(start.(time.Time)) < time.Second {
					early.Add(1)
				}
				return false
			}
			refused.Add(1)
			w.Header().Set("Retry-After", "1")
			return refuse(w, true, http.StatusTooManyRequests)
		}
	}
	from.setAnswer(busy(http.MethodGet))
	to.setAnswer(busy(http.MethodPatch))
	transport, err := image.NewTransport(image.TransportOptions{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	opener := image.NewOpener(image.Options{Keychain: login, Transport: transport})
	defer opener.Close()
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener})
	from.setAnswer(nil)
	to.setAnswer(nil)
	from.checkMirror(t, to, "")
	if refused.Load() < 10 || early.Load() > 0 {
		t.Errorf("%d requests were refused, and %d came again within a second", refused.Load(), early.Load())
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		names     Names
		ref, want string
	}{
		{Names{}, "quay.io/org/app:v1", "org/app:v1"},
		{Names{}, "docker.io/redis", "library/redis:latest"},
		{Names{KeepHosts: true}, "quay.io:443/org/app:v1", "quay.io-443/org/app:v1"},
		{Names{MaxComponents: 2}, "quay.io/a/b/c/d:v1", "a/b-c-d:v1"},
		{Names{MaxComponents: 1}, "quay.io/a/b:v1", "a-b:v1"},
		{Names{MaxComponents: 3, Above: 1}, "quay.io/a/b/c/d:v1", "a/b-c-d:v1"},
		{Names{MaxComponents: 2, Above: 1, KeepHosts: true}, "quay.io/a/b:v1", "quay.io-a-b:v1"},
		{Names{}, "redis:7", "library/redis:7"},
		{Names{}, "docker://quay.io/org/app", "org/app:latest"},
	} {
		img, err := tt.names.New(tt.ref)
		if err != nil || img.Target() != tt.want {
			t.Errorf("%+v: %s: got %v, %v, want %s", tt.names, tt.ref, img, err, tt.want)
		}
	}
	for _, tt := range [][4]string{
		{"quay.io/crafts/catalog:v4", "", "crafts/catalog", "v4"}, {"./Catalog_1", "", "catalog-1", "latest"},
		{"quay.io/crafts/catalog@sha256:" + strings.Repeat("0123456789abcdef", 4), "", "crafts/catalog", "0123456789ab"},
		{"quay.io/crafts/catalog@sha256:" + strings.Repeat("0123456789abcdef", 4), "a/b:v1", "a/b", "v1"},
		{"catalog", "a/b:c", "a/b", "c"}, {"quay.io/crafts/catalog:v4", ":c", "crafts/catalog", "c"}, {"/", "", "catalog", "latest"},
	} {
		if repo, tag, err := (Names{}).Catalog(tt[0], tt[1]); repo != tt[2] || tag != tt[3] || err != nil {
			t.Errorf("%v: got %s:%s, %v", tt, repo, tag, err)
		}
	}
	for _, name := range []string{"A/b", "a:b:c"} {
		if _, _, err := (Names{}).Catalog("catalog", name); err == nil ||
			!strings.Contains(err.Error(), "want PATH, PATH:TAG or :TAG") {
			t.Errorf("catalog named %s: got %v", name, err)
		}
	}
	a, _ := Names{}.New("quay.io/org/app:v1")
	b, _ := Names{}.New("ghcr.io/org/app:v1")
	_, err := NewPlan(t.Context(), []*Image{a, b}, &Directory{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "quay.io/org/app:v1 and ghcr.io/org/app:v1 would both be org/app:v1") &&
		!strings.Contains(err.Error(), "ghcr.io/org/app:v1 and quay.io/org/app:v1 would both be org/app:v1") {
		t.Errorf("got %v", err)
	}
}

// TestTwoThings checks that nothing is mirrored if a tag would refer to an image and to a signature or the index of the
// referrers of another image, or to the signatures of two images, unless both are the same.
func TestTwoThings(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, false)
	repo, index, _ := strings.Cut(from.refs[0], "@")
	child, sig := children(t, from.fakeRegistry, index)[0], signTag(index, ".sig")
	from.push(t, "pottery-kiln:"+sig, newImage(t))
	from.push(t, "pottery-kiln:"+signTag(child, ""), newImage(t))
	copied, err := remote.Image(from.ref(t, "pottery/kiln@"+child), from.options()...)
	if err != nil {
		t.Fatal(err)
	}
	from.push(t, "potters/kiln:v1", copied)
	from.push(t, "potters/kiln:"+signTag(child, ".sig"), newImage(t))
	for _, tt := range []struct {
		refs []string
		name string // of the repository in the mirror
		want string
	}{
		{[]string{repo + "@" + index, from.host + "/pottery-kiln:" + sig}, "", "the signature of " + repo},
		{[]string{repo + "@" + index, from.host + "/pottery-kiln:" + signTag(child, "")}, "", "the referrers of " + repo},
		{[]string{repo + "@" + child, from.host + "/potters/kiln@" + child}, "kiln", "the signature of " + repo},
		{[]string{repo + "@" + index, repo + ":" + sig}, "", ""},
		{[]string{repo + "@" + index, from.host + "/pottery-kiln:none"}, "", ""},
	} {
		var images []*Image
		for _, ref := range tt.refs {
			img, err := Names{MaxComponents: 1}.New(ref)
			if err != nil {
				t.Fatal(err)
			}
			img.Repository = cmp.Or(tt.name, img.Repository)
			images = append(images, img)
		}
		target, err := ToRegistry(from.opener(t), to.host)
		if err != nil {
			t.Fatal(err)
		}
		to.reset()
		_, err = NewPlan(t.Context(), images, target, Options{Opener: from.opener(t)})
		if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) || to.wrote() > 0 {
			t.Errorf("%v: got %v, want %q", tt.refs, err, tt.want)
		}
	}
}

// TestPlatforms checks that an image has only its own platforms, instead of those of the plan, and that an image of two
// sources has the platforms of both.
func TestPlatforms(t *testing.T) {
	from := newPottery(t, true)
	count := func(plan []string, platforms ...[]string) int {
		var images []*Image
		for _, p := range platforms {
			img, err := Names{}.New(from.refs[0])
			if err != nil {
				t.Fatal(err)
			}
			img.Platforms = p
			images = append(images, img)
		}
		opts := Options{Opener: from.opener(t), Platforms: plan}
		p, err := NewPlan(t.Context(), images, newDirectory(t), opts)
		if err != nil || len(p.Images) != 1 || p.Images[0].Failure != "" {
			t.Fatalf("%v, %v", p, err)
		}
		return len(p.Images[0].Manifests)
	}
	amd64, arm64 := []string{"linux/amd64"}, []string{"linux/arm64"}
	all := count(nil, nil)
	if one := count(nil, amd64); one >= all || count(arm64, amd64) != one || count(amd64, nil) != one {
		t.Errorf("%d manifests for one platform, %d for all", one, all)
	}
	if count(nil, amd64, arm64) != all || count(nil, nil, amd64) != all || count(arm64, amd64, nil) != all {
		t.Errorf("not %d manifests for both platforms", all)
	}
}

// TestCopy checks that a copied catalog has the digest of its source, and its signatures.
func TestCopy(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, false)
	_, digest, _ := strings.Cut(from.refs[0], "@")
	img := &Image{Source: from.refs[0], Repository: "crafts/catalog", Tag: "v1"}
	if err := img.Copy(digest, false); err != nil {
		t.Fatal(err)
	}
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	p, record := mustRun(t.Context(), t, []*Image{img}, target, Options{Opener: opener})
	if r := p.Report().Images[0]; r.Attached == 0 || r.Digest != digest || !record.Images[0].Catalog {
		t.Errorf("%+v", r)
	}
	checkPull(t, to, "crafts/catalog@v1")
	checkPull(t, to, "crafts/catalog@"+signTag(digest, ".sig"))
}

func newDirectory(t *testing.T) *Directory {
	t.Helper()
	d, err := ToDirectory(filepath.Join(t.TempDir(), "dir"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSources checks that an image is planned once for each source, and that the objects for a cluster have all
// sources.
func TestSources(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	digest := "@" + from.push(t, "other/app:v1", newImage(t))
	from.push(t, "app:v1", newImage(t))
	for _, tt := range []struct {
		names Names
		refs  []string
		want  []string
	}{
		{Names{}, []string{"/app:v1" + digest, "/app" + digest}, nil},
		{Names{MaxComponents: 1}, []string{"/other/app" + digest, "/other-app" + digest, "/other/app" + digest},
			[]string{"/other-app", "/other/app"}},
	} {
		var images []*Image
		for _, ref := range tt.refs {
			img, err := tt.names.New(from.host + ref)
			if err != nil {
				t.Fatal(err)
			}
			images = append(images, img)
		}
		target, err := ToRegistry(from.opener(t), to.host)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(t.Context(), images, target, Options{Opener: from.opener(t)})
		if err != nil {
			t.Fatal(err)
		}
		record, err := p.Run(t.Context(), RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := max(len(tt.want), 1); len(record.Images) != n {
			t.Errorf("%v: got %d images, want %d", tt.refs, len(record.Images), n)
		}
		digests, _, err := record.sources()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if digests[from.host+want] == nil && record.Failed() == nil {
				t.Errorf("%v: %s has no mirror", tt.refs, want)
			}
		}
	}
}

// Failed returns the images of the record that were not copied.
func (r *Record) Failed() (failed []*Image) {
	for _, img := range r.Images {
		if img.Failure != "" {
			failed = append(failed, img)
		}
	}
	return failed
}
