package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func packageOf(t testing.TB, lines string) *Package {
	t.Helper()
	return NewPackage(graphtest.Package(t, "p", lines))
}

// describe formats a plan as "v1 -> v2 -> v3", with a path for each installed bundle. A path that loops ends with
// "...".
func describe(p *Plan) string {
	var lines []string
	for _, b := range p.Package.Bundles {
		steps, loop := p.Path(b)
		line := b.Name
		for _, s := range steps {
			line += " -> " + s.To.Name
		}
		if loop {
			line += " ..."
		}
		if at, hops, ok := p.End(b); ok == loop || ok && (hops != len(steps) || !strings.HasSuffix(line, at.Name)) {
			line += fmt.Sprintf(" but ends at %s after %d hops, %t", at.Name, hops, ok)
		}
		end, _, _ := p.End(b)
		if err := p.Err(end); err != nil {
			line += " " + err.Error()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ; ")
}

// The errors of OLM Classic for channels.
const (
	twoHeads = "a unique replacement chain within a channel is required to determine the relative order between channel " +
		`entries, but 2 replacement chains were found in channel "c" of package "p": v3...v1, v2...v1`
	noHead = `no channel heads (entries not replaced by another entry) found in channel "c" of package "p"`
	circle = `a cycle exists in the chain of replacement beginning with "v3" in channel "c" of package "p"`
)

// TestNoChannel checks that a Subscription without a channel uses the default channel first, and then the others.
func TestNoChannel(t *testing.T) {
	p := packageOf(t, `default b
		channel a
		v4 replaces v1 ; v1
		channel b
		v3 replaces v2 skips v1 ; v2`)
	plan, err := p.Classic(nil)
	if got, want := describe(plan), "v1 -> v3 ; v2 -> v3 ; v3 ; v4"; err != nil || got != want || plan.Goal().Name != "v3" {
		t.Errorf("got %s, goal %s, %v, want %s", got, plan.Goal().Name, err, want)
	}
	p = packageOf(t, `default b
		channel c-3.6
		v3 replaces v1 ; v1
		channel c-3.17 # which OLM sorts before c-3.6
		v2 replaces v1 ; v1
		channel b
		v0`)
	plan, err = p.Classic(nil)
	if got, want := describe(plan), "v0 ; v1 -> v2 ; v2 ; v3"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestOutlooksWithoutChannel checks that all bundles have an outlook without a channel.
func TestOutlooksWithoutChannel(t *testing.T) {
	p := packageOf(t, `default b
		channel a
		v4 replaces v1 ; v1
		channel b
		v3 replaces v2 skips v1 ; v2`)
	seq, err := p.Outlooks(nil, V1Options{}, false)
	outlooks := slices.Collect(seq)
	if err != nil || len(outlooks) != 4 || outlooks[0].V1.Next != "v4" || outlooks[0].Channel != "" {
		t.Errorf("%+v, %v", outlooks, err)
	}
}

// TestOutlookOfAnyBundle checks that a bundle unrelated to the channel has an outlook if the caller asks for it.
func TestOutlookOfAnyBundle(t *testing.T) {
	p := packageOf(t, "channel c ; v3 replaces v2 ; v2 ; bundle v1 ; bundle v0")
	seq, err := p.Outlooks(p.Channel("c"), V1Options{}, false, p.Bundle("v1"))
	outlooks := slices.Collect(seq)
	if err != nil || len(outlooks) != 3 || outlooks[0].Installed != "v1" {
		t.Fatalf("%+v, %v", outlooks, err)
	}
	if o := outlooks[0]; o.Classic.Outcome != Stay || o.V1.Outcome != Failed || !o.Differs || !o.Classic.Stranded {
		t.Errorf("%+v", o)
	}
}

// TestPlans checks the plans of both generations of OLM for the first channel of each graph.
func TestPlans(t *testing.T) {
	for _, tt := range []struct {
		name        string
		graph       string
		classic, v1 string // "" if the v1 plan is the same
	}{
		{
			"one update at a time", // v0.1.1 <- v0.1.2 <- v0.1.3
			"channel c ; v0.1.3 replaces v0.1.2 ; v0.1.2 replaces v0.1.1 ; v0.1.1",
			"v0.1.1 -> v0.1.2 -> v0.1.3 ; v0.1.2 -> v0.1.3 ; v0.1.3", "",
		}, {
			"a skipped release", // v0.9.0 <- v0.9.2, which also skips v0.9.1
			"channel c ; v0.9.2 replaces v0.9.0 skips v0.9.1 ; v0.9.1 replaces v0.9.0 ; v0.9.0",
			"v0.9.0 -> v0.9.2 ; v0.9.1 -> v0.9.2 ; v0.9.2", "",
		}, {
			"a skip range", // 4.1.0 and 4.1.1 are in the range of 4.1.2
			"channel c ; v4.1.2 replaces v4.1.1 range >=4.1.0 <4.1.2 ; v4.1.1 replaces v4.1.0 ; v4.1.0 replaces v4.0.0 ; v4.0.0",
			"v4.0.0 -> v4.1.0 -> v4.1.2 ; v4.1.0 -> v4.1.2 ; v4.1.1 -> v4.1.2 ; v4.1.2", "",
		}, {
			"z-stream with virtual nodes", // bundles removed from the catalog can still be updated
			"channel c ; v1.2.9 replaces v1.1.0 skips v1.2.0,v1.2.1,v1.2.2 ; v1.1.0",
			"v1.2.0 -> v1.2.9 ; v1.2.1 -> v1.2.9 ; v1.2.2 -> v1.2.9 ; v1.1.0 -> v1.2.9 ; v1.2.9", "",
		}, {
			"from 1.0.0 to 2.0.0 in v1 only", // v2.0.0 is skipped, so Classic does not offer it
			"channel c ; v3.0.0 skips v2.0.0 ; v2.0.0 range >=1.0.0 <2.0.0 ; bundle v1.0.0 1.0.0",
			"v1.0.0 ; v2.0.0 -> v3.0.0 ; v3.0.0", "v1.0.0 -> v2.0.0 -> v3.0.0 ; v2.0.0 -> v3.0.0 ; v3.0.0",
		}, {
			"the range of an entry that is no head", // rule 1 of the documentation, literally
			"channel c ; v3 replaces v2 ; v2 replaces v1 range <2.0.0 ; v1 replaces v0 ; v0",
			"v0 -> v2 -> v3 ; v1 -> v2 -> v3 ; v2 -> v3 ; v3", "",
		}, {
			"the nearest to the head wins", // by its range, before the entry that replaces v1
			"channel c ; v3 replaces v2 range >=1.0.0 <3.0.0 ; v2 replaces v1 ; v1",
			"v1 -> v3 ; v2 -> v3 ; v3", "",
		}, {
			"the head is lower than another version", // Classic ignores versions, v1 uses only versions
			"channel c ; v2 replaces v3 ; v3 replaces v1 ; v1 range <1.0.0",
			"v1 -> v3 -> v2 ; v2 ; v3 -> v2", "v1 -> v3 ; v2 ; v3",
		}, {
			"a skip range that contains its own version", // Classic resolves to the installed bundle
			"channel c ; v2 replaces v1 range >=1.0.0 <=2.0.0 ; v1",
			"v1 -> v2 ; v2", "",
		}, {
			"a skip range with its own version in the middle", // hides the updates to lower entries
			"channel c ; v3 replaces v2 skips v2 ; v2 replaces v1 ; v1 replaces v0 range =1.0.0 ; v0 range =1.0.0",
			"v0 -> v1 ; v1 ; v2 -> v3 ; v3", "v0 -> v1 -> v2 -> v3 ; v1 -> v2 -> v3 ; v2 -> v3 ; v3",
		}, {
			"the property olm.deprecated", // the next nearest to the head is installed
			"channel c ; v3 replaces v2 ; v2 replaces v1 range <1.0.0 ; v1 replaces v0 ; prohibited v2 ; prohibited v3 ; bundle v0",
			"v0 -> v1 ; v1 ; v2 constraints not satisfiable: bundle v2 is deprecated (it has the property olm.deprecated), " +
				"and nothing else can be installed ; v3 constraints not satisfiable: bundle v3 is deprecated (it has the " +
				"property olm.deprecated), and nothing else can be installed",
			"v0 -> v2 -> v3 ; v1 -> v2 -> v3 ; v2 -> v3 ; v3",
		}, {
			"a dependency", // v1 does not fall back to v2
			"channel c ; v3 replaces v2 range >=1.0.0 <3.0.0 ; v2 replaces v1 ; v1 replaces v0 ; v0 ; requires v3 olm.gvk.required",
			"v0 -> v1 -> v3 ; v1 -> v3 ; v2 -> v3 ; v3",
			`v0 -> v1 validating bundle "v3": bundle "v3" has a dependency declared via property "olm.gvk.required" which is ` +
				`currently not supported ; v1 validating bundle "v3": bundle "v3" has a dependency declared via property ` +
				`"olm.gvk.required" which is currently not supported ; v2 validating bundle "v3": bundle "v3" has a dependency ` +
				`declared via property "olm.gvk.required" which is currently not supported ; v3 validating bundle "v3": bundle ` +
				`"v3" has a dependency declared via property "olm.gvk.required" which is currently not supported`,
		}, {
			"two that skip each other's range", // v1 stays with the higher one
			"channel c ; v2 replaces v1 range >=1.0.0 <2.0.0 ; v1 range =2.0.0",
			"v1 -> v2 -> v1 ... ; v2 -> v1 -> v2 ...", "v1 -> v2 ; v2",
		}, {
			"two heads", // Classic refuses the channel
			"channel c ; v3 replaces v1 ; v2 replaces v1 ; v1",
			"v1 " + twoHeads + " ; v2 " + twoHeads + " ; v3 " + twoHeads, "v1 -> v3 ; v2 ; v3",
		}, {
			"a circle", // v1 does not use chains
			"channel c ; v2 replaces v1 ; v1 replaces v2",
			"v1 " + noHead + " ; v2 " + noHead, "v1 -> v2 ; v2",
		}, {
			"a circle behind the head",
			"channel c ; v3 replaces v2 ; v2 replaces v1 ; v1 replaces v2",
			"v1 " + circle + " ; v2 " + circle + " ; v3 " + circle, "v1 -> v2 -> v3 ; v2 -> v3 ; v3",
		}, {
			"a deprecated bundle comes last in v1",
			"channel c ; v3 replaces v2 range >=1.0.0 <3.0.0 ; v2 replaces v1 ; v1 ; deprecated v3",
			"v1 -> v3 ; v2 -> v3 ; v3", "v1 -> v2 ; v2 ; v3",
		}, {
			"entries without a bundle or a version", // are updated by name only
			"channel c ; v2 replaces a skips b range >=1.0.0 ; b ; a ; bundle a one",
			"a -> v2 ; b -> v2 ; v2", "",
		}, {
			"a bad range leads nowhere",
			"channel c ; v2 replaces v1 range ^1.0.0 ; v1 range >=0.1.0, <1.0.0 ; bundle v1.5",
			"v1 -> v2 ; v1.5 ; v2", `v1 -> v2 ; v1.5 error upgrading from currently installed version "1.5.0": no bundles found for ` +
				`package "p" in channels [c] ; v2`,
		}, {
			"through a skipped entry", // the chain continues after it
			"channel c ; v4 replaces v3 skips v3 ; v3 replaces v2 ; v2 replaces v1 ; v1",
			"v1 -> v2 ; v2 ; v3 -> v4 ; v4", "v1 -> v2 -> v3 -> v4 ; v2 -> v3 -> v4 ; v3 -> v4 ; v4",
		}, {
			"only skips", // skipped entries are not in the order
			"channel c ; v3 skips v2,v1 ; v2 skips v1 ; v1",
			"v1 -> v3 ; v2 -> v3 ; v3", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := packageOf(t, tt.graph)
			c := p.Channels[0]
			classic, _ := p.Classic(c)
			if got := describe(classic); got != tt.classic {
				t.Errorf("classic:\n%s\nwant\n%s", got, tt.classic)
			}
			want := tt.v1
			if want == "" {
				want = tt.classic
			}
			if got := describe(p.V1(V1Options{Channels: []*Channel{c}})); got != want {
				t.Errorf("v1:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestOrderOfManyHeads checks that a chain shared by tens of thousands of heads is followed only once.
func TestOrderOfManyHeads(t *testing.T) {
	const n = 30_000
	var entries []declcfg.Entry
	for i := range n {
		chain := declcfg.Entry{Name: fmt.Sprint("b", i)}
		if i > 0 {
			chain.Replaces = fmt.Sprint("b", i-1)
		}
		entries = append(entries, chain, declcfg.Entry{Name: fmt.Sprint("head", i), Replaces: fmt.Sprint("b", n-1)})
	}
	c := New(entries)
	_, err := c.Order()
	if err == nil || !strings.Contains(err.Error(), "30000 replacement chains were found") ||
		!strings.HasSuffix(err.Error(), ", head29999...b0") {
		t.Errorf("got %.300v", err)
	}
	entries[0].Replaces = entries[0].Name
	if _, err = New(entries).Order(); err == nil || !strings.Contains(err.Error(), `a cycle exists in the chain of replacement beginning with "head0"`) {
		t.Errorf("got %.300v", err)
	}
}

func TestDefaultFirst(t *testing.T) {
	names := []string{"c", "b", "default", "a", "default"}
	slices.SortStableFunc(names, (&Package{DefaultChannel: "default"}).DefaultFirst)
	if want := []string{"default", "default", "c", "b", "a"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
