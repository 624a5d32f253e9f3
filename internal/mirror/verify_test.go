package mirror

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// failuresOf returns the reasons of the failed images of a verification, by target.
func failuresOf(t *testing.T, p *Plan, err error) map[string]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	failures := map[string]string{}
	for _, f := range p.Report().Failures() {
		failures[f.Target] = f.Reason
	}
	return failures
}

// TestVerify checks that each kind of damage to a mirror is found, by the record and by the references of the images,
// and that nothing is written or copied.
func TestVerify(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host+"/mirror")
	if err != nil {
		t.Fatal(err)
	}
	_, record := mustRun(t.Context(), t, from.images(t, Names{}), target, Options{Opener: opener})
	first := record.Images[slices.IndexFunc(record.Images, func(i *Image) bool {
		return len(i.Manifests) > 1 && len(i.Manifests[0].Blobs) > 0
	})]
	node := first.Manifests[0]
	blob := "/v2/mirror/" + first.Repository + "/blobs/" + node.Blobs[0].Digest.String()
	manifest := "/v2/mirror/" + first.Repository + "/manifests/" + node.Digest.String()
	missing := func(path string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				http.Error(w, "{}", http.StatusNotFound)
			}
			return r.URL.Path == path
		}
	}
	for _, tt := range []struct {
		name   string
		answer answer
		want   string
	}{
		{"complete", nil, ""},
		{"no blob", missing(blob), "incomplete: 1 digest is missing: " + node.Blobs[0].Digest.String()},
		{"no manifest", missing(manifest), node.Digest.String()},
		{"cut off", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != blob {
				return false
			}
			w.Header().Set("Content-Length", strconv.FormatInt(node.Blobs[0].Size-1, 10))
			return true
		}, "it was cut off or changed"},
		{"changed", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == manifest {
				_, _ = w.Write([]byte("{}"))
			}
			return r.URL.Path == manifest
		}, node.Digest.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to.reset()
			from.reset()
			to.setAnswer(tt.answer)
			opener := from.opener(t) // without what the others have cached
			target, err := ToRegistry(opener, to.host+"/mirror")
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, failures map[string]string) {
				t.Helper()
				got := failures[first.Target()]
				if tt.want == "" && len(failures) > 0 || tt.want != "" && !strings.Contains(got, tt.want) {
					t.Errorf("by the %s: got %v, want %q of %s", what, failures, tt.want, first.Target())
				}
			}
			p, err := copyOf(t, record).Verify(t.Context(), target, Options{Opener: opener})
			check("record", failuresOf(t, p, err))
			images := from.images(t, Names{})
			for _, img := range images {
				if err := img.lookUpIn(target); err != nil {
					t.Fatal(err)
				}
			}
			p, err = Verify(t.Context(), images, target, Options{Opener: opener})
			check("references", failuresOf(t, p, err))
			if to.wrote() > 0 || from.bytes > 0 || len(from.requests()) > 0 {
				t.Errorf("wrote %d manifests, and asked the source: %v", to.wrote(), from.requests())
			}
		})
	}
}

// copyOf returns a record as it is read from a file.
func copyOf(t *testing.T, r *Record) *Record {
	t.Helper()
	file := filepath.Join(t.TempDir(), "record.json")
	if err := r.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadRecord(file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestVerifyTag checks that a tag that refers to another image is found, and so is an image that was not copied.
func TestVerifyTag(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	from.push(t, "pottery/tagged:v1", newImage(t, newLayer(t, 100)))
	img, err := Names{}.New(from.host + "/pottery/tagged:v1")
	if err != nil {
		t.Fatal(err)
	}
	_, record := mustRun(t.Context(), t, []*Image{img}, target, Options{Opener: opener})
	p, err := copyOf(t, record).Verify(t.Context(), target, Options{Opener: opener})
	if failures := failuresOf(t, p, err); len(failures) > 0 {
		t.Errorf("got %v", failures)
	}
	to.push(t, "pottery/tagged:v1", newImage(t, newLayer(t, 200)))
	p, err = copyOf(t, record).Verify(t.Context(), target, Options{Opener: opener})
	const want = "the tag v1 is missing, or refers to another digest"
	if got := failuresOf(t, p, err)["pottery/tagged:v1"]; !strings.Contains(got, want) {
		t.Errorf("got %q", got)
	}
	record.Images[0].Failure = "it was too large"
	p, err = copyOf(t, record).Verify(t.Context(), target, Options{Opener: opener})
	if got := failuresOf(t, p, err)["pottery/tagged:v1"]; got != "not copied: it was too large" {
		t.Errorf("got %q", got)
	}
}

// TestVerifyRecord checks the record of a registry in a file, and records that are not of the mirror to check.
func TestVerifyRecord(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	opts := Options{Opener: from.opener(t)}
	target, err := ToRegistry(opts.Opener, to.host+"/mirror")
	if err != nil {
		t.Fatal(err)
	}
	_, record := mustRun(t.Context(), t, from.images(t, Names{}), target, opts)
	file := filepath.Join(t.TempDir(), "record.json")
	if err := record.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	p, err := VerifyRecord(t.Context(), file, to.host+"/mirror/", opts)
	if failures := failuresOf(t, p, err); len(failures) > 0 {
		t.Errorf("got %v", failures)
	}
	if _, err := VerifyRecord(t.Context(), file, to.host+"/other", opts); err == nil {
		t.Error("the record of another mirror is accepted")
	}
	record.Target = ""
	if err := record.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	_, err = VerifyRecord(t.Context(), file, "", opts)
	if err == nil || !strings.Contains(err.Error(), "name the file opm-mirror.json in that directory") {
		t.Errorf("got error %v", err)
	}
}

// TestVerifyDirectory checks a directory, also one that leaves content to an earlier one.
func TestVerifyDirectory(t *testing.T) {
	from, dir := newPottery(t, true), t.TempDir()
	opener := from.opener(t)
	write := func(name string, since *Record, images []*Image) *Record {
		to, err := ToDirectory(filepath.Join(dir, name), since)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		_, record := mustRun(t.Context(), t, images, to, Options{Opener: opener})
		if err := to.Finish(record); err != nil {
			t.Fatal(err)
		}
		return copyOf(t, record)
	}
	failures := func(name string) map[string]string {
		t.Helper()
		to, record, err := FromDirectory(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		p, err := record.Verify(t.Context(), to, Options{})
		return failuresOf(t, p, err)
	}
	first := write("first", nil, from.images(t, Names{})[:1])
	write("second", first, from.images(t, Names{}))
	for _, name := range []string{"first", "second"} {
		if got := failures(name); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "second", "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(all[0], 1); err != nil {
		t.Fatal(err)
	}
	if got := failures("second"); len(got) == 0 {
		t.Error("a file that was cut off is not found")
	}
}
