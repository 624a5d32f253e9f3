package mirror

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
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
	to.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, strings.Split(child, "@")[1]) {
			return false
		}
		if to.digest(t, "pottery/kiln@"+index) != "" { // as some registries do
			http.Error(w, "an index refers to it", http.StatusForbidden)
			return true
		}
		return false
	}
	deleted := 0
	if err := p.Run(t.Context(), opener, func(Obsolete) { deleted++ }); err != nil || deleted != len(p.Manifests) {
		t.Errorf("deleted %d of %d: %v", deleted, len(p.Manifests), err)
	}
	for _, r := range to.asked {
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

// children returns the digests of the images in an index of pottery/kiln.
func children(t *testing.T, f *fakeRegistry, index string) (digests []string) {
	t.Helper()
	_, c := f.contents(t, "pottery/kiln", index)
	for _, m := range c.Manifests {
		digests = append(digests, m.Digest.String())
	}
	return digests
}
