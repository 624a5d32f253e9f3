package platform_test

import (
	"fmt"
	"testing"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func ExampleParse() {
	for _, target := range []string{"ocp=4.14", "ocp=4.20", "kubernetes=1.31"} {
		p, err := platform.Parse(target)
		fmt.Printf("%v: Kubernetes %v, metadata %q, error %v\n", p, p.Kubernetes, p.Metadata, err)
	}
	// Output:
	// OpenShift 4.14: Kubernetes 1.27, metadata "olm.bundle.object", error <nil>
	// OpenShift 4.20: Kubernetes 1.33, metadata "olm.csv.metadata", error <nil>
	// Kubernetes 1.31: Kubernetes 1.31, metadata "", error <nil>
}

// TestParseOutsideTable checks that releases before and after the table have the metadata of its first and last
// release, and no Kubernetes version.
func TestParseOutsideTable(t *testing.T) {
	for target, metadata := range map[string]string{
		"ocp=4.9": declcfg.PropertyBundleObject, "ocp=v4.11": declcfg.PropertyBundleObject,
		"ocp=4.30": declcfg.PropertyCSVMetadata, "ocp=5.0": declcfg.PropertyCSVMetadata,
	} {
		p, err := platform.Parse(target)
		if err != nil || p.Metadata != metadata || p.Kubernetes != (platform.Version{}) {
			t.Errorf("Parse(%q) = %+v, %v", target, p, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, target := range []string{
		"", "ocp", "ocp=", "ocp=4", "ocp=4.x", "ocp=3.11", "ocp=4.16.3", "k8s=1.30", "kubernetes=", "kubernetes=1",
		"kubernetes=0.9", "Kubernetes=1.31", "4.16",
	} {
		if p, err := platform.Parse(target); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", target, p)
		}
	}
}

// TestTable checks the order of the table, which is searched, and that no release goes back to earlier metadata.
func TestTable(t *testing.T) {
	all := platform.Releases()
	for i, p := range all[1:] {
		before := all[i]
		if p.OpenShift.Minor != before.OpenShift.Minor+1 || p.Kubernetes.Minor != before.Kubernetes.Minor+1 {
			t.Errorf("%+v follows %+v", p, before)
		}
		if before.Metadata == declcfg.PropertyCSVMetadata && p.Metadata != before.Metadata {
			t.Errorf("%v reads %s, but %v before it %s", p, p.Metadata, before, before.Metadata)
		}
	}
}

func TestRemovedIn(t *testing.T) {
	for _, tt := range []struct{ apiVersion, kind, want string }{
		{"policy/v1beta1", "PodDisruptionBudget", "1.25"},
		{"storage.k8s.io/v1beta1", "StorageClass", "1.22"},
		{"storage.k8s.io/v1beta1", "CSIStorageCapacity", "1.27"},
		{"flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "1.32"},
		{"networking.k8s.io/v1beta1", "Ingress", "1.22"},
		{"networking.k8s.io/v1beta1", "IPAddress", ""}, // of a later version
		{"extensions/v1beta1", "NetworkPolicy", "1.16"},
		{"extensions/v1beta1", "Ingress", "1.22"},
		{"apps/v1beta1", "Deployment", "1.16"},
		{"apps/v1beta1", "NetworkPolicy", ""}, // of another group
		{"apps/v1beta2", "StatefulSet", "1.16"},
		{"apps/v1", "Deployment", ""},
		{"policy/v1", "PodDisruptionBudget", ""},
	} {
		removed, ok := platform.RemovedIn(tt.apiVersion, tt.kind)
		if ok != (tt.want != "") || ok && removed.String() != tt.want {
			t.Errorf("RemovedIn(%s, %s) = %v, %t, want %q", tt.apiVersion, tt.kind, removed, ok, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		v, w string
		want int
	}{
		{"4.9", "4.10", -1}, {"4.20", "4.20", 0}, {"5.0", "4.22", 1}, {"4.23", "5.0", 0}, {"4.23", "5.1", -1},
	} {
		v, _ := platform.ParseVersion(tt.v)
		w, _ := platform.ParseVersion(tt.w)
		if got := v.Compare(w); got != tt.want || w.Compare(v) != -tt.want || v.After(w) != (tt.want > 0) {
			t.Errorf("%v compared with %v is %d, want %d", v, w, got, tt.want)
		}
	}
}

func TestNext(t *testing.T) {
	for text, want := range map[string]string{
		"1.31": "1.32", "4.9": "4.10", "4.21": "4.22", "4.22": "5.0", "4.23": "5.1", "5.0": "5.1", "5.1": "5.2",
	} {
		v, _ := platform.ParseVersion(text)
		if got := v.Next().String(); got != want {
			t.Errorf("%s follows %v, want %s", got, v, want)
		}
	}
}

func TestSupported(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"v4.12", "4.12 and later"}, {"v4.12-v4.14", "4.12 to 4.14"}, {"=v4.12", "4.12"}, {"v4.9,v4.8", "4.8 and later"},
		{"v4.8, v4.9", "4.8 and later"}, {"v4.12-v4.12", "4.12"},
		{"", ""}, {"4.12", ""}, {">=4.16", ""}, {"v4", ""}, {"v4.14-v4.12", ""}, {"v4.12-", ""}, {"=v4.12,v4.13", ""}, {"v4.12,", ""},
		{"=v4.12-v4.14", ""},
	} {
		s, err := platform.ParseSupported(tt.text)
		if (err == nil) != (tt.want != "") || err == nil && s.String() != tt.want {
			t.Errorf("ParseSupported(%q) = %v, %v, want %q", tt.text, s, err, tt.want)
		}
	}
	s, _ := platform.ParseSupported("v4.12-v4.14")
	for text, want := range map[string]bool{"4.11": false, "4.12": true, "4.14": true, "4.15": false} {
		if v, _ := platform.ParseVersion(text); s.Contains(v) != want {
			t.Errorf("%v contains %v: %t, want %t", s, v, !want, want)
		}
	}
}

// TestUnread checks which OLM reads which parts of a catalog.
func TestUnread(t *testing.T) {
	for _, tt := range []struct{ target, name, want string }{
		{"ocp=4.20", declcfg.PropertyGVK, ""},
		{"ocp=4.20", declcfg.PropertyMaxOpenShiftVersion, ""},
		{"ocp=4.8", declcfg.PropertyMaxOpenShiftVersion, "OpenShift reads from 4.9 on"},
		{"kubernetes=1.31", declcfg.PropertyMaxOpenShiftVersion, "only OpenShift reads"},
		{"ocp=4.14", declcfg.SchemaDeprecations, "OpenShift reads from 4.15 on"},
		{"kubernetes=1.31", declcfg.SchemaDeprecations, ""},
		{"ocp=4.13", declcfg.PropertyDeprecated, ""},
		{"ocp=4.14", declcfg.PropertyDeprecated, "OLM v1 does not read"},
		{"kubernetes=1.31", "olm.label.required", "OLM v1 does not read"},
		{"ocp=4.12", platform.BundleRelease, "OLM reads only with the feature gate BundleReleaseSupport"},
	} {
		p, err := platform.Parse(tt.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Unread(tt.name); got != tt.want || got != "" && !platform.PartlyRead(tt.name) {
			t.Errorf("%s: %s: got %q, want %q", tt.target, tt.name, got, tt.want)
		}
	}
}
