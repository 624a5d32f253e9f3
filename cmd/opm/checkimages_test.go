package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckImages checks the images of a catalog in a real registry. The catalog is in a directory, and in an image.
func TestCheckImages(t *testing.T) {
	host := newRegistry(t)
	catalog := fmt.Sprintf(`schema: olm.package
name: zip
---
schema: olm.bundle
package: zip
name: zip.v1
image: %[1]s/zip:v1
---
schema: olm.bundle
package: zip
name: zip.v2
image: %[1]s/zip:v2
relatedImages:
- name: operator
  image: quay.example/zip/operator:v2
`, host)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "catalog"), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("catalog/zip.yaml", catalog)
	write("mirrors.yaml", fmt.Sprintf(`apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
spec:
  imageTagMirrors:
  - {source: quay.example, mirrors: [%s/mirror], mirrorSourcePolicy: NeverContactSource}
`, host))
	pushAs := func(ref string) {
		t.Helper()
		if err := push(filepath.Join(dir, "catalog"), host+"/"+ref); err != nil {
			t.Fatal(err)
		}
	}
	pushAs("catalog:v1")

	const summary = "opm: of 3 images 2 are missing\n"
	pushAs("zip:v1")
	for _, ref := range []string{"catalog", host + "/catalog:v1"} {
		got := opm(t, dir, "check-images --use-http --image-mirrors mirrors.yaml "+ref)
		lines := strings.Split(got.stdout, "\n")
		if got.code != 1 || !strings.HasSuffix(got.stderr, "\n"+summary) || len(lines) != 3 {
			t.Fatalf("%s: exit code %d, want 1 and %q, got\n%s%s", ref, got.code, summary, got.stdout, got.stderr)
		}
		for i, what := range []string{"image " + host + "/zip:v2", `related image "operator" quay.example/zip/operator:v2`} {
			want := fmt.Sprintf(`%s/zip.yaml:9:1: error: package "zip": bundle "zip.v2": %s does not exist: `, ref, what)
			if !strings.HasPrefix(lines[i], want) || !strings.HasSuffix(lines[i], " [missing]") {
				t.Errorf("got\n%s\nwant\n%s", lines[i], want)
			}
		}
	}

	pushAs("zip:v2")
	pushAs("mirror/zip/operator:v2")
	for _, ref := range []string{"catalog", host + "/catalog:v1"} {
		got := opm(t, dir, "check-images --use-http --image-mirrors mirrors.yaml "+ref)
		if got.code != 0 || got.stdout != "" || got.stderr != "opm: 3 images, all there\n" {
			t.Errorf("%s: exit code %d\n%s%s", ref, got.code, got.stdout, got.stderr)
		}
	}
}
