package validate

import (
	"strconv"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/reference"
)

// FuzzImages checks that the cached repository of one reference does not change the result for another.
func FuzzImages(f *testing.F) {
	const sum = "2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef"
	for _, image := range []string{
		"a", "a:1", "a:1@sha256:" + sum, "registry.example/a/b@sha256:" + sum, "localhost:5000/a", "a:b:c", "a:-1", "a:.1",
		sum, sum + ":1", "A/b:1", "a/B:1", "a@sha256:" + sum[1:], "a@sha512:" + sum + sum + ":1", "a@b@sha256:" + sum,
		"[::1]:5000/a:1", "[::1]", ":1", "@sha256:" + sum, "a/:1", "a:" + strings.Repeat("x", 128), "a:" + strings.Repeat("x", 129),
		"a@sha256:" + strings.ToUpper(sum), strings.Repeat("a", 256) + ":1", "a:\u00e9", "a:1/b",
	} {
		f.Add(image)
	}
	var remembering images
	check := func(t *testing.T, image string) {
		t.Helper()
		digested, want := reference.CheckImage(image)
		hasDigest, err := remembering.parse(image)
		if (err == nil) != (want == nil) || hasDigest != digested || err != nil && err.Error() != want.Error() {
			t.Errorf("%q: got %v, %v; want %v, %v", image, hasDigest, err, digested, want)
		}
	}
	f.Fuzz(func(t *testing.T, image string) {
		repository, _ := repositoryOf(image)
		for _, suffix := range []string{"", ":1", "@sha256:" + sum, ":a.b-C_1@sha256:" + sum, "/b:1"} {
			check(t, image+suffix)
			check(t, repository+suffix)
		}
	})
}

func TestImagesForget(t *testing.T) {
	var r images
	for i := range 2 * maxRepositories {
		if _, err := r.parse("registry.example/" + strconv.Itoa(i) + ":1"); err != nil || len(r.repositories) > maxRepositories {
			t.Fatalf("%d remembered, %v", len(r.repositories), err)
		}
	}
	if _, err := r.parse(strings.Repeat("a.", maxRepository) + "a/b:1"); err != nil || len(r.repositories) > maxRepositories {
		t.Errorf("%d remembered, %v", len(r.repositories), err)
	}
}
