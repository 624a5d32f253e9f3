package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestFromNothing checks that opm alone can create and publish a catalog of five published bundles, without any
// hand-written YAML.
func TestFromNothing(t *testing.T) {
	t.Parallel()
	const operator = "kepler-operator"
	dir := shared.Path(t, "data/operators/"+operator)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var versions []semver.Version
	for _, e := range entries {
		versions = append(versions, semver.MustParse(e.Name()))
	}
	slices.SortFunc(versions, semver.Version.Compare)
	host := newCounter(t).host
	catalog := filepath.Join(t.TempDir(), "catalog")
	for i, v := range versions[:5] {
		ref := host + "/" + operator + "-bundle:v" + v.String()
		mustOpm(t, "", "bundle", "build", "--image-builder", "none", "--directory", filepath.Join(dir, v.String(), "manifests"),
			"--package", operator, "--channels", "alpha", "--output-dir", t.TempDir(), "--tag", ref, "--use-http")
		add := []string{"add", ref, catalog, "--channel", "alpha", "--use-http", "--bundle-format", "metadata"}
		if i == 0 {
			add = append(add, "--create")
		}
		mustOpm(t, "", add...)
		mustOpm(t, "", "validate", catalog)
		mustOpm(t, "", "fmt", "--check", catalog)
	}
	last := operator + ".v" + versions[4].String()
	mustOpm(t, "", "promote", catalog, last, "--to", "stable", "--create")
	mustOpm(t, "", "default-channel", catalog, "stable")
	mustOpm(t, "", "deprecate", catalog, "channel", "alpha", "-m", "use channel stable")
	mustOpm(t, "", "fmt", "--check", catalog)

	ref := host + "/catalog:v1"
	mustOpm(t, "", "publish", catalog, "-t", ref, "-i", "scratch", "--skip", "check-images", "--use-http")
	published := mustOpm(t, "", "render", ref, "--use-http")
	if published != mustOpm(t, "", "render", catalog) {
		t.Error("the published catalog is another one")
	}
	if n := strings.Count(published, `"schema": "olm.bundle"`); n != 5 {
		t.Errorf("%d bundles are published", n)
	}
	bundles := mustOpm(t, "", "list", "bundles", ref, operator, "--use-http")
	if !strings.Contains(bundles, "@sha256:") || strings.Contains(bundles, "-bundle:v") {
		t.Errorf("bundles are not named by their digests: %s", bundles)
	}
	if channels := mustOpm(t, "", "list", "channels", ref, operator, "--use-http"); strings.Count(channels, last) != 2 {
		t.Errorf("the heads are not %s: %s", last, channels)
	}
}
