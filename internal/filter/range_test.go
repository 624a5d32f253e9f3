//nolint:dupword // channels repeat the names of their entries
package filter_test

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
)

// TestRange checks the versions that oc-mirror keeps of a channel for a range, and the repairs.
func TestRange(t *testing.T) {
	const chain = "v5 replaces v4; v4 replaces v3; v3 replaces v2; v2 replaces v1; v1"
	const refusal = `validating bundle "v3": bundle "v3" has a dependency declared via property "olm.gvk.required" ` +
		"which is currently not supported"
	for _, tt := range []struct {
		name, channel, versions string
		want                    string
		changes                 string // without package and channel
	}{
		{"all", chain, ">=1", "v5 v4 v3 v2 v1", ""},
		{"from", chain, ">=3", "v5 v4 v3", ""},
		{"up to", chain, "<=3", "v3 v2 v1", `the head is "v3", was "v5"`},
		{"between", chain, ">=2 <=4", "v4 v3 v2", `the head is "v4", was "v5"`},
		{"one", chain, "=2", "v2", `the head is "v2", was "v5"`},
		{
			"a version out of the range between others", "v1.3 replaces v2; v2 replaces v1; v1", "1.x", "v1.3 v2 v1",
			`"v2" is kept although it is not in the range, since it connects other versions`,
		},
		{
			"a pre-release", "v2 replaces v1; v1; bundle v1 1.0.0-1; bundle v2 2.0.0", ">=1.0.0", "v2", "",
		},
		{
			"a range with a pre-release", "v2 replaces v1; v1; bundle v1 1.0.0-1; bundle v2 2.0.0", ">=1.0.0-0", "v2 v1", "",
		},
		{"skipped in the range", "v3 replaces v1 skips v2; v2 replaces v1; v1", ">=2", "v3 v2", ""},
		{"skipped out of the range", "v3 replaces v1 skips v2; v2 replaces v1; v1", "!=2", "v3 v1", ""},
		{
			"only what is skipped", "v3 replaces v1 skips v2; v2 replaces v1; v1", "=2", "v3 v2",
			`"v3" is kept although it is not in the range, since it connects other versions`,
		},
		{
			"the head skips most", "v4 replaces v3 skips v1,v2,v3; v3 replaces v2 skips v2; v2 replaces v1; v1", "<=3",
			"v3 v2 v1", `the head is "v3", was "v4"; "v3" skips "v1" too, since no update would lead from it to the head`,
		},
		{
			"what is skipped only by what goes", "v4 replaces v3 skips v2,v1; v3 replaces v2 skips v2; v2 replaces v1; v1",
			">=2 <=3", "v3 v2", `the head is "v3", was "v4"`,
		},
		{
			"an entry that is skipped replaces the new head", "v4 replaces v2; v2 replaces v1 skips v3; v3 replaces v2; v1",
			"<=3", "v2 v3 v1", `the head is "v2", was "v4"; "v3" no longer replaces the head "v2"`,
		},
		{
			"an entry that is skipped skips the new head", "v4 replaces v2; v2 replaces v1 skips v3; v3 skips v2,v1; v1",
			"<=3", "v2 v3 v1", `the head is "v2", was "v4"; "v3" no longer skips the head "v2"`,
		},
		{
			"the chain goes on behind a skipped entry", "v5 replaces v4 skips v1; v4 replaces v3; v3 replaces v2 skips v2; v2 replaces v1; v1",
			"<=4", "v4 v3 v2 v1", `the head is "v4", was "v5"; "v4" skips "v1" too, since no update would lead from it to the head`,
		},
		{
			"a cycle that nothing skips any more", "v3 replaces v2 skips v4; v2 replaces v1; v1 replaces v4; v4 replaces v1", "!=3",
			"v2 v4 v1", `the head is "v2", was "v3"; "v4" no longer replaces "v1", which leads back to it`,
		},
		{
			"what only skipped entries skip", "v4 replaces v2 skips v3,v6; v2 replaces v3 skips v1,v5; v3 skips v6; " +
				"v1 skips v6; v5 skips v1,v3,v6; v6", "!=2, !=4",
			"v2 v6 v5 v3 v1", `"v2" is kept although it is not in the range, since it connects other versions; ` +
				`the head is "v2", was "v4"; "v2" skips "v6" too, since OLM Classic would not update it to the head`,
		},
		{
			"the head led past a deprecated version", "v4 replaces v3 range <4.0.0; v3 replaces v2; v2 replaces v1; v1; deprecated v2",
			"<=3", "v3 v2 v1", `the head is "v3", was "v4"; "v3" skips "v1" too, since OLM v1 would not update it to the head`,
		},
		{
			"the new head is deprecated, too", "v5 replaces v4 range <5.0.0; v4 replaces v3; v3 replaces v2; v2 replaces v1; v1; " +
				"deprecated v2; deprecated v4",
			"<=4", "v4 v3 v2 v1", `the head is "v4", was "v5"; "v3" skips "v1" too, since OLM v1 would not update it to the head`,
		},
		{
			"OLM v1 refuses the new head", "v4 replaces v3 range <4.0.0; v3 replaces v2; v2 replaces v1; v1; requires v3 olm.gvk.required",
			"<=3", "v3 v2 v1", `the head is "v3", was "v4"; OLM v1 no longer updates "v2" to the head: ` + refusal +
				`; OLM v1 no longer updates "v1" to the head: ` + refusal,
		},
		{
			"OLM Classic never installs the new head", "v4 replaces v3; v3 replaces v2; v2 replaces v1; v1; prohibited v3", "<=3", "v3 v2 v1",
			`the head is "v3", was "v4"; OLM Classic no longer updates "v3" to the head: constraints not satisfiable: ` +
				"bundle v3 is deprecated (it has the property olm.deprecated), and nothing else can be installed",
		},
		{
			"no version in between is deprecated", "v4 replaces v3 range <4.0.0; v3 replaces v2; v2 replaces v1; v1; deprecated v1",
			"<=3", "v3 v2 v1", `the head is "v3", was "v4"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := "default stable; channel stable; " + tt.channel
			c := open(t, catalogOf(t, map[string]string{"p": lines}, nil))
			packages, err := filter.ParsePackages("p@" + tt.versions)
			if err != nil {
				t.Fatal(err)
			}
			got, err := apply(t, c, filter.Selection{Packages: packages})
			if err != nil {
				t.Fatal(err)
			}
			if want := "p: stable* " + tt.want; got.String() != want {
				t.Errorf("kept %q, want %q", got, want)
			}
			if changes := changesOf(got); changes != tt.changes {
				t.Errorf("changes: %s\nwant %s", changes, tt.changes)
			}
		})
	}
}

// changesOf returns the messages.
func changesOf(c *cut) string {
	var messages []string
	for _, change := range c.result.Changes {
		messages = append(messages, change.Message)
	}
	return strings.Join(messages, "; ")
}
