package resolve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzClassic compares answers for random small catalogs with a brute-force search.
func FuzzClassic(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		text := randomScenario(rand.New(rand.NewPCG(seed, 0)))
		answer := verify(t, parseScenario(t, text))
		if t.Failed() {
			t.Logf("%s\n%+v", text, answer)
		}
	})
}

// randomScenario returns two catalogs with a few packages, some of which are installed or subscribed.
func randomScenario(r *rand.Rand) string {
	var text strings.Builder
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	const packages, versions = 4, 3
	name := func() string { return fmt.Sprintf("p%d.v%d.0.0", r.IntN(packages), 1+r.IntN(versions)) }
	for _, catalog := range []string{"c", "e"} {
		fmt.Fprintf(&text, "catalog %s %d\n", catalog, r.IntN(2))
		for p := range packages {
			for _, channel := range []string{"s*", "t"} {
				fmt.Fprintf(&text, "channel p%d %s", p, channel)
				for v := range versions {
					edge := ""
					if v > 0 {
						edge = fmt.Sprintf(one("<p%d.v%d.0.0", "<p%[1]d.v%[2]d.0.0", "~p%d.v%d.0.0"), p, v)
					}
					fmt.Fprintf(&text, " p%d.v%d.0.0%s", p, v+1, edge)
				}
				text.WriteString("\n")
			}
		}
		for range r.IntN(10) {
			requirement := fmt.Sprintf("package=p%d:%s%d.0.0", r.IntN(packages), one(">=", "<", "<="), 1+r.IntN(versions))
			fmt.Fprintf(&text, "has %s %s\n", name(), one(requirement, "gvk="+one("J", "K"), "requires-gvk="+one("J", "K"), "deprecated"))
		}
	}
	for p := range packages {
		installed := ""
		if r.IntN(3) == 0 {
			installed = fmt.Sprintf("p%d.v%d.0.0", p, 1+r.IntN(versions))
			fmt.Fprintf(&text, "installed %s %s\n", installed, one("like", "bare"))
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&text, "sub s%d p%d %s catalog=%s installed=%s\n", p, p, one("s", "t", "-"), one("c", "e"), one(installed, installed, ""))
		}
	}
	return text.String()
}
