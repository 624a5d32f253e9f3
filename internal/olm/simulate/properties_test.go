package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// testCatalog returns a catalog of three packages: cup depends on jug, and lid has no dependency.
func testCatalog(t *testing.T) *resolve.Catalog {
	t.Helper()
	var text strings.Builder
	for _, pkg := range []string{"cup", "jug", "lid"} {
		fmt.Fprintf(&text, "---\n{schema: olm.package, name: %s, defaultChannel: stable}\n", pkg)
		fmt.Fprintf(&text, "---\n{schema: olm.channel, package: %s, name: stable, entries: [{name: %[1]s.v1.0.0}, "+
			"{name: %[1]s.v2.0.0, replaces: %[1]s.v1.0.0}, {name: %[1]s.v3.0.0, skipRange: '<3.0.0', skips: [%[1]s.v2.0.0]}]}\n", pkg)
		for v := range 3 {
			required := ""
			if pkg == "cup" {
				required = fmt.Sprintf(", {type: olm.package.required, value: {packageName: jug, versionRange: '>=%d.0.0'}}", v+1)
			}
			fmt.Fprintf(&text, "---\n{schema: olm.bundle, package: %s, name: %[1]s.v%d.0.0, image: 'r.example/%[1]s:v%[2]d', "+
				"properties: [{type: olm.package, value: {packageName: %[1]s, version: %[2]d.0.0}}%[3]s, {type: olm.csv.metadata, "+
				"value: {installModes: [{type: OwnNamespace, supported: true}], crdDescriptions: {owned: "+
				"[{name: %[1]ss.example.com, version: v%[2]d, kind: %[1]s}]}, apiServiceDefinitions: {}}}]}\n", pkg, v+1, required)
		}
	}
	c, err := resolve.ReadCatalog(t.Context(), declcfg.Source{
		Name: "catalog", FS: fstest.MapFS{"c.yaml": {Data: []byte(text.String())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Namespace = "c", "olm"
	return c
}

// randomObjects returns the objects of a cluster with up to three namespaces.
func randomObjects(random *rand.Rand) []string {
	const alpha = "apiVersion: operators.coreos.com/v1alpha1, "
	objects := []string{"{kind: CatalogSource, " + alpha + "metadata: {name: c, namespace: olm}, spec: {sourceType: grpc}}"}
	for n := range 1 + random.IntN(3) {
		objects = append(objects, fmt.Sprintf("{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, "+
			"metadata: {name: og, namespace: ns%d}, spec: {targetNamespaces: [ns%[1]d]}}", n))
		for _, pkg := range []string{"cup", "jug", "lid"} {
			if random.IntN(2) == 0 {
				continue
			}
			approval := []string{"Automatic", "Automatic", "Manual"}[random.IntN(3)]
			installed, starting := "", ""
			switch random.IntN(3) {
			case 0:
				starting = fmt.Sprintf(", startingCSV: %s.v%d.0.0", pkg, 1+random.IntN(3))
			case 1:
				name := fmt.Sprintf("%s.v%d.0.0", pkg, 1+random.IntN(3))
				installed = fmt.Sprintf(", status: {installedCSV: %s, currentCSV: %[1]s, state: AtLatestKnown}", name)
				if random.IntN(4) > 0 {
					objects = append(objects, fmt.Sprintf("{kind: ClusterServiceVersion, "+alpha+
						"metadata: {name: %s, namespace: ns%d}, spec: {version: %s, install: {strategy: deployment}, "+
						"installModes: [{type: OwnNamespace, supported: true}]}}", name, n, name[len(pkg)+2:]))
				}
			}
			objects = append(objects, fmt.Sprintf("{kind: Subscription, "+alpha+"metadata: {name: %s, namespace: ns%d}, "+
				"spec: {name: %[1]s, source: c, sourceNamespace: olm, installPlanApproval: %[3]s%[4]s}%[5]s}",
				pkg, n, approval, starting, installed))
		}
	}
	return objects
}

// TestRest checks that an idle cluster does not change, and that the order of its objects does not matter.
func TestRest(t *testing.T) {
	catalog := testCatalog(t)
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		objects := randomObjects(random)
		opts := Options{
			Cluster: install.Options{Catalogs: []*resolve.Catalog{catalog}}, Approve: random.IntN(2) == 0,
		}
		if random.IntN(4) == 0 {
			opts.Fail, opts.FailUnpack = []string{"jug.v3.0.0"}, []string{"lid.v3.0.0"}
		}
		run := func(s *cluster.State) *Result {
			r, err := Run(t.Context(), s, opts)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := run(loaded(t, strings.Join(objects, "\n---\n")))
		if !first.Idle {
			t.Fatalf("seed %d: it never comes to rest\n%s", seed, timeline(first))
		}
		if again := run(first.State); len(again.Events) > 0 {
			t.Fatalf("seed %d: after\n%s\nthere is\n%s", seed, timeline(first), timeline(again))
		}
		slices.Reverse(objects)
		if other := run(loaded(t, strings.Join(objects, "\n---\n"))); timeline(other) != timeline(first) {
			t.Fatalf("seed %d: in another order\n%s\nwant\n%s", seed, timeline(other), timeline(first))
		}
	}
}
