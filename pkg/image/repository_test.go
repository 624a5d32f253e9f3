package image

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestReferrersPages checks that all pages of a list are read, from the same host, that a missing page is an error, and
// that the size of a list is limited.
func TestReferrersPages(t *testing.T) {
	digest := func(n int) string { return fmt.Sprintf("sha256:%064d", n) }
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if r.URL.Path == "/v2/" {
			return
		}
		if path.Base(path.Dir(r.URL.Path)) != "referrers" || page == "3" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		n := map[string]int{"": 1, "2": 2}[page]
		filler := ""
		if strings.Contains(r.URL.Path, "endless") {
			asked++
			n, filler = 1, strings.Repeat("x", 3<<20)
		}
		if n == 1 || strings.Contains(r.URL.Path, "broken") {
			w.Header().Set("Link", fmt.Sprintf(`<https://elsewhere.example%s?page=%d>; rel="next"`, r.URL.Path, n+1))
		}
		fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[`+
			`{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":%q,"artifactType":%q}]}`,
			digest(n), filler)
	}))
	defer server.Close()
	opener := NewOpener(Options{Insecure: true})
	defer opener.Close()
	find := func(repo string) ([]v1.Descriptor, error) {
		r, err := opener.Target(strings.TrimPrefix(server.URL, "http://") + "/" + repo)
		if err != nil {
			t.Fatal(err)
		}
		return r.Referrers(t.Context(), v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)})
	}
	found, err := find("kiln")
	if err != nil || len(found) != 2 || found[0].Digest.String() != digest(1) || found[1].Digest.String() != digest(2) {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := find("broken"); err == nil || !strings.Contains(err.Error(), "404 Not Found to a page") {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := find("endless"); !errors.Is(err, ErrLimit) || asked != maxReferrers/(3<<20)+1 {
		t.Errorf("got %d after %d pages, %v", len(found), asked, err)
	}
}

// TestContentSizes checks that sizes that are negative or too large are errors of the manifest.
func TestContentSizes(t *testing.T) {
	const image, index = `{"config":{"digest":"sha256:%[1]s","size":%[2]d},"layers":[{"digest":"sha256:%[1]s","size":%[3]d}]}`,
		`{"manifests":[{"digest":"sha256:%[1]s","size":%[2]d},{"digest":"sha256:%[1]s","size":%[3]d}]}`
	for _, tt := range []struct {
		a, b int64
		want string
	}{
		{0, 1<<63 - 1, ""},
		{1, 1<<63 - 1, "the sum of its sizes is more than 2^63-1 bytes"},
		{1, -1, "the size of sha256:" + strings.Repeat("1", 64) + " is -1"},
		{-1 << 63, -1 << 63, "is -9223372036854775808"},
	} {
		for _, text := range []string{image, index} {
			_, err := ParseContents(fmt.Appendf(nil, text, strings.Repeat("1", 64), tt.a, tt.b), "")
			if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%d, %d: got %v, want %q", tt.a, tt.b, err, tt.want)
			}
		}
	}
}

// TestVerifiedBlob checks that content of another size or digest is an error, unless its size is unknown.
func TestVerifiedBlob(t *testing.T) {
	digest, _, err := v1.SHA256(strings.NewReader("clay"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		content string
		size    int64
		want    string
	}{
		{"clay", 4, ""},
		{"clay", -1, ""},
		{"clay", 5, "has 4 bytes; its descriptor says 5"},
		{"clay", 3, "more than the 3 bytes"},
		{"clay", 0, "more than the 0 bytes"},
		{"mud", 3, "has the digest"},
	} {
		r := VerifiedBlob(io.NopCloser(strings.NewReader(tt.content)), v1.Descriptor{Digest: digest, Size: tt.size})
		_, err := io.ReadAll(r)
		if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) || err != nil && !errors.Is(err, errDigest) {
			t.Errorf("%q of %d bytes: got %v, want %q", tt.content, tt.size, err, tt.want)
		}
	}
}

func TestForPlatforms(t *testing.T) {
	entry := func(n int, arch, attests string) v1.Descriptor {
		d := v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%064d", n)}}
		d.Platform = &v1.Platform{OS: "linux", Architecture: arch}
		if attests != "" {
			d.Platform = &v1.Platform{OS: "unknown", Architecture: "unknown"}
			d.Annotations = map[string]string{attestation: "attestation-manifest", attestedDigest: attests}
		}
		return d
	}
	amd, arm := entry(1, "amd64", ""), entry(2, "arm64", "")
	all := []v1.Descriptor{amd, arm, entry(3, "", amd.Digest.String()), entry(4, "", arm.Digest.String())}
	kept, err := ForPlatforms(all, []string{"linux/arm64"})
	if err != nil || len(kept) != 2 || kept[0].Digest != arm.Digest || kept[1].Digest != all[3].Digest {
		t.Errorf("got %v, %v", kept, err)
	}
	if _, err := ForPlatforms(all, []string{"linux/arm64", "linux/s390x"}); err == nil {
		t.Error("a missing platform is no error")
	}
}
