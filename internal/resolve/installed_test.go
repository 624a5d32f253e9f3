package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// TestInferredProperties checks that without the annotation, properties come from the APIs and the Subscriptions.
func TestInferredProperties(t *testing.T) {
	ns := parseScenario(t, "installed a.v1.0.0 bare\ninstalled z.v0 bare\nsub s1 a x installed=a.v1.0.0\nsub s2 a y installed=a.v1.0.0\n"+
		"sub s3 y - installed=z.v0\nsub s4 z - installed=z.v0")
	in := &ns.Installed[0]
	in.CustomResources = v1alpha1.CustomResourceDefinitions{
		Owned: []v1alpha1.CRDDescription{
			{Name: "ks.g.io", Version: "v1", Kind: "K"}, {Name: "js.g.io", Version: "v1", Kind: "J"}, {Name: "ks.g.io", Version: "v1", Kind: "K"},
		},
		Required: []v1alpha1.CRDDescription{{Name: "rs.r.io", Version: "v2", Kind: "R"}},
	}
	in.APIServices.Owned = []v1alpha1.APIServiceDescription{{Group: "s.io", Version: "v1", Kind: "S"}}
	for i, want := range []string{
		`olm.gvk{"group":"g.io","kind":"J","version":"v1"} olm.gvk{"group":"g.io","kind":"K","version":"v1"} ` +
			`olm.gvk{"group":"s.io","kind":"S","version":"v1"} olm.gvk.required{"group":"r.io","kind":"R","version":"v2"} ` +
			`olm.package{"packageName":"a","version":"1.0.0"}`,
		"", // its Subscriptions name different packages
	} {
		properties, err := ns.properties(&ns.Installed[i])
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, p := range properties {
			words = append(words, p.Type+string(p.Value))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	ns.Subscriptions = ns.Subscriptions[2:3]
	properties, err := ns.properties(&ns.Installed[1])
	if err != nil || len(properties) != 1 || string(properties[0].Value) != `{"packageName":"y","version":""}` {
		t.Errorf("without a version: %v, %v", properties, err)
	}
}

func TestAnnotatedProperties(t *testing.T) {
	properties, err := AnnotatedProperties(`{"properties":[{"type":"olm.gvk","value":{"kind":"K"}},{"type":"x","value":1}]}`)
	if err != nil || len(properties) != 2 || properties[1].Type != "x" || string(properties[1].Value) != "1" {
		t.Errorf("%v, %v", properties, err)
	}
	if properties, err := AnnotatedProperties(`{}`); err != nil || properties == nil {
		t.Errorf("none: %v, %v", properties, err)
	}
}

// TestBrokenInstalled checks that an error in an installed operator blocks the namespace.
func TestBrokenInstalled(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(in *Installed)
		want string
	}{
		{"annotation", func(in *Installed) { _, in.PropertiesError = AnnotatedProperties("{") },
			`error using catalogsource ns/@existing: failed to retrieve properties of csv "a.v1.0.0": ` +
				"failed to unmarshal properties annotation: unexpected end of JSON input"},
		{"name of a definition", func(in *Installed) {
			in.Properties, in.CustomResources.Owned = nil, []v1alpha1.CRDDescription{{Name: "ks"}}
		}, "error using catalogsource ns/@existing: error parsing crd name: ks"},
		{"property", func(in *Installed) { in.Properties = append(in.Properties, Property{property("package=d:bogus"), 0}) },
			`Could not get version from string: "bogus"`},
	} {
		ns := parseScenario(t, base+"installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0")
		tt.edit(&ns.Installed[0])
		answer := verify(t, ns)
		if answer.Outcome != Failed || answer.Message != tt.want || answer.Core[0].Places[0].String() != "state.yaml:1" {
			t.Errorf("%s: %+v", tt.name, answer)
		}
	}
}

// TestFailForward checks that with fail-forward, operators that were replaced by a failed one are ignored.
func TestFailForward(t *testing.T) {
	replaced := func(ns *ClassicRequest, phases ...string) {
		for i, phase := range phases {
			ns.Installed[i].Phase = phase
			if i > 0 {
				ns.Installed[i].Replaces = ns.Installed[i-1].Name
			}
		}
	}
	const update = "c/a/stable/a.v2.0.0(replaces a.v1.1.0)"
	for _, tt := range []struct {
		name   string
		phases []string
		off    bool
		want   string
	}{
		{"off", []string{"Replacing", "Failed"}, true,
			"constraints not satisfiable: @existing/ns//a.v1.0.0, @existing/ns//a.v1.1.0 and c/ns/stable/a.v2.0.0 originate from package a, " +
				"clusterserviceversion a.v1.0.0 exists and is not referenced by a subscription, subscription sa exists, " +
				"subscription sa requires at least one of c/ns/stable/a.v2.0.0 or @existing/ns//a.v1.1.0"},
		{"failed", []string{"Replacing", "Failed"}, false, update},
		{"phase", []string{"Succeeded", "Failed"}, false,
			"error using catalogsource ns/@existing: csv ns/a.v1.0.0 in phase Succeeded instead of Replacing"},
	} {
		ns := parseScenario(t, base+"installed a.v1.0.0 like\ninstalled a.v1.1.0 like\nsub sa a stable installed=a.v1.1.0")
		replaced(ns, tt.phases...)
		ns.FailForward = !tt.off
		if got := outcome(verify(t, ns)); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
	ns := parseScenario(t, base+"installed a.v1.0.0 like\ninstalled a.v1.1.0 like\n")
	replaced(ns, "Replacing", "Replacing")
	ns.Installed[0].Replaces, ns.FailForward = "a.v1.1.0", true
	if got, want := outcome(verify(t, ns)), "csv ns/a.v1.0.0 has already been seen"; !strings.HasSuffix(got, want) {
		t.Errorf("a circle: %s, want %s", got, want)
	}
}

// TestTwice checks that duplicate names in a request are an error.
func TestTwice(t *testing.T) {
	ns := parseScenario(t, base+"installed a.v1.0.0\nsub sa a stable\n")
	ns.Installed = append(ns.Installed, ns.Installed[0])
	ns.Subscriptions = slices.Repeat(ns.Subscriptions, 2)
	ns.Catalogs = slices.Repeat(ns.Catalogs, 2)
	_, err := ns.Resolve(t.Context(), patient)
	const want = "state.yaml:1: ClusterServiceVersion \"a.v1.0.0\" is already defined at state.yaml:1\n" +
		"subs.yaml:1: Subscription \"sa\" is already defined at subs.yaml:1\n" +
		"CatalogSource \"ns/c\" is defined twice"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
