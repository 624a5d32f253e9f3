package mirror

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/image"
)

// TestPruning checks that all manifests of obsolete images are deleted by digest, an index before its images, including
// the referrers in the tag schema, and that no manifest that another record needs is deleted.
func TestPruning(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, false)
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	mirror := func(last *Record, refs ...string) *Record {
		var images []*Image
		for _, ref := range refs {
			img, err := Names{}.New(ref)
			if err != nil {
				t.Fatal(err)
			}
			images = append(images, img)
		}
		_, record := mustRun(t.Context(), t, images, target, Options{Opener: opener, Last: last})
		return record
	}
	repo, index, _ := strings.Cut(from.refs[0], "@")
	child := repo + "@" + children(t, from.fakeRegistry, index)[0]
	one := mirror(mirror(nil, child, from.refs[0], from.refs[1], from.refs[2]), from.refs[1])
	two := mirror(nil, from.refs[2])
	p, err := NewPruning([]*Record{one, two})
	if err != nil {
		t.Fatal(err)
	}
	to.reset()
	to.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, strings.Split(child, "@")[1]) {
			return false
		}
		if to.digest(t, "pottery/kiln@"+index) != "" { // as some registries do
			http.Error(w, "an index refers to it", http.StatusForbidden)
			return true
		}
		return false
	})
	deleted := 0
	if err := p.Run(t.Context(), opener, func(Obsolete) { deleted++ }); err != nil || deleted != len(p.Manifests) {
		t.Errorf("deleted %d of %d: %v", deleted, len(p.Manifests), err)
	}
	for _, r := range to.requests() {
		if strings.HasPrefix(r, "DELETE ") && !strings.Contains(r, "/manifests/sha256:") {
			t.Errorf("not by digest: %s", r)
		}
	}
	for _, ref := range from.want {
		if strings.HasPrefix(ref, "pottery/kiln") && to.digest(t, ref) != "" {
			t.Errorf("%s was not deleted", ref)
		}
	}
	if tag := "pottery/kiln:" + signTag(index, ""); to.digest(t, tag) != "" {
		t.Errorf("%s was not deleted", tag)
	}
	for _, ref := range from.refs[1:3] {
		checkPull(t, to, strings.TrimPrefix(ref, from.host+"/"))
	}
	if p, err := NewPruning([]*Record{one, two}); err != nil || len(p.Manifests) > 0 {
		t.Errorf("a second time: %v, %v", p.Manifests, err)
	}
	_, err = NewPruning([]*Record{one, {Target: "other.example"}})
	if want := fmt.Sprintf("two mirrors, %s and other.example", to.host); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNeeded checks that nothing is pruned that one of several records needs, be it an image that failed and that only
// another record knows.
func TestNeeded(t *testing.T) {
	for _, tt := range []struct{ images, served, want string }{
		{"", "", "sha256:1 sha256:2 sha256:3"},
		{"p=1", "p=2", "sha256:3"},
		{"!p=1", "", "sha256:2 sha256:3"},
		{"!*p:v2", "", "sha256:1 sha256:3"},
	} {
		p, err := NewPruning([]*Record{
			{Target: "mirror.example", Obsolete: recordImages(t, "p=1 *p:v2=2 p:v3=3")},
			{Target: "mirror.example", Images: recordImages(t, tt.images), Served: recordImages(t, tt.served)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range p.Manifests {
			got = append(got, m.Digest[:8])
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

// children returns the digests of the images in an index of pottery/kiln.
func children(t *testing.T, f *fakeRegistry, index string) (digests []string) {
	t.Helper()
	_, c := f.contents(t, "pottery/kiln", index)
	for _, m := range c.Manifests {
		digests = append(digests, m.Digest.String())
	}
	return digests
}

// A mirroring is a mirror with the catalog crafts:v1 and the images pots/a:v1 and pots/latest:v1, and its record.
type mirroring struct {
	t      *testing.T
	ctx    context.Context
	source *fakeRegistry
	target *fakeRegistry
	opener *image.Opener
	record *Record

	first string // digest of the mirrored catalog; the source has another one
	next  string // another image
	other string // digest of another/crafts and another/latest
}

func newMirroring(t *testing.T) *mirroring {
	t.Helper()
	m := &mirroring{t: t, ctx: t.Context(), source: newRegistry(t, true), target: newRegistry(t, true)}
	m.opener = m.source.opener(t)
	m.first = m.source.push(t, "crafts:v1", newImage(t))
	for _, ref := range []string{"pots/a:v1", "pots/latest:v1"} {
		m.source.push(t, ref, newImage(t))
	}
	m.run(m.catalog("crafts:v1"), m.image("pots/a:v1"), m.image("pots/latest:v1"))
	for _, ref := range []string{"crafts:v0", "crafts:v1", "crafts:v2"} {
		m.source.push(t, ref, newImage(t))
	}
	m.next = "pots/b@" + m.source.push(t, "pots/b:v1", newImage(t))
	m.other = m.source.push(t, "another/crafts:v1", newImage(t))
	return m
}

// image returns an image that a bundle names.
func (m *mirroring) image(ref string) *Image {
	m.t.Helper()
	img, err := Names{}.New(m.source.host+"/"+ref, Use{"kiln", "kiln.v1"})
	if err != nil {
		m.t.Fatal(err)
	}
	return img
}

func (m *mirroring) catalog(ref string) *Image {
	m.t.Helper()
	img := m.image(ref)
	img.Catalog, img.Uses = true, nil
	return img
}

// from returns img with another source, by digest.
func (m *mirroring) from(img *Image, ref string) *Image {
	m.t.Helper()
	other := m.image(ref)
	other.Repository, other.Tag, other.Catalog, other.Uses = img.Repository, img.Tag, img.Catalog, img.Uses
	return other
}

// run mirrors images, some of which may fail.
func (m *mirroring) run(images ...*Image) {
	m.t.Helper()
	to, err := ToRegistry(m.opener, m.target.host)
	if err != nil {
		m.t.Fatal(err)
	}
	p, err := NewPlan(m.t.Context(), images, to, Options{Opener: m.opener, Last: m.record, Jobs: 1})
	if err != nil {
		m.t.Fatal(err)
	}
	if m.record, err = p.Run(m.ctx, RunOptions{}); err != nil && m.ctx.Err() == nil {
		m.t.Fatal(err)
	}
	if got := p.Report().Served; len(got) != len(m.record.Served) {
		m.t.Errorf("the report has %d served images, the record %d", len(got), len(m.record.Served))
	}
}

// prune deletes the obsolete images by the record.
func (m *mirroring) prune() error {
	m.t.Helper()
	p, err := NewPruning([]*Record{m.record})
	if err != nil {
		m.t.Fatal(err)
	}
	return p.Run(m.ctx, m.opener, nil)
}

// TestUnwritten checks that no run that leaves a catalog unwritten makes an image obsolete that the mirror serves:
// pruning does not delete it, and the objects for a cluster still have its repository. The next complete run makes it
// obsolete.
func TestUnwritten(t *testing.T) {
	none := "pots/none@sha256:" + strings.Repeat("0", 64)
	for _, tt := range []struct {
		name string
		run  func(m *mirroring) // that does not write the catalog crafts:v1
		want string             // error of pruning
	}{
		{"an image failed", func(m *mirroring) { m.run(m.catalog("crafts:v1"), m.image(none), m.image(m.next)) }, ""},
		{"two runs failed", func(m *mirroring) {
			m.run(m.catalog("crafts:v1"), m.image(none), m.image(m.next))
			m.run(m.catalog("crafts:v1"), m.image(none))
		}, ""},
		{"another source", func(m *mirroring) {
			m.run(m.from(m.catalog("crafts:v1"), "another/crafts@"+m.other), m.image(none), m.image(m.next))
		}, ""},
		{"another tag", func(m *mirroring) { m.run(m.catalog("crafts:v2"), m.image(none), m.image(m.next)) }, ""},
		{"interrupted", func(m *mirroring) {
			var cancel func()
			m.ctx, cancel = context.WithCancel(m.t.Context())
			m.source.setAnswer(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
					cancel()
				}
				return false
			})
			m.run(m.catalog("crafts:v1"), m.image(m.next))
		}, ""},
		{"the target is full", func(m *mirroring) {
			m.target.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
				return refuse(w, r.Method == http.MethodPatch, http.StatusInsufficientStorage)
			})
			m.run(m.catalog("crafts:v1"), m.image(m.next))
		}, ""},
		{"one of two catalogs failed", func(m *mirroring) {
			m.target.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
				return refuse(w, r.Method+r.URL.Path == "PUT/v2/crafts/manifests/v1", http.StatusInsufficientStorage)
			})
			m.run(m.catalog("crafts:v0"), m.catalog("crafts:v1"), m.image(m.next))
		}, ""},
		{"the answer was lost", func(m *mirroring) {
			m.target.setAnswer(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method+r.URL.Path != "PUT/v2/crafts/manifests/v1" {
					return false
				}
				m.target.inner.ServeHTTP(httptest.NewRecorder(), r)
				return refuse(w, true, http.StatusBadRequest)
			})
			m.run(m.catalog("crafts:v1"), m.image(m.next))
		}, ""},
		{"the record was lost", func(m *mirroring) {
			m.record = nil
			m.run(m.catalog("crafts:v1"), m.image(none), m.image("pots/a:v1"), m.image("pots/latest:v1"))
			m.run(m.catalog("crafts:v1"), m.image(none), m.image(m.next))
		}, ""},
		{"the record was not written", func(m *mirroring) {
			m.run(m.catalog("crafts:v1"), m.image(m.next))
			between := *m.record
			m.run(m.from(m.catalog("crafts:v1"), "crafts@"+m.first), m.image("pots/a:v1"), m.image("pots/latest:v1"))
			m.record = &between
		}, "the tag refers to sha256:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMirroring(t)
			tt.run(m)
			m.source.setAnswer(nil)
			m.target.setAnswer(nil)
			m.ctx = t.Context()
			if err := m.prune(); err != nil && tt.want == "" || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			for _, ref := range []string{"crafts@" + m.first, "pots/a:v1", "pots/latest:v1"} {
				if m.target.digest(t, ref) == "" {
					t.Fatalf("%s was deleted", ref)
				}
				checkPull(t, m.target, strings.Replace(ref, ":v1", "@"+m.target.digest(t, ref), 1))
			}
			files, err := m.record.Cluster(ClusterOptions{})
			if text := fmt.Sprintf("%s", files); err != nil || tt.want == "" && !strings.Contains(text, "/pots/a") {
				t.Errorf("%v: no mirror of pots/a in %s", err, text)
			}
			m.run(m.catalog("crafts:v1"), m.image(m.next))
			if err := m.prune(); err != nil || m.record.Served != nil || m.target.digest(t, "pots/a:v1") != "" {
				t.Errorf("after a complete run: %v, %d images are served, pots/a has %s", err, len(m.record.Served),
					m.target.digest(t, "pots/a:v1"))
			}
			checkPull(t, m.target, "crafts@"+m.target.digest(t, "crafts:v1"))
		})
	}
}

func TestPruningText(t *testing.T) {
	var text strings.Builder
	p := &Pruning{Target: "mirror.example", Manifests: []Obsolete{{Repository: "kiln", Digest: "sha256:1"}}, Bytes: 2_000_000}
	const want = "kiln@sha256:1\nmirror.example: manifests that are no longer needed: 1 (1.9 MB)\n"
	if err := p.WriteText(&text); err != nil || text.String() != want {
		t.Errorf("got %q, %v", text.String(), err)
	}
}
