package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
)

func TestParsePackages(t *testing.T) {
	const syntax = "want PACKAGE[:CHANNEL,...][@RANGE], such as kiln:stable,fast@>=1.1.0"
	for _, tt := range []struct{ texts, want, err string }{
		{"p", "p", ""},
		{"p:a,b", "p a b", ""},
		{"p@>=1 <2", `p satisfies ">=1 <2"`, ""},
		{"p:a@1.x", `p a satisfies "1.x"`, ""},
		{"p:a@1.x;q;p:b", `p a satisfies "1.x" b, q`, ""},
		{"", "", syntax},
		{":a", "", syntax},
		{"@1", "", syntax},
		{"p:", "", syntax},
		{"p:a,", "", syntax},
		{"p@", "", syntax},
		{"p:a@ ", "", syntax},
		{"p@v", "", `version range "v" is invalid: improper constraint: "v"`},
		{"p:a,a", "", `channel "a" is given twice`},
		{"p:a;p:b,a", "", `channel "a" is given twice`},
		{"p;p:a", "", `package "p" is given twice: combine them, or name channels in both`},
	} {
		texts := strings.Split(tt.texts, ";")
		got, err := filter.ParsePackages(texts...)
		if tt.err != "" {
			if want := fmt.Sprintf("%q: %s", texts[len(texts)-1], tt.err); fmt.Sprint(err) != want {
				t.Errorf("%s: %v, want %s", tt.texts, err, want)
			}
			continue
		}
		if err != nil || written(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.texts, written(got), err, tt.want)
		}
	}
}

// written formats packages with their channels and rules.
func written(packages []filter.Package) string {
	var all []string
	for _, p := range packages {
		text := p.Name
		if p.Rule != nil {
			text += " " + p.Rule.String()
		}
		for _, c := range p.Channels {
			text += " " + c.Name
			if c.Rule != nil {
				text += " " + c.Rule.String()
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// FuzzParsePackages checks that a parsed package has a name, and no channel twice.
func FuzzParsePackages(f *testing.F) {
	for _, text := range []string{"p", "p:a,b@>=1 <2", "p@1.x || 3", "p:a\np:b@~1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		packages, err := filter.ParsePackages(strings.Split(text, "\n")...)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, p := range packages {
			if p.Name == "" || seen[p.Name] || strings.ContainsAny(p.Name, ":@") {
				t.Errorf("%q: package %q", text, p.Name)
			}
			seen[p.Name] = true
			channels := map[string]bool{}
			for _, c := range p.Channels {
				if c.Name == "" || channels[c.Name] {
					t.Errorf("%q: channel %q", text, c.Name)
				}
				channels[c.Name] = true
			}
		}
	})
}
