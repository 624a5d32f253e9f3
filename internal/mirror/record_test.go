package mirror

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestReadRecord checks that a truncated or changed record is rejected.
func TestReadRecord(t *testing.T) {
	const hash = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const whole = `{"format":1,"target":"","images":[{"source":"a","repository":"a","digest":"` + hash +
		`","manifests":[{"digest":"` + hash + `","size":0,"mediaType":""}]}],"obsolete":[]}`
	file := filepath.Join(t.TempDir(), RecordFile)
	read := func(text string) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadRecord(file)
		return err
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][3]string{
		{whole[50:], "", "it was cut off, or is not a record"},
		{`"format":1`, `"format":2`, "it is from another version of opm"},
		{`"images":[`, `"images":[null,`, "an image is null"},
		{`"obsolete":[`, `"obsolete":[null`, "an image is null"},
		{`"manifests"`, `"Manifests"`, `image "a" has no manifest "` + hash},
		{`"digest":"` + hash + `","m`, `"m`, `image "a" has no manifest ""`},
		{`"digest":"` + hash + `","size"`, `"digest":"../../x","size"`, "not a record"},
	} {
		if err := read(strings.Replace(whole, tt[0], tt[1], 1)); err == nil || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s instead of %s: got %v, want %s", tt[1], tt[0], err, tt[2])
		}
	}
}

// TestTags checks that a record keeps no, one and several tags of a manifest, and that one is a string, as in records
// of manifests with one tag only.
func TestTags(t *testing.T) {
	file := filepath.Join(t.TempDir(), RecordFile)
	for text, tags := range map[string]Tags{
		"":                      nil,
		`"tag": "sha256-1.sig"`: {"sha256-1.sig"},
		`"tag": [ "sha256-1.sig", "sha256-2.sig" ]`: {"sha256-1.sig", "sha256-2.sig"},
	} {
		r := Record{Format: recordFormat, Images: recordImages(t, "p=1")}
		r.Images[0].Manifests[0].Tags = tags
		if err := r.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadRecord(file)
		if err != nil || !reflect.DeepEqual(got.Images, r.Images) {
			t.Errorf("%v: got %+v, %v", tags, got, err)
		}
		if s := strings.Join(strings.Fields(string(written)), " "); !strings.Contains(s, text) || tags == nil && strings.Contains(s, "tag") {
			t.Errorf("%v: got %s", tags, s)
		}
	}
}

// recordImages parses images of a record, such as "p:v1=1 !*c:v1": each with its repository, tag and the digit of its
// digest, "!" for a failed image and "*" for a catalog.
func recordImages(t *testing.T, text string) (all []*Image) {
	t.Helper()
	for one := range strings.FieldsSeq(text) {
		target, digit, has := strings.Cut(strings.TrimLeft(one, "!*"), "=")
		img := &Image{Source: one, Catalog: strings.Contains(one, "*")}
		img.Repository, img.Tag, _ = strings.Cut(target, ":")
		if has {
			hash, err := v1.NewHash("sha256:" + strings.Repeat(digit, 64))
			if err != nil {
				t.Fatal(err)
			}
			img.Digest, img.Manifests = hash.String(), []Node{{Blob: Blob{Digest: hash}}}
		}
		if strings.HasPrefix(one, "!") {
			img.Failure, img.Manifests = "broken", nil
		}
		all = append(all, img)
	}
	return all
}

// printImages is the inverse of recordImages, without "!", "*" and the digests of images without manifests.
func printImages(all []*Image) string {
	var texts []string
	for _, img := range all {
		text := img.Repository
		if img.Tag != "" {
			text += ":" + img.Tag
		}
		if img.Manifests != nil {
			text += "=" + img.Digest[len(img.Digest)-1:]
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// TestFollow checks what becomes of the images of the last record: a failed image keeps the first entry of its target,
// whatever its source, and no manifest that is needed becomes obsolete.
func TestFollow(t *testing.T) {
	for _, tt := range []struct{ images, served, obsolete, now, wantImages, wantServed, wantObsolete string }{
		{images: "p:v1=1 p=2", now: "p:v1=3", wantImages: "p:v1=3", wantObsolete: "p:v1=1 p=2"},
		{images: "p:v1=1", obsolete: "p:v1=2 p:v1=3", now: "!p:v1", wantImages: "p:v1=1", wantObsolete: "p:v1=2 p:v1=3"},
		{served: "p:v1=1", obsolete: "p:v1=2", now: "!p:v1", wantImages: "p:v1=1", wantObsolete: "p:v1=2"},
		{images: "p=1", now: "!p=1", wantImages: "p=1"},
		{obsolete: "p=1", now: "!p=1", wantImages: "p=1"},
		{images: "p:v1=1 p:v2=1", now: "!p:v2", wantImages: "p:v2=1"},
		{images: "p:v1=1", obsolete: "p:v2=1", now: "!p:v2", wantImages: "p:v2=1"},
		{images: "*c:v1=1 p=2", now: "!*c:v1 p=3", wantImages: "c:v1=1 p=3", wantServed: "p=2"},
		{images: "*c:v1=1 p=2", obsolete: "p=4", now: "!*c:v2 p=3", wantImages: "c:v2 p=3", wantServed: "c:v1=1 p=2", wantObsolete: "p=4"},
		{images: "!*c:v1 p=2", served: "p=3 p=4", obsolete: "p=5", now: "!*c:v1 p=4", wantImages: "c:v1 p=4", wantServed: "p=2 p=3", wantObsolete: "p=5"},
		{images: "p=2", served: "p=3", obsolete: "p=5 p=3", now: "*c:v1=1", wantImages: "c:v1=1", wantObsolete: "p=2 p=3 p=5"},
		{images: "p:v1=1", now: "*c:v1=1 !p:v1", wantImages: "c:v1=1 p:v1=1"},
	} {
		r := &Record{Images: recordImages(t, tt.now)}
		r.follow(&Record{
			Images: recordImages(t, tt.images), Served: recordImages(t, tt.served), Obsolete: recordImages(t, tt.obsolete),
		})
		got := [3]string{printImages(r.Images), printImages(r.Served), printImages(r.Obsolete)}
		if want := [3]string{tt.wantImages, tt.wantServed, tt.wantObsolete}; got != want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}
