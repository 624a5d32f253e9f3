package validate_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
)

func parseTarget(t *testing.T, text string) platform.Platform {
	t.Helper()
	p, err := platform.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// objectOf returns a property with a manifest.
func objectOf(json string) string {
	return fmt.Sprintf("{type: olm.bundle.object, value: {data: %s}}", base64.StdEncoding.EncodeToString([]byte(json)))
}

// TestTarget checks problems that depend on the target. In the valid catalog, only oak.v2.0.0 has manifests.
func TestTarget(t *testing.T) {
	csv := func(fields string) edit {
		return edit{bundleFile, "1.1.0}}\n- {type: olm.csv.metadata, value: {}}", "1.1.0}}\n- {type: olm.csv.metadata, value: {" + fields + "}}"}
	}
	budget := objectOf(`{"kind": "PodDisruptionBudget", "apiVersion": "policy/v1beta1"}`)
	workload := objectOf(`{"kind": "Deployment", "apiVersion": "extensions/v1beta1"}`)
	operator := objectOf(`{"kind": "ClusterServiceVersion", "metadata": {"annotations": {"com.redhat.openshift.versions": "=v4.16"}},
		"spec": {"minKubeVersion": "v1.30.1"}}`)
	const form416, form418 = "oak/bundles.yaml:6:1 target-form", "oak/bundles.yaml:30:1 target-form"
	rows := []struct {
		name, target string
		edits        []edit
		want         []string
	}{
		{"metadata before 4.17", "ocp=4.16", nil, []string{form416, "pine.json:13:16 target-form"}},
		{"manifests since 4.17", "ocp=4.18", nil, []string{form418}},
		{"deprecations before 4.15", "ocp=4.14", nil,
			[]string{form416, "oak/deprecations.yaml:1:9 target-ignored", "pine.json:13:16 target-form"}},
		{"any form without OpenShift", "kubernetes=1.31", nil, nil},
		{"removed API", "kubernetes=1.25", []edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", budget}},
			[]string{"oak/bundles.yaml:31:36 target-api"}},
		{"API that Kubernetes 1.16 removed", "kubernetes=1.31",
			[]edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", workload}},
			[]string{"oak/bundles.yaml:31:36 target-api"}},
		{"API before 1.16", "kubernetes=1.15",
			[]edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", workload}}, nil},
		{"API that is still served", "kubernetes=1.24",
			[]edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", budget}}, nil},
		{"minimum of a head", "kubernetes=1.31", []edit{csv("minKubeVersion: 1.32.0")},
			[]string{"oak/channels.yaml:14:39 target-min-kubernetes"}},
		{"patch of the minimum", "kubernetes=1.32", []edit{csv("minKubeVersion: 1.32.9")}, nil},
		{"minimum is not a version", "kubernetes=1.31", []edit{csv("minKubeVersion: '1.32'")},
			[]string{"oak/channels.yaml:14:39 target-min-kubernetes"}},
		{"maximum of a head", "ocp=4.19", []edit{property("{type: olm.maxOpenShiftVersion, value: '4.18'}")},
			[]string{"oak/bundles.yaml:31:1 target-form", "oak/channels.yaml:14:39 target-max-openshift"}},
		{"maximum is the target", "ocp=4.18", []edit{property("{type: olm.maxOpenShiftVersion, value: '4.18'}")},
			[]string{"oak/bundles.yaml:31:1 target-form"}},
		{"maximum without OpenShift", "kubernetes=1.31", []edit{property("{type: olm.maxOpenShiftVersion, value: '4.18'}")},
			[]string{"oak/bundles.yaml:24:10 target-ignored"}},
		{"label with OLM v1", "kubernetes=1.31", []edit{property("{type: olm.label.required, value: {label: a}}")},
			[]string{"oak/bundles.yaml:24:10 target-ignored"}},
		{"label without OLM v1", "ocp=4.13", []edit{property("{type: olm.label.required, value: {label: a}}")},
			[]string{form416, "oak/deprecations.yaml:1:9 target-ignored", "pine.json:13:16 target-form"}},
		{"deprecated with OLM v1", "kubernetes=1.31", []edit{property("{type: olm.deprecated, value: {}}")},
			[]string{"oak/bundles.yaml:24:10 deprecated-property", "oak/bundles.yaml:24:10 target-ignored"}},
		{"release", "ocp=4.20", []edit{{bundleFile, "version: 1.1.0}", "version: 1.1.0, release: '1'}"}},
			[]string{"oak/bundles.yaml:19:7 bundle-release", "oak/bundles.yaml:22:74 target-ignored", form418}},
		{"other releases", "ocp=4.18", []edit{csv("annotations: {com.redhat.openshift.versions: v4.12-v4.17}")},
			[]string{"oak/bundles.yaml:23:35 target-releases", form418}},
		{"invalid releases", "ocp=4.18", []edit{csv("annotations: {com.redhat.openshift.versions: '4.12'}")},
			[]string{"oak/bundles.yaml:23:35 target-releases", form418}},
		{"releases after other keys", "ocp=4.18",
			[]edit{csv("displayName: a, annotations: {a: b, com.redhat.openshift.versions: v4.19}")},
			[]string{"oak/bundles.yaml:23:35 target-releases", form418}},
		{"manifest of a head", "ocp=4.18", []edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", operator}},
			[]string{form418, "oak/bundles.yaml:31:36 target-releases"}},
		{"minimum in a manifest", "kubernetes=1.29", []edit{{bundleFile, "{type: olm.bundle.object, value: {data: e30=}}", operator}},
			[]string{"oak/channels.yaml:8:9 target-min-kubernetes"}},
	}
	rules := targetRules
	for _, tt := range rows {
		rules = slices.Concat(rules, named(tt.want))
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(valid)
			for _, e := range tt.edits {
				e.apply(t, files)
			}
			expect(t, only(check(t, validate.Options{Target: parseTarget(t, tt.target)}, files), rules...), tt.want...)
		})
	}
}

// TestTargetWithoutV1 checks that rules about OLM v1 are off for a platform without it.
func TestTargetWithoutV1(t *testing.T) {
	files := maps.Clone(valid)
	property("{type: olm.gvk.required, value: {group: g, version: v1, kind: K}}").apply(t, files)
	for target, want := range map[string]bool{"ocp=4.13": false, "ocp=4.14": true, "kubernetes=1.31": true} {
		found := strings.Contains(listing(check(t, validate.Options{Target: parseTarget(t, target)}, files)), "v1-dependency")
		if found != want {
			t.Errorf("%s: v1-dependency is reported: %t, want %t", target, found, want)
		}
	}
}

// TestTargetPublished checks that published catalogs fit the platforms that they are published for: only invalid
// annotations are reported.
func TestTargetPublished(t *testing.T) {
	shared.OneGoroutine(t)
	for version, want := range map[string]int{"4.12": 1, "4.20": 6} {
		dir := shared.Path(t, "data/catalogs/v"+version)
		report, err := validate.Catalog(t.Context(), validate.Options{Target: parseTarget(t, "ocp="+version)},
			declcfg.Source{Name: "c", FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, p := range report.Problems {
			if strings.HasPrefix(p.Rule, "target-") {
				found++
				if !strings.Contains(p.Message, "is not a range of releases") {
					t.Errorf("v%s: %s", version, p)
				}
			}
		}
		if found != want {
			t.Errorf("v%s: %d problems with the target, want %d", version, found, want)
		}
	}
}
