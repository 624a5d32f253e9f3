package resolve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestV1Preference checks the reason why a candidate is not the first.
func TestV1Preference(t *testing.T) {
	a := (&V1Request{Package: "p"}).Resolve([]*Catalog{catalogOf(t, "x", `channel c ; a ; b ; d ; e
		bundle a 1.0.0+9 ; bundle b 1.0.0+10 ; bundle d 1.0.0+10 ; bundle e none`)})
	var reasons []string
	for _, c := range a.Catalogs[0].Candidates {
		reasons = append(reasons, c.Bundle+": "+c.Why)
	}
	const want = "b:  ; d: b has the same version and comes first ; a: b has a higher release ; e: b has a higher version"
	if got := strings.Join(reasons, " ; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestV1Reasons checks that each catalog has a result and a reason why it is not chosen, and so does each bundle.
func TestV1Reasons(t *testing.T) {
	labelled := catalogOf(t, "labelled", "channel c ; v1.0.0")
	labelled.Labels = map[string]string{"old": ""}
	unavailable := catalogOf(t, "unavailable", "channel c ; v1.0.0")
	unavailable.Unavailable = true
	e := V1Request{
		Package: "p", Version: "<9", Channels: []string{"c"}, Installed: at("v1.0.0"),
		Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist}},
		},
	}
	a := e.Resolve([]*Catalog{
		catalogOf(t, "hi 10", `channel c ; v4.0.0 ; v3.0.0 range <3.0.0 ; v2.9.0 replaces v1.0.0 skips v0.1.0 ; v2.8.0 skips v1.0.0
			v9.0.0 replaces v1.0.0 ; v1.0.0
			channel d ; v5.0.0 replaces v1.0.0
			deprecated v2.9.0`),
		catalogOf(t, "lo", "channel c ; v8.0.0 replaces v1.0.0"),
		catalogOf(t, "old 99", "channel c ; v8.0.0 replaces v1.0.0 ; deprecated v8.0.0"),
		catalogOf(t, "other", "channel d ; v8.0.0 replaces v1.0.0"),
		catalogOf(t, "none", "channel c ; v8.0.0"),
		labelled, unavailable, {Name: "empty", Index: &declcfg.Index{}},
	})
	var got strings.Builder
	for _, c := range a.Catalogs {
		fmt.Fprintf(&got, "%s %d: %s\n", c.Name, c.Priority, c.Why)
		for _, b := range c.Candidates {
			fmt.Fprintf(&got, "  + %s %s by %s in %s: %s\n", b.Bundle, b.Version, b.By, b.Channel, b.Why)
		}
		for _, b := range c.Others() {
			fmt.Fprintf(&got, "  - %s: %s\n", b.Bundle, b.Why)
		}
	}
	const want = `hi 10: 
  + v3.0.0 3.0.0 by skipRange in c: 
  + v2.8.0 2.8.0 by skips in c: v3.0.0 has a higher version
  + v1.0.0 1.0.0 by same version in : v3.0.0 has a higher version
  + v2.9.0 2.9.0 by replaces in c: it is deprecated, and v3.0.0 is not
  - v9.0.0: its version is not in "<9"
  - v5.0.0: the channel has no entry for it
  - v4.0.0: in channel c, v4.0.0 neither replaces nor skips v1.0.0, and has no skipRange
lo 0: its priority, 0, is lower than the 10 of catalog hi
  + v8.0.0 8.0.0 by replaces in c: 
old 99: v8.0.0, the best that it has, is deprecated, and catalog hi has one that is not
  + v8.0.0 8.0.0 by replaces in c: 
other 0: its package has none of the channels [c]
  - v8.0.0: its package has none of the channels [c]
none 0: none of its bundles can be installed
  - v8.0.0: in channel c, v8.0.0 neither replaces nor skips v1.0.0, and has no skipRange
labelled 0: its labels do not match the selector
unavailable 0: its availabilityMode is Unavailable
empty 0: it has no package "p"
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestV1AmongCatalogs checks that for random catalogs, the choice is the same as in OLM, which walks them one by one.
func TestV1AmongCatalogs(t *testing.T) {
	type best struct {
		catalog    string
		priority   int
		deprecated bool
	}
	for seed := range 2000 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		var catalogs []*Catalog
		var kept []best
		for i := range r.IntN(5) {
			b := best{string(rune('a' + i)), r.IntN(3), r.IntN(2) == 0}
			lines := "channel c ; v1.0.0"
			if b.deprecated {
				lines += " ; deprecated v1.0.0"
			}
			catalogs = append(catalogs, catalogOf(t, fmt.Sprintf("%s %d", b.catalog, b.priority), lines))
			if len(kept) > 0 && b.deprecated && !kept[len(kept)-1].deprecated {
				continue
			}
			if len(kept) > 0 && !b.deprecated && kept[len(kept)-1].deprecated {
				kept = nil
			}
			kept = append(kept, b)
		}
		slices.SortStableFunc(kept, func(a, b best) int { return b.priority - a.priority })
		want := `no bundles found for package "p"`
		switch {
		case len(kept) == 1, len(kept) > 1 && kept[0].priority != kept[1].priority:
			want = kept[0].catalog + "/v1.0.0 in [c]"
		case len(kept) > 1:
			var names []string
			for _, b := range kept {
				names = append(names, b.catalog)
			}
			slices.Sort(names)
			want = fmt.Sprintf(`found bundles for package "p" in multiple catalogs with the same priority %s`, names)
		}
		a := (&V1Request{Package: "p"}).Resolve(catalogs)
		if got := answerOf(a); got != want {
			t.Fatalf("seed %d: got %s, want %s", seed, got, want)
		}
		for _, c := range a.Catalogs {
			if chosen := a.Choice != nil && a.Choice.Catalog == c.Name; chosen != (c.Why == "") {
				t.Fatalf("seed %d: catalog %s is chosen: %t, %q", seed, c.Name, chosen, c.Why)
			}
		}
	}
}
