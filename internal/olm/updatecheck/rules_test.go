package updatecheck

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestExamplesOfRules checks that the bad example of each rule breaks only this rule, and the good one breaks none.
// Each version of OLM has its own rules.
func TestExamplesOfRules(t *testing.T) {
	ruletest.Explained(t, Rules().All())
	for _, r := range Rules().All() {
		t.Run(r.Name, func(t *testing.T) {
			olm := graph.Classic
			if strings.HasPrefix(r.Name, "v1-") || r.Name == ruleTooMany.Name {
				olm = graph.V1
			}
			if r.Name == ruleTooMany.Name {
				defer func(n int) { maxFindings = n }(maxFindings)
				maxFindings = 0
			}
			if got := rulesOf(t, r.Example().Bad, olm); !slices.Equal(got, []string{r.Name}) {
				t.Errorf("the bad example breaks %q", got)
			}
			if got := rulesOf(t, r.Example().Good, olm); got != nil {
				t.Errorf("the good example breaks %q", got)
			}
		})
	}
}

// rulesOf returns the rules broken by a change to the example files.
func rulesOf(t *testing.T, change string, olm graph.Semantics) (names []string) {
	t.Helper()
	files := changed(t, Rules().Example, change)
	opts := Options{OLM: []graph.Semantics{olm}}
	catalog := files["catalog.yaml"]
	for i, name := range []string{"before.yaml", "after.yaml"} {
		catalog += fmt.Sprintf("---\n{schema: olm.bundle, package: kiln, name: kiln.v%d, properties: [%s]}\n",
			i+1, objects(t, files[name]))
	}
	if kiln := files["kiln.yaml"]; kiln != "" {
		var err error
		opts.State, err = cluster.Load(t.Context(), nil,
			declcfg.Source{Name: "s", FS: fstest.MapFS{"kiln.yaml": {Data: []byte(kiln)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := checkCatalog(t, catalog, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		names = append(names, p.Rule)
	}
	return names
}

// objects returns the properties of a bundle with a definition, or no manifests at all without one.
func objects(t *testing.T, crd string) string {
	t.Helper()
	if crd == "" {
		return ""
	}
	var all []string
	for _, text := range []string{"kind: ClusterServiceVersion", crd} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("{type: olm.bundle.object, value: {data: %s}}", base64.StdEncoding.EncodeToString(raw)))
	}
	return strings.Join(all, ", ")
}

// changed returns the files of an example after a change, in which a line replaces the line with the same key.
func changed(t *testing.T, example, change string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(example)).Files {
		files[f.Name] = string(f.Data)
	}
	for _, f := range txtar.Parse([]byte(change)).Files {
		text := string(f.Data)
		if text == "" || strings.HasPrefix(text, "apiVersion") {
			files[f.Name] = text
			continue
		}
		for line := range strings.Lines(text) {
			key, _, _ := strings.Cut(line, ":")
			lines := slices.Collect(strings.Lines(files[f.Name]))
			i := slices.IndexFunc(lines, func(in string) bool { return strings.HasPrefix(in, key+":") })
			if i < 0 {
				t.Fatalf("%s has no %s", f.Name, key)
			}
			lines[i] = line
			files[f.Name] = strings.Join(lines, "")
		}
	}
	return files
}
