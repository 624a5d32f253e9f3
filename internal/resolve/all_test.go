package resolve

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	manifests "github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// checkTests are catalogs with the expected problems, without the start of their lines.
var checkTests = []struct{ name, scenario, want string }{
	{"all is well", "has a.v2.0.0 package=d:>=3.0.0", ""},
	{"what the head requires is nowhere", "has a.v2.0.0 package=d:>=9.0.0", `
		a.v2.0.0 requires an operator with package: d and with version in range: >=9.0.0, and no catalog has one:
		 channel "stable" installs a.v1.1.0 instead of a.v2.0.0;
		 in channel "stable" a.v1.1.0 is not updated to a.v2.0.0;
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed;
		 add it, or name another catalog that has it [classic-unresolved]`},
	{"one bundle holds back another, and itself has an update", `
		channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0
		has a.v1.1.0 requires-gvk=K`, `
		a.v1.1.0 requires an operator providing an API with group: g.io, version: v1, kind: K, and no catalog has one:
		 in channel "stable" a.v1.0.0 is not updated to a.v1.1.0;
		 add it, or name another catalog that has it [classic-held-back]`},
	{"another update instead", `
		range a.v1.1.0 <1.1.0
		range a.v2.0.0 <2.0.0
		has a.v2.0.0 requires-gvk=K
		channel a fast a.v2.0.0`, `
		a.v2.0.0 requires an operator providing an API with group: g.io, version: v1, kind: K, and no catalog has one:
		 channel "stable" installs a.v1.1.0 instead of a.v2.0.0;
		 in channel "stable" a.v1.0.0 is updated to a.v1.1.0 instead of a.v2.0.0 (and 1 more);
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed (and 1 more);
		 nothing can be installed from channel "fast";
		 add it, or name another catalog that has it [classic-unresolved]`},
	{"the same fact about several bundles", `
		has a.v1.0.0 requires-gvk=K
		has a.v1.1.0 requires-gvk=K
		has a.v2.0.0 requires-gvk=K`, `
		a.v2.0.0 and 2 more require an operator providing an API with group: g.io, version: v1, kind: K, and no catalog has one:
		 nothing can be installed from channel "stable";
		 nothing is resolved if a.v1.0.0 of channel "stable" is installed (and 2 more);
		 add it, or name another catalog that has it [classic-unresolved]`},
	{"what is required requires more", "has a.v2.0.0 package=d:<2.0.0\nhas d.v1.0.0 requires-label=L", `
		d.v1.0.0 requires an operator with label: L, and no catalog has one:
		 channel "stable" installs a.v1.1.0 instead of a.v2.0.0;
		 in channel "stable" a.v1.1.0 is not updated to a.v2.0.0;
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed;
		 add it, or name another catalog that has it [classic-unresolved]`},
	{"what is required excludes the bundle", `
		has d.v1.0.0 gvk=K
		has d.v2.0.0 gvk=K
		has a.v2.0.0 gvk=K
		has a.v2.0.0 package=d:<3.0.0`, `
		bundle a.v2.0.0 requires an operator with package: d and with version in range: <3.0.0,
		 c/ns/beta/d.v1.0.0, c/ns/stable/a.v2.0.0, c/ns/stable/d.v1.0.0 and c/ns/stable/d.v2.0.0 provide K (g.io/v1):
		 channel "stable" installs a.v1.1.0 instead of a.v2.0.0;
		 in channel "stable" a.v1.1.0 is not updated to a.v2.0.0;
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed [classic-unresolved]`},
	{"a deprecated head is not wanted", "has a.v2.0.0 deprecated", `
		a.v2.0.0 has the property olm.deprecated:
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed [classic-unresolved]`},
	{"two chains", "channel a stable* a.v1.0.0 a.v1.1.0 a.v2.0.0<a.v1.1.0", `
		a unique replacement chain within a channel is required to determine the relative order between channel entries,
		 but 2 replacement chains were found in channel "stable" of package "a": a.v1.0.0, a.v2.0.0...a.v1.1.0:
		 nothing can be installed from channel "stable";
		 nothing is resolved if a.v1.0.0 of channel "stable" is installed (and 2 more) [classic-unresolved]`},
	{"a broken requirement", "has a.v2.0.0 package=d:bogus", `
		Could not get version from string: "bogus":
		 nothing can be installed from channel "stable";
		 nothing is resolved if a.v1.1.0 of channel "stable" is installed (and 1 more) [classic-unresolved]`},
	{"the API twice", "has a.v2.0.0 gvk=K\nhas a.v2.0.0 gvk=K", `
		c/ns/stable/a.v2.0.0 and c/ns/stable/a.v2.0.0 provide K (g.io/v1):
		 channel "stable" installs a.v1.1.0 instead of a.v2.0.0;
		 in channel "stable" a.v1.1.0 is not updated to a.v2.0.0;
		 nothing is resolved if a.v2.0.0 of channel "stable" is installed [classic-unresolved]`},
	{"another catalog has it", "has a.v2.0.0 requires-gvk=K\ncatalog e\nchannel k s* k.v1.0.0\nhas k.v1.0.0 gvk=K", ""},
}

func TestCheck(t *testing.T) {
	for _, tt := range checkTests {
		t.Run(tt.name, func(t *testing.T) {
			checked := runCheck(t, parseScenario(t, base+tt.scenario), true, false)
			var got []string
			for _, p := range checked.Problems {
				_, message, _ := strings.Cut(p.String(), `": `)
				got = append(got, message)
				if p.Pos.Line == 0 {
					t.Errorf("%s: no place", p)
				}
			}
			want := strings.ReplaceAll(strings.TrimPrefix(tt.want, "\n\t\t"), "\n\t\t ", " ")
			want = strings.ReplaceAll(want, "\n\t\t", "\n")
			if text := strings.Join(got, "\n"); text != want {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
		})
	}
}

func runCheck(t *testing.T, ns *ClassicRequest, classic, v1 bool) *Checked {
	t.Helper()
	check := Check{Classic: classic, V1: v1, Namespace: ClassicRequest{Name: ns.Name, Catalogs: ns.Catalogs}}
	checked, err := check.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// TestCheckRules checks that the bad example of each rule breaks that rule and no other rule of the same OLM version,
// and that the good example breaks none.
func TestCheckRules(t *testing.T) {
	head := func(text string) string { return strings.Join(strings.SplitAfterN(text, "\n", 4)[:3], "") }
	rulesOf := func(change string, classic, v1 bool) []string {
		documents := slices.DeleteFunc(strings.Split(Rules().Example, "---\n"), func(text string) bool {
			return head(text) == head(change)
		})
		text := strings.Join(append(documents, change), "---\n")
		fsys := fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}
		c, err := ReadCatalog(t.Context(), declcfg.Source{Name: "catalog", FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		c.Name, c.Namespace = "c", "ns"
		var names []string
		for _, p := range runCheck(t, &ClassicRequest{Name: "ns", Catalogs: []*Catalog{c}}, classic, v1).Problems {
			names = append(names, p.Rule)
		}
		return names
	}
	ruletest.Explained(t, Rules().All())
	for _, r := range Rules().All() {
		classic := strings.HasPrefix(r.Name, "classic-")
		if got := rulesOf(r.Example().Bad, classic, !classic); !slices.Equal(got, []string{r.Name}) {
			t.Errorf("%s: the bad example breaks %v", r.Name, got)
		}
		if got := rulesOf(r.Example().Good, true, true); len(got) > 0 {
			t.Errorf("%s: the good example breaks %v", r.Name, got)
		}
	}
}

// TestCheckAgrees checks that the tallies of a Check equal the sum of its questions, asked one by one.
func TestCheckAgrees(t *testing.T) {
	for seed := range uint64(100) {
		text := randomScenario(rand.New(rand.NewPCG(seed, 1)))
		ns := parseScenario(t, text)
		compareCheck(t, ns)
		if t.Failed() {
			t.Fatal(text)
		}
	}
}

func TestCheckAgreesOnPublishedCatalogs(t *testing.T) {
	for _, dir := range shared.Catalogs(t) {
		c, err := ReadCatalog(t.Context(), declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		c.Name, c.Namespace = "c", "ns"
		compareCheck(t, &ClassicRequest{Name: "ns", Catalogs: []*Catalog{c}})
	}
}

func compareCheck(t *testing.T, ns *ClassicRequest) {
	t.Helper()
	ns.Installed, ns.Subscriptions = nil, nil
	var classic, v1 Tally
	for _, x := range ns.Catalogs[0].Index.Packages() {
		g := graph.NewPackage(x)
		for _, c := range g.Channels {
			plan, _ := g.Classic(c)
			ask := func(b *graph.Bundle) {
				classic.add(askClassic(t, ns, plan, c, b))
				v1.add(askV1(ns.Catalogs[0], c, b))
			}
			ask(nil)
			for _, e := range c.Entries() {
				ask(g.Bundle(e.Name))
			}
		}
	}
	if got := runCheck(t, ns, true, true); got.Classic != classic || got.V1 != v1 {
		t.Errorf("got %+v and %+v, one by one %+v and %+v", got.Classic, got.V1, classic, v1)
	}
}

// askClassic asks one question. The expected answer is the plan, which ignores dependencies.
func askClassic(t *testing.T, ns *ClassicRequest, plan *graph.Plan, c *graph.Channel, b *graph.Bundle) Tally {
	t.Helper()
	catalog, one := ns.Catalogs[0], *ns
	s := Subscription{
		Name: "s", Package: c.Package, Channel: c.Name, Catalog: catalog.Name, CatalogNamespace: catalog.Namespace,
	}
	want := plan.Goal()
	if b != nil {
		in, ok := catalog.Operator(c.Package, b.Name)
		if !ok {
			t.Fatalf("no %s", b.Name)
		}
		one.Installed = []Installed{in}
		s.InstalledCSV, s.CurrentCSV = b.Name, b.Name
		step, _ := plan.Next(b)
		want = step.To
	}
	one.Subscriptions = []Subscription{s}
	answer, err := one.Resolve(t.Context(), patient)
	if err != nil {
		t.Fatal(err)
	}
	chosen := func(c Choice) bool { return want != nil && c.Bundle == want.Name }
	switch {
	case answer.Outcome != Resolved:
		return Tally{Questions: 1, Unresolved: 1}
	case want != nil && !slices.ContainsFunc(answer.Install, chosen):
		return Tally{Questions: 1, HeldBack: 1}
	}
	return Tally{Questions: 1}
}

func askV1(catalog *Catalog, c *graph.Channel, b *graph.Bundle) Tally {
	e := V1Request{Name: "e", Package: c.Package, Channels: []string{c.Name}}
	if b != nil {
		e.Installed = &InstalledBundle{Name: b.Name, Version: b.Version.Semver.String(), Release: b.Version.Release.String()}
	}
	if e.Admit() != nil || e.Resolve([]*Catalog{catalog}).Outcome != Resolved {
		return Tally{Questions: 1, Unresolved: 1}
	}
	return Tally{Questions: 1}
}

// TestCheckWithoutChannel checks a bundle that is in no channel, to which OLM v1 resolves unless it follows a channel.
func TestCheckWithoutChannel(t *testing.T) {
	const text = `
{schema: olm.package, name: kiln, defaultChannel: a}
---
{schema: olm.channel, package: kiln, name: a, entries: [{name: kiln.v1}]}
---
schema: olm.bundle
package: kiln
name: kiln.v1
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
---
schema: olm.bundle
package: kiln
name: kiln.v2
properties:
- {type: olm.package, value: {packageName: kiln, version: 2.0.0}}
- {type: olm.csv.metadata, value: {installModes: [{type: OwnNamespace, supported: true}]}}
`
	c, err := ReadCatalog(t.Context(), declcfg.Source{Name: "c", FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Namespace = "c", "ns"
	const want = "kiln.v2 cannot be installed: unsupported bundle: bundle does not support AllNamespaces install " +
		"mode: nothing can be installed without a channel"
	found := runCheck(t, &ClassicRequest{Name: "ns", Catalogs: []*Catalog{c}}, false, true).Problems
	if len(found) != 1 || found[0].Message != want {
		t.Errorf("got %v, want %s", found, want)
	}
}

// TestCheckImages checks that images are read once, of the bundles that OLM v1 resolves to, and that every reason
// counts.
func TestCheckImages(t *testing.T) {
	const text = `
{schema: olm.package, name: kiln, defaultChannel: a}
---
{schema: olm.channel, package: kiln, name: a, entries: [{name: kiln.v1}, {name: kiln.v2, replaces: kiln.v1}]}
---
schema: olm.bundle
package: kiln
name: kiln.v1
image: registry.example/kiln:v1
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
---
schema: olm.bundle
package: kiln
name: kiln.v2
image: registry.example/kiln:v2
properties:
- {type: olm.package, value: {packageName: kiln, version: 2.0.0}}
- {type: olm.gvk.required, value: {group: a.example, version: v1, kind: A}}
---
{schema: olm.package, name: free, defaultChannel: a}
---
{schema: olm.channel, package: free, name: a, entries: [{name: free.v1}]}
---
schema: olm.bundle
package: free
name: free.v1
properties: [{type: olm.package, value: {packageName: free, version: 1.0.0}}]
`
	c, err := ReadCatalog(t.Context(), declcfg.Source{
		Name: "c", FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Namespace = "c", "ns"
	b := declcfg.Bundle{Name: "kiln.v2", Properties: []declcfg.Property{{
		Type: declcfg.PropertyBundleObject,
		Value: jsontext.Value(`{"data":"` + base64.StdEncoding.EncodeToString([]byte(
			`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","spec":{"installModes":`+
				`[{"type":"OwnNamespace","supported":true}]}}`)) + `"}`),
	}}}
	var read []string
	check := Check{V1: true, Memo: V1Memo{}, Namespace: ClassicRequest{Name: "ns", Catalogs: []*Catalog{c}}}
	check.Images = func(_ context.Context, refs []string, found FoundImage) error {
		read = append(read, refs...)
		for _, ref := range refs {
			found(ref, manifests.ContentsOf(&b), nil)
		}
		return nil
	}
	for range 2 {
		checked, err := check.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range checked.Answers {
			line := a.Package + " " + string(a.Installs)
			for _, r := range a.Reasons {
				line += " " + r.Kind
			}
			got = append(got, line)
		}
		if want := []string{"free unknown image", "kiln no dependency install-modes"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		summary := checked.Report().Summary
		if want := "OLM v1 installs 0 of 2 packages, and refuses 1; 1 is not known"; summary[len(summary)-1] != want {
			t.Errorf("got %q, want %q", summary, want)
		}
	}
	if want := []string{"registry.example/kiln:v2"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
}

// TestCheckedSummary checks the lines about each OLM that is asked, and that a platform has no OLM v1 to ask.
func TestCheckedSummary(t *testing.T) {
	const as = " new installations and updates: "
	old := &Check{Classic: true, V1: true, Target: platform.OpenShift(platform.Version{Major: 4, Minor: 12})}
	classic, v1 := Tally{Questions: 3, HeldBack: 1}, Tally{Questions: 2, Unresolved: 1}
	for _, tt := range []struct {
		checked Checked
		want    []string
	}{
		{Checked{Classic: classic, V1: v1, check: &Check{Classic: true, V1: true}}, []string{
			"OLM Classic: 3" + as + "2 as they should be, 1 held back, 0 unresolved",
			"OLM v1: 2" + as + "1 as they should be, 0 held back, 1 unresolved",
		}},
		{Checked{Classic: classic, check: old}, []string{
			"OLM Classic: 3" + as + "2 as they should be, 1 held back, 0 unresolved",
			"OpenShift 4.12 has no OLM v1, which is not asked",
		}},
		{Checked{check: &Check{Classic: true, Target: old.Target}}, nil},
		{
			Checked{Answers: []V1Answer{{Installs: InstallsYes}}, check: &Check{V1: true, ByChannel: true}},
			[]string{"OLM v1 installs 1 of 1 channel, and refuses 0"},
		},
	} {
		if got := tt.checked.Report().Summary; !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestAnswerTable checks the table of the answers of OLM v1, about packages and about channels.
func TestAnswerTable(t *testing.T) {
	answers := []V1Answer{
		{Package: "kiln", Channel: "a", Bundle: "kiln.v1", Installs: InstallsYes},
		{Package: "kiln", Channel: "b", Installs: InstallsNo, Reasons: []V1Reason{{Message: "no\nbundle"}, {Message: "x"}}},
		{Package: "loom", Bundle: "loom.v1", Installs: InstallsUnknown, Reasons: []V1Reason{{Message: "no image"}}},
	}
	for byChannel, want := range map[bool]string{
		true: `
PACKAGE  CHANNEL  BUNDLE   INSTALLED BY OLM V1
kiln     a        kiln.v1  yes
kiln     b        -        no: no; bundle; x
loom     -        loom.v1  no image
`,
		false: `
PACKAGE  BUNDLE   INSTALLED BY OLM V1
kiln     kiln.v1  yes
kiln     -        no: no; bundle; x
loom     loom.v1  no image
`,
	} {
		var out report.Report
		(&Checked{Answers: answers, check: &Check{ByChannel: byChannel}}).Table(&out)
		var text strings.Builder
		if err := out.Text(&text); err != nil || text.String() != want[1:] {
			t.Errorf("got %v\n%s\nwant\n%s", err, text.String(), want[1:])
		}
	}
}
