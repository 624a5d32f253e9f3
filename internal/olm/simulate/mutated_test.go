package simulate

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/plain"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A refused bundle is what other judges than bundle validate say about a bundle; "" if they accept it.
type refused struct{ catalog, v1, classic string }

// refusals asks the other judges: validate about the catalog rendered from the bundle, bundle manifests for OLM v1, and
// simulate for OLM Classic.
func refusals(t *testing.T, fsys fs.FS) (r refused) {
	t.Helper()
	contents, err := bundle.ReadContents(fsys, "b", bundle.Options{})
	if err == nil {
		_, err = plain.Objects(contents, plain.Options{Namespace: "ns", Certificates: plain.CertManager})
	}
	if err != nil {
		r.v1 = err.Error()
	}
	b, err := bundle.Parse(fsys, "b", bundle.Options{})
	if err != nil {
		r.catalog = err.Error()
		return r
	}
	text := slices.Concat(fmt.Appendf(nil, `{"schema": "olm.package", "name": %q, "defaultChannel": "stable"}
		{"schema": "olm.channel", "package": %[1]q, "name": "stable", "entries": [{"name": %[2]q}]}`, b.Package, b.Name),
		declcfg.JSON.Append(nil, b))
	source := render.Text("catalog.json", text)
	report, err := validate.Catalog(t.Context(), validate.Options{ErrorsOnly: true}, source)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if p.Severity == problem.Error {
			r.catalog = p.String()
			return r
		}
	}
	r.classic = simulatedInstallation(t, contents, source, b.Package, b.Name)
	return r
}

// simulatedInstallation returns the reason why the InstallPlan of a bundle or its operator fails, or "".
func simulatedInstallation(
	t *testing.T, contents *bundle.Contents, source declcfg.Source, pkg, name string,
) string {
	t.Helper()
	catalog, err := resolve.ReadCatalog(t.Context(), source)
	if err != nil {
		return err.Error()
	}
	catalog.Namespace, catalog.Name = "ns", "cat"
	c := judgedCase{}
	targets := ""
	if contents != nil && contents.CSV != nil && !supportsAll(contents.CSV) {
		targets = "targetNamespaces: [ns]"
	}
	state := strings.Replace(c.state(judgedQuestion{pkg: pkg, channel: "stable"}),
		"{targetNamespaces: [ns]}, status: {namespaces: [ns],", "{"+targets+"}, status: {namespaces: ['"+
			strings.TrimSuffix(strings.TrimPrefix(targets, "targetNamespaces: ["), "]")+"'],", 1)
	result, err := Run(t.Context(), loaded(t, state), Options{
		Cluster: install.Options{Catalogs: []*resolve.Catalog{catalog}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return failure(result, name)
}

func supportsAll(csv *v1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(csv.Spec.InstallModes, v1alpha1.InstallMode{
		Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true,
	})
}

// missed returns the judges whose refusal bundle validate does not report: an error reports each, and a warning that
// names an OLM reports that of this OLM.
func (r refused) missed(found []*problem.Problem) string {
	isError := func(p *problem.Problem) bool { return p.Severity == problem.Error }
	if slices.ContainsFunc(found, isError) {
		return ""
	}
	warns := func(olm string) bool {
		return slices.ContainsFunc(found, func(p *problem.Problem) bool {
			return p.Severity == problem.Warning && strings.Contains(p.Message, olm)
		})
	}
	switch {
	case r.catalog != "":
		return "validate: " + r.catalog
	case r.v1 != "" && !warns("OLM v1"):
		return "bundle manifests: " + r.v1
	case r.classic != "" && !warns("OLM Classic"):
		return "simulate: " + r.classic
	}
	return ""
}

// TestMutated mutates published bundles that all judges accept. What another judge refuses, bundle validate reports.
func TestMutated(t *testing.T) {
	shared.OneGoroutine(t)
	seen, bundles := refusedCounts{}, 0
	for i, dir := range shared.Sample(shared.Glob(t, "data/operators/*/*"), 12) {
		files := readBundle(t, dir)
		if r := refusals(t, files); r != (refused{}) {
			continue
		}
		bundles++
		for n := range shared.Number(8, 4) {
			random := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			mutated, what := mutate(t, random, files)
			r := refusals(t, mutated)
			seen.add(r)
			if missed := r.missed(bundle.Check(mutated, "b", bundle.CheckOptions{})); missed != "" {
				t.Errorf("%s, seed %d, %s: bundle validate does not report that %s", dir, n, what, missed)
			}
		}
	}
	t.Logf("%d bundles: %+v", bundles, seen)
	if enough := shared.Number(10, 4); bundles < 4 || seen.catalog < enough || seen.v1 < enough || seen.classic < 1 {
		t.Errorf("%d bundles, refused: %+v: the test checks too little", bundles, seen)
	}
}

// refusedCounts counts the refusals of each judge.
type refusedCounts struct{ catalog, v1, classic int }

func (c *refusedCounts) add(r refused) {
	for _, x := range []struct {
		text  string
		count *int
	}{{r.catalog, &c.catalog}, {r.v1, &c.v1}, {r.classic, &c.classic}} {
		if x.text != "" {
			*x.count++
		}
	}
}

// readBundle returns the files of a bundle, with its manifests in JSON.
func readBundle(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	root := os.DirFS(dir)
	for _, pattern := range []string{"manifests/*", "metadata/*"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			if converted, err := yaml.YAMLToJSON(text); err == nil && pattern == "manifests/*" {
				text = converted
			}
			files[name] = &fstest.MapFile{Data: text}
		}
	}
	return files
}

// mutate returns a copy of a bundle with one change, and its description.
func mutate(t *testing.T, random *rand.Rand, files fstest.MapFS) (fstest.MapFS, string) {
	t.Helper()
	mutated := maps.Clone(files)
	var others []string
	csv := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := string(files[name].Data)
		switch {
		case strings.Contains(text, `"kind":"`+v1alpha1.ClusterServiceVersionKind+`"`):
			csv = name
		case strings.HasPrefix(name, "manifests/"):
			others = append(others, name)
		}
	}
	name, start := csv, ""
	switch random.IntN(12) {
	case 0:
		mutated["manifests/zz-second.yaml"] = files[csv]
		return mutated, "a second ClusterServiceVersion"
	case 1:
		text := strings.Replace(string(files[csv].Data), `{"apiVersion"`, `{"spec":{},"apiVersion"`, 1)
		mutated[csv] = &fstest.MapFile{Data: []byte(text)}
		return mutated, "a duplicate key"
	case 2, 3, 4:
		start = "/spec/install/spec"
	case 5, 6:
		if len(others) > 0 {
			name = others[random.IntN(len(others))]
		}
	case 7, 8, 9:
		name = "manifests/zz-added.yaml"
		mutated[name] = &fstest.MapFile{Data: []byte(addedManifests[random.IntN(len(addedManifests))])}
	}
	what := mutateFile(t, random, mutated, name, start)
	return mutated, name + ": " + what
}

// mutateFile changes a value of a manifest at or below start.
func mutateFile(t *testing.T, random *rand.Rand, files fstest.MapFS, name, start string) (what string) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(files[name].Data, &root); err != nil {
		t.Fatal(err)
	}
	object := root
	for key := range strings.SplitSeq(strings.TrimPrefix(start, "/"), "/") {
		if below, ok := object[key].(map[string]any); ok {
			object = below
		}
	}
	for range 20 { // some places are not mutated
		if what = mutateValue(random, object, start); what != "" {
			break
		}
	}
	text, err := json.Marshal(root, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	files[name] = &fstest.MapFile{Data: text}
	return what
}

// mutateValue removes or replaces a value somewhere in an object. It returns "" if it changed nothing.
func mutateValue(random *rand.Rand, object map[string]any, path string) string {
	keys := slices.Sorted(maps.Keys(object))
	if len(keys) == 0 {
		return ""
	}
	key := keys[random.IntN(len(keys))]
	value, at := object[key], path+"/"+key
	if slices.Contains(unmutated, at) {
		return ""
	}
	if random.IntN(6) > 0 {
		switch v := value.(type) {
		case map[string]any:
			return mutateValue(random, v, at)
		case []any:
			if len(v) > 0 {
				if o, ok := v[random.IntN(len(v))].(map[string]any); ok {
					return mutateValue(random, o, at)
				}
			}
		}
	}
	if random.IntN(3) == 0 {
		delete(object, key)
		return "no " + at
	}
	object[key] = mutations[random.IntN(len(mutations))]
	return fmt.Sprintf("%s is %#v", at, object[key])
}

// mutations are the values that replace a value.
var mutations = []any{
	"Not Valid!", "", strings.Repeat("long", 64), 7.0, -1.0, 70000.0, true, nil, []any{}, []any{"", "*"}, []any{nil},
	map[string]any{}, map[string]any{"Not Valid!": "Not Valid!"},
}

// unmutated are values that are not mutated: schemas, which may be of any shape, and the install modes, for which the
// question is asked.
var unmutated = []string{"/spec/versions/schema", "/spec/installModes"}

// addedManifests are valid manifests of all kinds that an API server checks by its own rules.
var addedManifests = []string{
	`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "added", "labels": {"a": "b"}}, "spec": {
		"type": "ClusterIP", "selector": {"app": "added"}, "sessionAffinity": "None", "ports": [
		{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}, {"name": "x", "port": 81}]}}`,
	`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "added"}, "rules": [
		{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["one"]}]}`,
	`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "added"}, "rules": [
		{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}`,
	`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "added"}, "roleRef": {
		"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "added"}, "subjects": [
		{"kind": "ServiceAccount", "name": "added"},
		{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "me"}]}`,
	`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "added"},
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "added"}, "subjects": [
		{"kind": "ServiceAccount", "name": "added", "namespace": "ns"}]}`,
	`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "added"}, "immutable": true, "data": {"a": "b"},
		"binaryData": {"c": "eHk="}}`,
	`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "added"}, "type": "Opaque", "data": {"a": "eHk="},
		"stringData": {"b": "c"}}`,
	`{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "added"}, "secrets": [{"name": "a"}]}`,
	`{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "added"}, "value": 1000,
		"globalDefault": false, "preemptionPolicy": "Never", "description": "a class"}`,
	`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "added"}, "spec": {
		"minAvailable": 1, "selector": {"matchLabels": {"app": "added"}}}}`,
	`{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "added"}, "spec": {
		"podSelector": {"matchLabels": {"app": "added"}}, "policyTypes": ["Ingress"], "ingress": [
		{"from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80, "protocol": "TCP"}]}]}}`,
}

// TestAddedManifests checks that all judges accept a bundle with any of the added manifests.
func TestAddedManifests(t *testing.T) {
	for _, dir := range shared.Glob(t, "data/operators/*/*") {
		files := readBundle(t, dir)
		if refusals(t, files) != (refused{}) {
			continue
		}
		before := bundle.Check(files, "b", bundle.CheckOptions{})
		for i, text := range addedManifests {
			files["manifests/zz-added.yaml"] = &fstest.MapFile{Data: []byte(text)}
			if r := refusals(t, files); r != (refused{}) {
				t.Errorf("manifest %d: %+v", i, r)
			}
			if found := bundle.Check(files, "b", bundle.CheckOptions{}); len(found) != len(before) {
				t.Errorf("manifest %d: %v, without it %v", i, found, before)
			}
		}
		return
	}
	t.Error("no bundle is accepted")
}
