package simulate

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A judgedBundle is a bundle of a random catalog.
type judgedBundle struct {
	pkg        string
	version    int
	modes      []string
	definition string   // the CustomResourceDefinition of the package, in JSON
	deployment string   // the name and the spec of its Deployment, in JSON
	others     []string // a ConfigMap and a PriorityClass, in JSON
	properties []declcfg.Property
}

func (b *judgedBundle) name() string { return fmt.Sprintf("%s.v%d.0.0", b.pkg, b.version) }

// manifest returns the ClusterServiceVersion in JSON, with more metadata.
func (b *judgedBundle) manifest(metadata string) string {
	var modes []string
	for _, m := range []string{"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"} {
		modes = append(modes, fmt.Sprintf(`{"type": %q, "supported": %t}`, m, slices.Contains(b.modes, m)))
	}
	return fmt.Sprintf(`{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": {"name": %q%s}, "spec": {"displayName": %q, "version": "%d.0.0", "installModes": [%s],
		"install": {"strategy": "deployment", "spec": {"deployments": [{%s}]}}, "customresourcedefinitions": {"owned": [
		{"name": "%ss.crafts.example", "version": "v1", "kind": %q}]}}`,
		b.name(), metadata, b.pkg, b.version, strings.Join(modes, ", "), b.deployment, b.pkg, kindOfPackage(b.pkg))
}

func kindOfPackage(pkg string) string { return strings.ToUpper(pkg[:1]) + pkg[1:] }

// object returns the bundle as an object of a catalog.
func (b *judgedBundle) object() string {
	list := slices.Clone(b.properties)
	for _, text := range append([]string{b.manifest("") + "}", b.definition}, b.others...) {
		value := fmt.Sprintf(`{"data": %q}`, base64.StdEncoding.EncodeToString([]byte(text)))
		list = append(list, declcfg.Property{Type: declcfg.PropertyBundleObject, Value: []byte(value)})
	}
	properties, _ := json.Marshal(list)
	return fmt.Sprintf(`{"schema": "olm.bundle", "package": %q, "name": %q, "image": "", "properties": %s}`,
		b.pkg, b.name(), properties)
}

// installed returns the objects of the bundle as OLM Classic installs them, in YAML.
func (b *judgedBundle) installed() []string {
	text, _ := json.Marshal(map[string]any{"properties": b.properties})
	metadata := fmt.Sprintf(`, "namespace": "ns", "annotations": {"operatorframework.io/properties": %q}`, text)
	deployment := strings.Replace(b.deployment, `"name": `, `"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
		"namespace": "ns", "ownerReferences": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind":
		"ClusterServiceVersion", "name": "`+b.name()+`"}], "name": `, 1)
	objects := []string{
		b.manifest(metadata) + `, "status": {"phase": "Succeeded", "reason": "InstallSucceeded"}}`,
		"{" + strings.Replace(deployment, `, "spec"`, `}, "spec"`, 1) + "}",
		strings.TrimSuffix(b.definition, "}") +
			`, "status": {"storedVersions": ["` + storageVersion(b.definition) + `"], "acceptedNames": {"kind": "` +
			kindOfPackage(b.pkg) + `", "plural": "` + b.pkg + `s"}, "conditions": [{"type": "Established", "status": "True"}, ` +
			`{"type": "NamesAccepted", "status": "True"}]}}`,
	}
	for _, o := range b.others {
		objects = append(objects, strings.Replace(o, `"kind": "ConfigMap", "metadata": {`,
			`"kind": "ConfigMap", "metadata": {"namespace": "ns", `, 1))
	}
	return objects
}

// A judgedCase is a random catalog, whose packages are in order, and the facts about it.
type judgedCase struct {
	random   *rand.Rand
	text     []string // the objects of the catalog
	bundles  map[string]*judgedBundle
	channels map[string][]string // of each package
	requires bool                // a bundle requires another one
	gate     bool                // OLM v1 installs bundles without AllNamespaces, too
}

var judgedPackages = []string{"kiln", "loom", "vase"}

func property(kind, format string, args ...any) declcfg.Property {
	return declcfg.Property{Type: kind, Value: fmt.Appendf(nil, format, args...)}
}

// randomCase returns a catalog of a few packages with channels, edges of all kinds, dependencies, install modes,
// definitions and deprecations. Its channels may be invalid.
func randomCase(seed uint64) *judgedCase {
	c := &judgedCase{
		random:  rand.New(rand.NewPCG(seed, 1)),
		bundles: map[string]*judgedBundle{}, channels: map[string][]string{},
	}
	c.gate = c.random.IntN(4) == 0
	sparse := c.random.IntN(2) == 0 // in half of the cases, no bundle requires another one
	for _, pkg := range judgedPackages {
		last := 2 + c.random.IntN(3)
		for v := 1; v <= last; v++ {
			c.addBundle(pkg, v, sparse)
		}
		c.addChannel(pkg, "stable", 1, last)
		if c.random.IntN(2) == 0 {
			c.addChannel(pkg, "fast", last-1, last)
		}
		c.text = append(c.text, fmt.Sprintf(`{"schema": "olm.package", "name": %q, "defaultChannel": "stable"}`, pkg))
		if c.random.IntN(3) == 0 {
			c.text = append(c.text, fmt.Sprintf(`{"schema": "olm.deprecations", "package": %q, "entries": [%s]}`, pkg,
				c.pick(
					fmt.Sprintf(`{"reference": {"schema": "olm.bundle", "name": "%s.v%d.0.0"}, "message": "old"}`, pkg,
						1+c.random.IntN(last)),
					`{"reference": {"schema": "olm.channel", "name": "stable"}, "message": "old"}`,
					`{"reference": {"schema": "olm.package"}, "message": "old"}`)))
		}
	}
	return c
}

func (c *judgedCase) pick(values ...string) string { return values[c.random.IntN(len(values))] }

// rarely returns the second value once in ten times.
func (c *judgedCase) rarely(value, other string) string {
	if c.random.IntN(10) == 0 {
		return other
	}
	return value
}

func (c *judgedCase) addBundle(pkg string, v int, sparse bool) {
	b := &judgedBundle{pkg: pkg, version: v, modes: []string{"OwnNamespace", "SingleNamespace"}}
	if c.random.IntN(4) > 0 {
		b.modes = append(b.modes, "AllNamespaces")
	}
	b.properties = []declcfg.Property{
		property(declcfg.PropertyPackage, `{"packageName": %q, "version": "%d.0.0"}`, pkg, v),
		property(declcfg.PropertyGVK, `{"group": "crafts.example", "version": "v1", "kind": %q}`, kindOfPackage(pkg)),
	}
	if other := c.pick(judgedPackages...); other != pkg && !sparse && c.random.IntN(2) == 0 {
		c.requires = true
		if c.random.IntN(2) == 0 {
			b.properties = append(b.properties, property(declcfg.PropertyPackageRequired,
				`{"packageName": %q, "versionRange": ">=%d.0.0"}`, other, 1+c.random.IntN(4)))
		} else {
			b.properties = append(b.properties, property(declcfg.PropertyGVKRequired,
				`{"group": "crafts.example", "version": "v1", "kind": %q}`, kindOfPackage(c.pick(other, "Lathe"))))
		}
	}
	limit := c.pick("", "", `, "maximum": 20`, `, "maximum": 10`)
	versions := fmt.Sprintf(`{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
		{"type": "object", "properties": {"size": {"type": "integer"%s}}}}}`, limit)
	if c.random.IntN(4) == 0 {
		versions = strings.Replace(versions, `"storage": true`, `"storage": false`, 1) + ", " +
			strings.Replace(versions, `"v1"`, `"v2"`, 1)
	}
	b.definition = fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "%ss.crafts.example"}, "spec": {"group": "crafts.example", "scope": %q,
		"names": {"kind": %q, "plural": "%[1]ss", "singular": %[1]q, "listKind": "%[3]sList"}, "versions": [%[4]s]}}`,
		pkg, c.rarely("Namespaced", "Cluster"), kindOfPackage(pkg), versions)
	b.deployment = fmt.Sprintf(`"name": %q, "spec": {"selector": {"matchLabels": {"app": %[2]q}}, "template": {"metadata":
		{"labels": {"app": %[2]q}}, "spec": {"containers": [{"name": "a", "image": "registry.example/a:%[3]s"}]}}}`,
		pkg, c.rarely("a", "b"), c.pick("v1", "v2"))
	b.others = []string{
		fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "immutable": %s,
			"data": {"a": %q}}`, pkg, c.pick("true", "false"), c.rarely("b", "c")),
		fmt.Sprintf(`{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": %q}, "value": %s}`,
			pkg, c.rarely("1", "2")),
	}
	c.bundles[b.name()] = b
	c.text = append(c.text, b.object())
}

// addChannel adds a channel with the bundles of the versions from first to last.
func (c *judgedCase) addChannel(pkg, name string, first, last int) {
	var entries []string
	for v := first; v <= last; v++ {
		edges := ""
		if v > first && c.random.IntN(5) > 0 {
			edges = fmt.Sprintf(`, "replaces": "%s.v%d.0.0"`, pkg, v-1)
		}
		if v > first && c.random.IntN(3) == 0 {
			edges += fmt.Sprintf(`, "skipRange": "<%d.0.0"`, v)
		}
		if v > first+1 && c.random.IntN(3) == 0 {
			edges += fmt.Sprintf(`, "skips": ["%s.v%d.0.0"]`, pkg, v-1-c.random.IntN(2))
		}
		entries = append(entries, fmt.Sprintf(`{"name": "%s.v%d.0.0"%s}`, pkg, v, edges))
	}
	c.channels[pkg] = append(c.channels[pkg], name)
	c.text = append(c.text, fmt.Sprintf(`{"schema": "olm.channel", "package": %q, "name": %q, "entries": [%s]}`,
		pkg, name, strings.Join(entries, ", ")))
}

func (c *judgedCase) source() declcfg.Source {
	return render.Text("catalog.json", []byte(strings.Join(c.text, "\n")))
}

func (c *judgedCase) catalog(t *testing.T) *resolve.Catalog {
	t.Helper()
	catalog, err := resolve.ReadCatalog(t.Context(), c.source())
	if err != nil {
		t.Fatal(err)
	}
	catalog.Namespace, catalog.Name = "ns", "cat"
	return catalog
}

// A judgedQuestion is about a Subscription and a ClusterExtension.
type judgedQuestion struct {
	pkg, channel string        // the channel is "" for any
	starting     string        // startingCSV of the Subscription
	version      string        // range in the ClusterExtension
	installed    *judgedBundle // for both; nil for none
}

func (q judgedQuestion) String() string {
	text := fmt.Sprintf("channel %q, startingCSV %q, version %q", q.channel, q.starting, q.version)
	if q.installed != nil {
		text += ", installed " + q.installed.name()
	}
	return text
}

// state returns the cluster of a question.
func (c *judgedCase) state(q judgedQuestion) string {
	const beta = "apiVersion: operators.coreos.com/v1alpha1, "
	config := ""
	if c.gate {
		config = ", config: {configType: Inline, inline: {watchNamespace: ns}}"
	}
	current, bundle, channels, pkg, installed := "", "", "", q.pkg, q.installed
	if q.channel != "" {
		channels = ", channels: [" + q.channel + "]"
	}
	if q.version != "" {
		channels += ", version: '" + q.version + "'"
	}
	if installed != nil {
		current = fmt.Sprintf("{installedCSV: %s, currentCSV: %[1]s, state: AtLatestKnown}", installed.name())
		bundle = fmt.Sprintf("{install: {bundle: {name: %s, version: %d.0.0}}}", installed.name(), installed.version)
	}
	objects := []string{
		"{kind: Namespace, apiVersion: v1, metadata: {name: ns}}",
		"{kind: OperatorGroup, apiVersion: operators.coreos.com/v1, metadata: {name: og, namespace: ns}, spec: " +
			"{targetNamespaces: [ns]}, status: {namespaces: [ns], lastUpdated: '2026-01-01T00:00:00Z'}}",
		"{kind: CatalogSource, " + beta + "metadata: {name: cat, namespace: ns}, spec: {sourceType: grpc, " +
			"address: 'cat:50051'}, status: {connectionState: {address: 'cat:50051', lastObservedState: READY}}}",
		fmt.Sprintf("{kind: Subscription, "+beta+"metadata: {name: sub, namespace: ns}, spec: {name: %s, channel: %q, "+
			"startingCSV: %q, source: cat, sourceNamespace: ns}, status: %s}", pkg, q.channel, q.starting, current),
		"{kind: ClusterCatalog, apiVersion: olm.operatorframework.io/v1, metadata: {name: cat}, spec: {source: " +
			"{type: Image, image: {ref: registry.example/cat:v1}}}}",
		fmt.Sprintf("{kind: ClusterExtension, apiVersion: olm.operatorframework.io/v1, metadata: {name: %s}, spec: "+
			"{namespace: ns, serviceAccount: {name: installer}, source: {sourceType: Catalog, catalog: "+
			"{packageName: %[1]s%[2]s}}%[4]s}, status: %[3]s}", pkg, channels, bundle, config),
	}
	if installed != nil {
		objects = append(append(objects, installed.installed()...), fmt.Sprintf(
			"{kind: %s, apiVersion: crafts.example/v1, metadata: {name: one, namespace: ns}, size: 15}", kindOfPackage(pkg)))
	}
	return strings.Join(objects, "\n---\n")
}

func storageVersion(definition string) string {
	if strings.Contains(definition, `"v2"`) {
		return "v2"
	}
	return "v1"
}

// A judgement is what OLM does for one Subscription or ClusterExtension: the installed bundles, or why not.
type judgement struct {
	outcome resolve.Outcome
	install string
	message string
}

func (j judgement) String() string { return fmt.Sprintf("%s %s %s", j.outcome, j.install, j.message) }

func judgedClassic(r *resolve.ClassicResult) judgement {
	var names []string
	for _, c := range r.Install {
		names = append(names, c.Bundle)
	}
	slices.Sort(names)
	return judgement{r.Outcome, strings.Join(names, " "), r.Message}
}

func judgedV1(e *resolve.V1Request, r *resolve.V1Result) judgement {
	j := judgement{outcome: r.Outcome, message: r.Message}
	if e.Changes(r) {
		j.install = r.Choice.Bundle
	}
	return j
}

// TestJudges asks resolve --package, --all and --state, simulate, updates, check-updates --state and diff --impact about
// the same random clusters. They must not contradict each other.
func TestJudges(t *testing.T) {
	shared.OneGoroutine(t)
	seen := map[string]int{}
	for seed := range uint64(shared.Number(100, 10)) {
		c := randomCase(seed)
		for _, pkg := range judgedPackages {
			j := &judges{judgedCase: c, t: t, seed: seed, pkg: pkg, seen: seen}
			j.compare()
			if t.Failed() {
				t.Fatalf("catalog:\n%s", strings.Join(c.text, "\n"))
			}
		}
	}
	for _, what := range []string{
		"resolved by Classic", "refused by Classic", "resolved by v1", "refused by v1", "an update", "no update",
		"held back", "an update that can finish",
		"refused by classic-resource", "refused by classic-stored-version",
		"refused scope", "refused Deployment", "refused ConfigMap", "refused PriorityClass",
	} {
		if seen[what] < shared.Number(10, 3) {
			t.Errorf("%s: %d times: the test checks too little", what, seen[what])
		}
	}
	t.Log(seen)
}

// judges compares the judges of a package.
type judges struct {
	*judgedCase
	t    *testing.T
	seed uint64
	pkg  string
	seen map[string]int

	unresolved map[string]int // questions that are not resolved, by OLM
	questions  int
}

func (j *judges) errorf(format string, args ...any) {
	j.t.Helper()
	j.t.Errorf("seed %d, package %s: "+format, append([]any{j.seed, j.pkg}, args...)...)
}

func (j *judges) compare() {
	j.t.Helper()
	j.unresolved = map[string]int{}
	x := j.catalog(j.t).Index.Package(j.pkg)
	for _, ch := range graph.NewPackage(x).Channels {
		j.ask(judgedQuestion{pkg: j.pkg, channel: ch.Name})
		for _, e := range ch.Entries() {
			j.ask(judgedQuestion{pkg: j.pkg, channel: ch.Name, installed: j.bundles[e.Name]})
		}
	}
	j.compareAll()
	j.ask(judgedQuestion{pkg: j.pkg, channel: "none"})
	for range 2 {
		j.ask(judgedQuestion{
			pkg: j.pkg, channel: j.pick("", "stable"), starting: j.pick("", j.pkg+".v1.0.0", j.pkg+".v2.0.0", "none"),
			version: j.pick("", ">=2.0.0", "1.x", ">9"),
		})
	}
	from := j.bundles[j.pick(j.pkg+".v1.0.0", j.pkg+".v2.0.0")]
	j.ask(judgedQuestion{pkg: j.pkg, version: j.pick("", ">=2.0.0", "1.x"), installed: from})
}

// ask compares the answers to a question.
func (j *judges) ask(q judgedQuestion) {
	j.t.Helper()
	j.questions++
	opts := resolve.SetupOptions{
		Package: j.pkg, Channel: q.channel, StartingCSV: q.starting, Version: q.version, SingleOwnNamespace: j.gate,
	}
	if q.installed != nil {
		opts.Installed = []string{q.installed.name()}
	}
	setup, err := resolve.NewSetup(opts, []*resolve.Catalog{j.catalog(j.t)})
	if err != nil {
		j.t.Fatal(err)
	}
	result, err := setup.Classic.Resolve(j.t.Context(), resolve.Options{})
	if err != nil {
		j.t.Fatal(err)
	}
	classic, v1 := judgedClassic(result), judgedV1(&setup.V1, setup.V1.Resolve(setup.Catalogs))
	j.count("Classic", classic)
	j.count("v1", v1)

	state := loaded(j.t, j.state(q))
	cluster := install.Options{
		Catalogs:           []*resolve.Catalog{j.catalog(j.t), j.catalog(j.t).As("", "cat")},
		SingleOwnNamespace: j.gate,
	}
	request, err := install.NewRequest(state, cluster)
	if err != nil {
		j.t.Fatal(err)
	}
	answers, err := request.Classic(j.t.Context(), resolve.Options{})
	if err != nil {
		j.t.Fatal(err)
	}
	if got := judgedClassic(&answers[0].ClassicResult); got != classic {
		j.errorf("%s: OLM Classic: resolve --state: %s\nresolve --package: %s", q, got, classic)
	}
	for e, a := range request.V1() {
		if got := judgedV1(e, a); got != v1 {
			j.errorf("%s: OLM v1: resolve --state: %s\nresolve --package: %s", q, got, v1)
		}
	}
	checkResolution(j.t, fmt.Sprintf("seed %d, package %s, %s", j.seed, j.pkg, q), state, Options{Cluster: cluster})
	simulated, err := Run(j.t.Context(), state, Options{Cluster: cluster})
	if err != nil {
		j.t.Fatal(err)
	}
	j.compareUpdates(q, classic, v1)
	j.compareFinish(q, classic, simulated)
}

func (j *judges) count(olm string, answer judgement) {
	if answer.outcome == resolve.Resolved {
		j.seen["resolved by "+olm]++
		return
	}
	j.seen["refused by "+olm]++
	j.unresolved[olm]++
}

// compareUpdates compares the next updates that opm updates lists with the resolved ones. Its graph has no
// dependencies of OLM Classic, and no install modes of OLM v1.
func (j *judges) compareUpdates(q judgedQuestion, classic, v1 judgement) {
	j.t.Helper()
	if q.installed == nil {
		return
	}
	packages := slices.Values([]*declcfg.PackageIndex{j.catalog(j.t).Index.Package(j.pkg)})
	opts := list.UpdateOptions{Channel: q.channel, None: q.channel == "", From: q.installed.name()}
	if q.version != "" {
		var err error
		if opts.V1.Version, err = graph.ParseConstraint(q.version); err != nil {
			j.t.Fatal(err)
		}
	}
	rows, err := list.Updates(j.t.Context(), packages, opts)
	if err != nil {
		if strings.Contains(classic.install+" "+v1.install, j.pkg) {
			j.errorf("%s: opm updates: %v\nresolve: %s\n%s", q, err, classic, v1)
		}
		return
	}
	for row := range rows {
		for _, olm := range []struct {
			name   string
			fate   graph.Fate
			answer judgement
			plain  bool
		}{{"Classic", row.Classic, classic, !j.requires}, {"v1", row.V1, v1, true}} {
			if olm.fate.Outcome == graph.Update {
				j.seen["an update"]++
			} else {
				j.seen["no update"]++
			}
			isTo := slices.Contains(strings.Fields(olm.answer.install), olm.fate.Next)
			switch {
			case olm.answer.install != "" && olm.fate.Outcome == graph.Update && !isTo && olm.plain,
				olm.answer.outcome == resolve.Resolved && olm.fate.Outcome == graph.Failed,
				olm.answer.outcome == resolve.Resolved && olm.plain && isTo != (olm.fate.Outcome == graph.Update):
				j.errorf("%s: OLM %s: opm updates: %+v\nresolve: %s", q, olm.name, olm.fate, olm.answer)
			}
		}
	}
}

// compareAll compares the numbers of resolve --all with the answers.
func (j *judges) compareAll() {
	j.t.Helper()
	catalog := j.catalog(j.t)
	setup, err := resolve.NewSetup(resolve.SetupOptions{Package: j.pkg}, []*resolve.Catalog{catalog})
	if err != nil {
		j.t.Fatal(err)
	}
	check := resolve.Check{
		Classic: true, V1: true, Namespace: setup.Classic, Package: j.pkg, SingleOwnNamespace: j.gate,
	}
	check.Namespace.Subscriptions = nil
	checked, err := check.Run(j.t.Context())
	if err != nil {
		j.t.Fatal(err)
	}
	j.seen["held back"] += checked.Classic.HeldBack
	for _, olm := range []struct {
		name  string
		tally resolve.Tally
	}{{"Classic", checked.Classic}, {"v1", checked.V1}} {
		if olm.tally.Questions != j.questions || olm.tally.Unresolved != j.unresolved[olm.name] {
			j.errorf("OLM %s: resolve --all: %+v\nresolve --package: %d of %d questions unresolved",
				olm.name, olm.tally, j.unresolved[olm.name], j.questions)
		}
	}
}

// compareFinish compares the InstallPlan and the operator of an update with the problems that check-updates --state and
// diff --impact have: an update can finish, or OLM or an API server refuses an object.
func (j *judges) compareFinish(q judgedQuestion, classic judgement, simulated *Result) {
	j.t.Helper()
	to := j.bundles[classic.install] // nil if several bundles are installed
	if q.installed == nil || to == nil {
		return
	}
	bundles, err := updatecheck.Read(j.t.Context(), image.SpoolOptions{}, j.source())
	if err != nil {
		j.t.Fatal(err)
	}
	defer bundles.Close()
	report, err := bundles.Check(j.t.Context(), updatecheck.Options{
		Package: j.pkg, State: loaded(j.t, j.state(q)), OLM: []graph.Semantics{graph.Classic},
		To: func(_, bundle string) bool { return bundle == to.name() },
	})
	if err != nil {
		j.t.Fatal(err)
	}
	var refused []string
	ofResources := true // all refusals are because of the custom resources of the cluster
	for _, p := range report.Problems {
		if p.Severity == problem.Error && slices.Contains(p.Names, q.installed.name()) {
			refused = append(refused, p.Message)
			ofResources = ofResources && p.Rule == "classic-resource"
			j.seen["refused by "+p.Rule]++
			if kind, _, isOther := strings.Cut(p.Names[0], " "); isOther {
				j.seen["refused "+kind]++
			} else if p.Rule == "refused-update" {
				j.seen["refused scope"]++
			}
		}
	}
	if refused == nil {
		j.seen["an update that can finish"]++
	}
	failed := failure(simulated, to.name())
	if (refused != nil) != (failed != "") {
		j.errorf("%s, update to %s: check-updates --state: %q\nsimulate: %q\n%s", q, to.name(), refused, failed,
			timeline(simulated))
	}
	if found := j.impact(q.installed, to); !ofResources && (refused != nil) != (len(found) > 0) {
		j.errorf("%s, update to %s: check-updates --state: %q\ndiff --impact: %q", q, to.name(), refused, found)
	}
}

// failure returns the reason why the InstallPlan of an operator fails, or else why the operator fails, or "". OLM tries
// to install the objects of an operator again and again.
func failure(simulated *Result, csv string) string {
	for o := range simulated.State.InstallPlans.In("ns") {
		isTo := slices.Contains(o.Value.Spec.ClusterServiceVersionNames, csv)
		if isTo && o.Value.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
			return o.Value.Status.GetCondition(v1alpha1.InstallPlanInstalled).Message
		}
	}
	o, ok := simulated.State.ClusterServiceVersions.Get("ns", csv)
	if !ok || o.Value.Status.Phase == v1alpha1.CSVPhaseSucceeded {
		return ""
	}
	for _, c := range slices.Backward(o.Value.Status.Conditions) {
		if c.Phase == v1alpha1.CSVPhaseFailed {
			return c.Message
		}
	}
	return ""
}

// Impact returns the reasons that diff --impact has why updates to new bundles do not finish. It is set by a test of
// another package, since package impact imports this one.
var Impact func(t *testing.T, before, after declcfg.Source) []string

// impact returns the reasons that diff --impact has why OLM Classic does not finish an update.
func (j *judges) impact(from, to *judgedBundle) []string {
	j.t.Helper()
	source := func(entries string, bundles ...*judgedBundle) declcfg.Source {
		text := fmt.Sprintf(`{"schema": "olm.channel", "package": %q, "name": "stable", "entries": [%s]}`, j.pkg, entries)
		for _, b := range bundles {
			text += "\n" + b.object()
		}
		return render.Text("catalog.json", []byte(text))
	}
	entry := fmt.Sprintf(`{"name": %q}`, from.name())
	return slices.DeleteFunc(Impact(j.t, source(entry, from),
		source(fmt.Sprintf(`%s, {"name": %q, "replaces": %q}`, entry, to.name(), from.name()), from, to),
	), func(message string) bool { return !strings.Contains(message, graph.Classic.Title()) })
}
