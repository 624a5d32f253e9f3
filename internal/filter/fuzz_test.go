package filter_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// FuzzSelect selects from a small fuzzed package with two channels. If the package is valid, every kind of selection
// must leave it valid, and lose no update.
func FuzzSelect(f *testing.F) {
	f.Add([]byte{5, 1, 0, 2, 1, 3, 2, 4, 6, 1, 0, 3, 4}, ">=2.0.0 <=3.0.0")
	random := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		edges := make([]byte, 4+random.IntN(20))
		for i := range edges {
			edges[i] = byte(random.Uint32() >> random.IntN(32)) // mostly with few bits set
		}
		f.Add(edges, []string{">=2", "<=3", "!=2", "!=3", ">=2 <=4"}[random.IntN(5)])
	}
	f.Fuzz(func(t *testing.T, edges []byte, versions string) {
		constraint, err := graph.ParseConstraint(versions)
		if err != nil {
			t.Skip()
		}
		lines, channels := madeUp(edges)
		if len(channels) == 0 || slices.ContainsFunc(channels, func(entries []declcfg.Entry) bool { return !isValid(entries) }) {
			t.Skip()
		}
		c := open(t, catalogOf(t, map[string]string{"p": lines}, nil))
		for _, rule := range []filter.Rule{filter.Heads, filter.All, filter.InRange(constraint)} {
			_, err := apply(t, c, filter.Selection{Packages: []filter.Package{{Name: "p", Rule: rule}}})
			if err != nil && !strings.Contains(err.Error(), "no version") {
				t.Error(err)
			}
		}
		for _, bounds := range []string{"minVersion: 2.0.0", "maxVersion: 3.0.0", "minVersion: 2.0.0, maxVersion: 4.0.0", "minBundle: v3"} {
			s := configured(t, "v1alpha2", "{name: p, "+bounds+"}")
			if _, err := apply(t, c, s); err != nil && !strings.Contains(err.Error(), "no version") {
				t.Error(err)
			}
		}
	})
}

// madeUp returns a package with up to two channels. An entry is decoded from two bytes: the index of the replaced
// entry, and a bit set of skipped entries, both counted from the lowest version.
func madeUp(edges []byte) (lines string, channels [][]declcfg.Entry) {
	lines = "default c0\n"
	for i := range 2 {
		if len(edges) < 3 {
			break
		}
		n := 1 + int(edges[0])%6
		edges = edges[1:]
		var entries []declcfg.Entry
		lines += fmt.Sprintf("channel c%d\n", i)
		for j := 1; j <= n && len(edges) > 1; j++ {
			e := declcfg.Entry{Name: fmt.Sprintf("v%d", j)}
			line := e.Name
			if to := int(edges[0]) % 8; to > 0 {
				e.Replaces = fmt.Sprintf("v%d", to)
				line += " replaces " + e.Replaces
			}
			for k := range 6 {
				if edges[1]&(1<<k) != 0 {
					e.Skips = append(e.Skips, fmt.Sprintf("v%d", k+1))
				}
			}
			if e.Skips != nil {
				line += " skips " + strings.Join(e.Skips, ",")
			}
			entries = append(entries, e)
			lines += line + "\n"
			edges = edges[2:]
		}
		channels = append(channels, entries)
	}
	return lines, channels
}

// isValid reports whether opm accepts a channel.
func isValid(entries []declcfg.Entry) bool {
	return len(entries) > 0 && !slices.ContainsFunc(graph.New(entries).Check(), func(p graph.Problem) bool {
		return p.Kind != graph.SkippedCycle
	})
}

// FuzzParseConfig checks that every error in an ImageSetConfiguration has a position.
func FuzzParseConfig(f *testing.F) {
	f.Add(imageSet("v2alpha1", "{name: p, minVersion: 1.0.0, channels: [{name: a}]}"))
	f.Add(imageSet("v1alpha2", "{name: p, channels: [{name: a, minBundle: b}]}"))
	f.Fuzz(func(t *testing.T, text string) {
		config, err := filter.ParseConfig("imageset.yaml", []byte(text))
		if err == nil {
			for _, e := range config.Entries() {
				e.Selection()
			}
			return
		}
		if _, ok := errors.AsType[*declcfg.Error](err); !ok {
			t.Errorf("%q: the error has no place: %v", text, err)
		}
	})
}
