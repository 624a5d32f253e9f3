package graph

import (
	"errors"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestCandidatesMatchPlans checks that OLM v1 resolves to the first candidate, and that WhyNot has a reason for
// every bundle that is not a candidate.
func TestCandidatesMatchPlans(t *testing.T) {
	old, err := ParseConstraint("<4")
	if err != nil {
		t.Fatal(err)
	}
	randomPackages(t, shared.Number(2000, 200), func(t *testing.T, graph string, p *Package) {
		for _, o := range []V1Options{{}, {Channels: p.Channels[:1]}, {Version: old}, {SelfCertified: true}} {
			plan := p.V1(o)
			for _, installed := range p.Bundles {
				steps := p.Candidates(o, installed)
				var first Step
				if len(steps) > 0 {
					first = steps[0]
				}
				if want := plan.choice(installed); first != want {
					t.Errorf("%s%+v: %s resolves to %v, want %v", graph, o, installed.Name, first, want)
				}
				for _, b := range p.Bundles {
					is := slices.ContainsFunc(steps, func(s Step) bool { return s.To == b })
					if why := p.WhyNot(o, installed, b); is != (why == "") {
						t.Errorf("%s%+v: from %s, %s is a candidate: %t, %q", graph, o, installed.Name, b.Name, is, why)
					}
				}
			}
			if steps := p.Candidates(o, nil); len(steps) > 0 && steps[0].To != plan.Goal() {
				t.Errorf("%s%+v: a new installation gets %s, want %s", graph, o, steps[0].To.Name, plan.Goal().Name)
			}
		}
	})
}

func TestUnresolvedError(t *testing.T) {
	for _, tt := range []struct {
		err  UnresolvedError
		want string
	}{
		{UnresolvedError{Package: "p"}, `no bundles found for package "p"`},
		{UnresolvedError{Package: "p", Version: "1.x"}, `no bundles found for package "p" matching version "1.x"`},
		{UnresolvedError{Package: "p", Channels: []string{"b", "a"}}, `no bundles found for package "p" in channels [b a]`},
		{
			UnresolvedError{Installed: "1.0.0+2", Package: "p", Version: "1.x", Channels: []string{"a"}},
			`error upgrading from currently installed version "1.0.0+2": no bundles found for package "p" matching version ` +
				`"1.x" in channels [a]`,
		},
		{
			UnresolvedError{Package: "p", Catalogs: []string{"x", "y"}},
			`found bundles for package "p" in multiple catalogs with the same priority [x y]`,
		},
		{
			UnresolvedError{"1.0.0", "p", "1.x", []string{"a", "b"}, []string{"x", "y"}},
			`error upgrading from currently installed version "1.0.0": found bundles for package "p" matching version "1.x" in ` +
				`channels [a b] in multiple catalogs with the same priority [x y]`,
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		if got, want := errors.Is(&tt.err, ErrNoBundles), tt.err.Catalogs == nil; got != want {
			t.Errorf("%v is ErrNoBundles: %t, want %t", &tt.err, got, want)
		}
	}
}
