package install_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

const oneBundle = `
schema: olm.package
name: p
defaultChannel: c
---
schema: olm.channel
package: p
name: c
entries: [{name: p.v1.0.0}]
---
schema: olm.bundle
package: p
name: p.v1.0.0
image: registry.example/p:v1
properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]
`

// read returns a state and the catalog olm/cat with the package p.
func read(t *testing.T, state string) (*cluster.State, *resolve.Catalog) {
	t.Helper()
	s, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(state)))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"catalog.yaml": {Data: []byte(oneBundle)}}
	c, err := resolve.ReadCatalog(t.Context(), declcfg.Source{Name: "catalog", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	c.Namespace, c.Name = "olm", "cat"
	return s, c
}

// TestManySubscriptions resolves many Subscriptions, all in one namespace or each in its own.
func TestManySubscriptions(t *testing.T) {
	n := shared.Number(10_000, 1_000)
	for _, namespaces := range []int{1, n} {
		t.Run(fmt.Sprintf("%d namespaces", namespaces), func(t *testing.T) {
			text := []byte("apiVersion: v1\nkind: List\nitems:\n")
			for i := range namespaces {
				text = fmt.Appendf(text, "- {apiVersion: operators.coreos.com/v1, kind: OperatorGroup, "+
					"metadata: {name: g, namespace: ns%d}}\n", i)
			}
			for i := range n {
				text = fmt.Appendf(text, "- {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, "+
					"metadata: {name: s%d, namespace: ns%d}, spec: {name: p, source: cat, sourceNamespace: olm}}\n", i, i%namespaces)
			}
			s, c := read(t, string(text))
			r, err := install.NewRequest(s, install.Options{Catalogs: []*resolve.Catalog{c}})
			if err != nil {
				t.Fatal(err)
			}
			answers, err := r.Classic(t.Context(), resolve.Options{})
			if err != nil || len(answers) != namespaces {
				t.Fatalf("%d answers, %v", len(answers), err)
			}
			for _, a := range answers {
				if a.Outcome != resolve.Resolved || len(a.Install) != 1 || len(a.Updated) != n/namespaces {
					t.Fatalf("namespace %s: %s %s, %d updated", a.Name, a.Outcome, a.Message, len(a.Updated))
				}
			}
		})
	}
}

func TestUnknownPriority(t *testing.T) {
	s, c := read(t, "")
	_, err := install.NewRequest(s, install.Options{Catalogs: []*resolve.Catalog{c}, Priorities: map[string]int{"olm/cut": 1}})
	unknown, ok := errors.AsType[*install.NoCatalogError](err)
	if !ok || unknown.Name != "olm/cut" || err.Error() != `no catalog "olm/cut" (did you mean "olm/cat"?)` {
		t.Errorf("got %v", err)
	}
}

// TestHealth checks which catalogs are healthy for a Subscription while none can be read: only a valid one with an
// address, whose server OLM does not run itself.
func TestHealth(t *testing.T) {
	state := ""
	for name, spec := range map[string]string{
		"addressed": "{sourceType: grpc, address: 'catalog:50051'}",
		"invalid":   "{sourceType: grpc}",
		"pod":       "{sourceType: grpc, image: 'registry.example/catalog:v1'}",
	} {
		state += fmt.Sprintf("---\napiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\n"+
			"metadata: {name: %s, namespace: pots}\nspec: %s\n", name, spec)
	}
	s, _ := read(t, state)
	r, err := install.NewRequest(s, install.Options{Down: []string{"addressed", "invalid", "pod"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, h := range r.Health("pots") {
		got[h.CatalogSourceRef.Name] = h.Healthy
	}
	if want := map[string]bool{"addressed": true, "invalid": false, "pod": false}; !maps.Equal(got, want) {
		t.Errorf("healthy are %v, want %v", got, want)
	}
}
