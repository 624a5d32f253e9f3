//nolint:dupword // channels repeat the names of their entries
package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// operators has two packages; p has three channels.
var operators = map[string]string{
	"p": `default stable
		channel stable
		v4 replaces v3
		v3 replaces v2 skips v2.1
		v2.1 replaces v2
		v2 replaces v1
		v1
		channel fast
		v5 replaces v4
		v4
		channel old
		v1
		deprecated v1
		deprecated v2
		deprecated channel old`,
	"q": `default stable
		channel stable
		w2 replaces w1
		w1
		bundle w2 2.0.0
		bundle w1 1.0.0`,
}

// TestSelection checks selections against the results of oc-mirror, row by row.
func TestSelection(t *testing.T) {
	c := open(t, catalogOf(t, operators, nil))
	for _, tt := range []struct {
		name     string
		packages []string
		full     bool
		want     string
	}{
		{"no packages", nil, false, "p: fast v5; old v1; stable* v4\nq: stable* w2"},
		{"no packages, full", nil, true, "p: fast v5 v4; old v1; stable* v4 v3 v2.1 v2 v1\nq: stable* w2 w1"},
		{"a package", []string{"p"}, false, "p: fast v5; old v1; stable* v4"},
		{"packages", []string{"q", "p:stable"}, false, "p: stable* v4\nq: stable* w2"},
		{"channels", []string{"p:fast,stable"}, false, "p: fast v5; stable* v4"},
		{"a package, full", []string{"p"}, true, "p: fast v5 v4; old v1; stable* v4 v3 v2.1 v2 v1"},
		{"a channel, full", []string{"p:stable"}, true, "p: stable* v4 v3 v2.1 v2 v1"},
		{"a range of the package", []string{"p@>=3"}, false, "p: fast v5 v4; stable* v4 v3"},
		{"a range of channels", []string{"p:stable@<=3"}, false, "p: stable* v3 v2.1 v2 v1"},
		{"channels with and without", []string{"p:stable@>=4", "p:fast"}, false, "p: fast v5; stable* v4"},
		{"default channel lost", []string{"p:fast,old"}, false, "p: fast* v5; old v1"},
		{"default channel emptied", []string{"p@5.x"}, false, "p: fast* v5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			packages, err := filter.ParsePackages(tt.packages...)
			if err != nil {
				t.Fatal(err)
			}
			s := filter.Selection{Packages: packages}
			if tt.full {
				s.Rule = filter.All
			}
			got, err := apply(t, c, s)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tt.want {
				t.Errorf("kept\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestSelects checks that names are compared as they are printed in problems.
func TestSelects(t *testing.T) {
	long := strings.Repeat("q", 1000)
	some := filter.Selection{Packages: []filter.Package{{Name: "p"}, {Name: long}}}
	for _, tt := range []struct {
		selection filter.Selection
		pkg       string
		want      bool
	}{
		{filter.Selection{}, "other", true},
		{some, "p", true},
		{some, legible.Value(long), true},
		{some, "q", false},
		{filter.Selection{Packages: some.Packages[:1]}, "q", false},
	} {
		if got := tt.selection.Selects(tt.pkg); got != tt.want {
			t.Errorf("%v selects %q: %t", tt.selection.Packages, tt.pkg, got)
		}
	}
}

// TestNothingSelected checks that a selection of missing objects, or without any result, is an error.
func TestNothingSelected(t *testing.T) {
	c := open(t, catalogOf(t, operators, nil))
	for text, want := range map[string]string{
		"P":                 `no package "P" (did you mean "p"?)`,
		"p:stabel,fats":     "package \"p\" has no channel \"stabel\" (did you mean \"stable\"?)\npackage \"p\" has no channel \"fats\" (did you mean \"fast\"?)",
		"p@>=6":             `package "p": no version satisfies ">=6": it has 1.0.0 to 5.0.0; a range has pre-releases only if it names one`,
		"p:stable@5.x":      `package "p": no version satisfies "5.x": it has 1.0.0 to 5.0.0; a range has pre-releases only if it names one`,
		"p:stable,old@>2.1": "",
	} {
		packages, err := filter.ParsePackages(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = filter.Select(t.Context(), c, filter.Selection{Packages: packages})
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
}

// TestInvalidHeads checks a channel without exactly one head: all of it is kept, so nothing is repaired, and its problem
// is about kept objects.
func TestInvalidHeads(t *testing.T) {
	for _, entries := range []string{"v2\nv1", "v2 replaces v1\nv1 replaces v2"} {
		text := catalogOf(t, map[string]string{"p": "default fast\nchannel fast\nv3\nchannel old\nv1\nchannel stable\n" + entries +
			"\nbundle v3 3.0.0\nbundle v2 2.0.0\nbundle v1 1.0.0"}, nil)
		report, err := validate.Catalog(t.Context(), validate.Options{ErrorsOnly: true}, sourceOf(text))
		if err != nil {
			t.Fatal(err)
		}
		wanted := []filter.Package{{Name: "p", Rule: filter.All, Channels: []filter.Channel{{Name: "stable"}, {Name: "old"}}}}
		got, err := filter.Select(t.Context(), filter.Catalog{Index: report.Index}, filter.Selection{Packages: wanted})
		if err != nil {
			t.Fatal(err)
		}
		found, others := got.Problems(report)
		if len(found) != 1 || found[0].Rule != "channel-head" || len(others) > 0 {
			t.Errorf("%q: %v, %v", entries, found, others)
		}
	}
}

func TestDefaultChannel(t *testing.T) {
	c := open(t, catalogOf(t, operators, nil))
	want := filter.Package{Name: "p", DefaultChannel: "fast"}
	got, err := apply(t, c, filter.Selection{Packages: []filter.Package{want}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.text, `"defaultChannel": "fast"`) || got.String() != "p: fast* v5; old v1; stable v4" {
		t.Errorf("kept %s", got)
	}
	want.Channels = []filter.Channel{{Name: "stable"}, {Name: "old"}}
	_, err = filter.Select(t.Context(), c, filter.Selection{Packages: []filter.Package{want}})
	if fmt.Sprint(err) != `package "p": the default channel "fast" is not among the channels that are kept: old, stable` {
		t.Error(err)
	}
}

// TestOtherObjects checks that deprecations of removed objects are removed, and so are objects of other schemas in
// removed packages.
func TestOtherObjects(t *testing.T) {
	c := open(t, catalogOf(t, operators, nil)+
		`{"schema": "s", "package": "p"} {"schema": "s", "package": "q"} {"schema": "s"} {"schema": "s", "package": "r"}`)
	packages, err := filter.ParsePackages("p:stable@2.x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := apply(t, c, filter.Selection{Packages: packages})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got.text, `"schema": "s"`); n != 2 {
		t.Errorf("%d objects of another schema are kept, want 2", n)
	}
	if n := strings.Count(got.text, `"message": "old"`); n != 1 || !strings.Contains(got.text, `"name": "v2"`) {
		t.Errorf("%d deprecations are kept, want that of v2:\n%s", n, got.text)
	}
	if got, err = apply(t, c, filter.Selection{}); err != nil || strings.Count(got.text, `"schema": "s"`) != 4 {
		t.Errorf("of all packages, not all other objects are kept: %v", err)
	}
}
