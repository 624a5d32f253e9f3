package image

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestReferrersPages checks that all pages of a list are read, from the same host, and that a missing page is an error.
func TestReferrersPages(t *testing.T) {
	digest := func(n int) string { return fmt.Sprintf("sha256:%064d", n) }
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
		if n == 1 || strings.Contains(r.URL.Path, "broken") {
			w.Header().Set("Link", fmt.Sprintf(`<https://elsewhere.example%s?page=%d>; rel="next"`, r.URL.Path, n+1))
		}
		fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[`+
			`{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":%q}]}`, digest(n))
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
