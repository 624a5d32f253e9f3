package bundle

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// TestSameRefusals asks about published bundles in three ways: their directories, the objects of a catalog that has
// their manifests, and the objects of a catalog that has only their metadata, which cannot know of other reasons than
// install modes, APIServices and dependencies. What is refused is a problem of [Check].
func TestSameRefusals(t *testing.T) {
	refused, withWebhooks := 0, 0
	for _, dir := range realBundles(t) {
		b, err := Parse(os.DirFS(dir), dir, Options{Image: "registry.example/bundle:v1"})
		if err != nil {
			t.Fatal(err)
		}
		contents, errRead := ReadContents(os.DirFS(dir), dir, Options{})
		inCatalog := ContentsOf(b)
		problems := Check(os.DirFS(dir), dir, CheckOptions{})
		for _, target := range []string{"", "ocp=4.20", "ocp=4.21"} {
			var o V1Options
			if target != "" {
				p, err := platform.Parse(target)
				if err != nil {
					t.Fatal(err)
				}
				o = V1Options{NoWebhooks: p.LacksWebhooksV1(), Kubernetes: p.Kubernetes}
			}
			var want []string
			if errRead == nil {
				want = messages(contents.Refusals(o))
			}
			got := messages(inCatalog.Refusals(o))
			if errRead != nil && len(got) == 0 || errRead == nil && !slices.Equal(got, want) {
				t.Errorf("%s for %q: the directory has %q (%v), the catalog %q", dir, target, want, errRead, got)
			}
			if len(got) > 0 && target == "" {
				refused++
				isAbout := func(p *problem.Problem) bool { return p.Severity != problem.Info }
				if !slices.ContainsFunc(problems, isAbout) {
					t.Errorf("%s: %q, but no problem", dir, got)
				}
			}
			if target == "ocp=4.20" && len(got) > len(messages(inCatalog.Refusals(V1Options{}))) {
				withWebhooks++
			}
		}
		checkPartial(t, dir, b, inCatalog.Refusals(V1Options{}))
	}
	if refused == 0 || withWebhooks == 0 {
		t.Errorf("%d bundles are refused, %d for a platform", refused, withWebhooks)
	}
	t.Logf("%d bundles are refused, %d more on OpenShift 4.20", refused, withWebhooks)
}

// TestContentsKeys checks that the keys of manifests in a catalog count only if their case is right.
func TestContentsKeys(t *testing.T) {
	for key, want := range map[string]int{"installModes": 1, "InstallModes": 0} {
		manifest := `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"a"},` +
			`"spec":{"` + key + `":[{"type":"AllNamespaces","supported":true}]}}`
		b := &declcfg.Bundle{Properties: []declcfg.Property{bundleObject([]byte(manifest))}}
		if got := ContentsOf(b).CSV.Spec.InstallModes; len(got) != want {
			t.Errorf("%s: got %d install modes, want %d", key, len(got), want)
		}
	}
}

// checkPartial compares the refusals of a bundle with those that its metadata shows.
func checkPartial(t *testing.T, dir string, b *declcfg.Bundle, all []Refusal) {
	t.Helper()
	if err := ToMetadata(b); err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(r Refusal) bool {
		return r.Kind != RefusedDependency && r.Kind != RefusedAPIService && r.Kind != RefusedInstallModes
	})
	partial := ContentsOf(b)
	got, want := messages(partial.Refusals(V1Options{})), messages(all)
	if !partial.Partial || !slices.Equal(got, want) {
		t.Errorf("%s: from metadata %q, want %q", dir, got, want)
	}
}

func messages(all []Refusal) (texts []string) {
	for _, r := range all {
		texts = append(texts, fmt.Sprintf("%s: %v", r.Kind, r.Err))
	}
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}
