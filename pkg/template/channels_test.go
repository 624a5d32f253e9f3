package template

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// bundlesOf returns a bundle for each version, named after the version.
func bundlesOf(t *testing.T, versions ...string) (all []*bundle) {
	t.Helper()
	for _, text := range versions {
		v, err := declcfg.ParseVersion(text, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &bundle{BundleSummary: &declcfg.BundleSummary{Name: text, Version: &v}})
	}
	return all
}

// generated returns the channels as text: one line per channel, with a star for the default channel.
func generated(g *generator) string {
	var out strings.Builder
	channels, defaultChannel := g.channels()
	for _, c := range channels {
		if c.Name == defaultChannel {
			out.WriteString("*")
		}
		out.WriteString(c.Name + ":")
		for _, e := range c.Entries {
			out.WriteString(" " + e.Name)
			if e.Replaces != "" || len(e.Skips) > 0 || e.SkipRange != "" {
				fmt.Fprintf(&out, "(%s %q %s)", e.Replaces, e.Skips, e.SkipRange)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestChannels(t *testing.T) {
	five := []string{"1.1.1", "1.0.0", "1.2.0", "1.0.1", "1.1.0"}
	tests := []struct {
		name                    string
		g                       generator
		candidate, fast, stable []string
		want                    string
	}{
		{"minor", generator{minor: true, preferred: minorChannel}, nil, nil, five,
			`stable-v1.0: 1.0.0 1.0.1( ["1.0.0"] )
stable-v1.1: 1.1.0 1.1.1(1.0.1 ["1.0.0" "1.1.0"] )
*stable-v1.2: 1.2.0(1.1.1 ["1.0.0" "1.0.1" "1.1.0"] )
`},
		{"minor, strict", generator{minor: true, preferred: minorChannel, strict: true}, nil, nil, five,
			`stable-v1.0: 1.0.0 1.0.1( ["1.0.0"] )
stable-v1.1: 1.1.0 1.1.1( ["1.1.0"] >=1.0.0 <1.1.1)
*stable-v1.2: 1.2.0( [] >=1.0.0 <1.2.0)
`},
		{"major", generator{major: true, preferred: majorChannel}, nil, nil, five,
			`*stable-v1: 1.0.0 1.0.1( ["1.0.0"] ) 1.1.0 1.1.1(1.0.1 ["1.0.0" "1.1.0"] ) 1.2.0(1.1.1 ["1.0.0" "1.0.1" "1.1.0"] )
`},
		{"the preference loses to a higher version", generator{major: true, minor: true, preferred: majorChannel},
			nil, nil, []string{"1.0.0", "1.1.0"},
			`stable-v1: 1.0.0 1.1.0(1.0.0 [] )
stable-v1.0: 1.0.0
*stable-v1.1: 1.1.0(1.0.0 [] )
`},
		{"the preference wins, strict", generator{major: true, minor: true, preferred: majorChannel, strict: true},
			nil, nil, []string{"1.0.0", "1.1.0"},
			`*stable-v1: 1.0.0 1.1.0(1.0.0 [] )
stable-v1.0: 1.0.0
stable-v1.1: 1.1.0( [] >=1.0.0 <1.1.0)
`},
		{"a tie goes to the preference", generator{major: true, minor: true, preferred: majorChannel},
			nil, nil, []string{"2.0.0"}, "*stable-v2: 2.0.0\nstable-v2.0: 2.0.0\n"},
		{"stages", generator{major: true, preferred: majorChannel}, []string{"3.0.0"}, []string{"1.0.0"}, nil,
			"candidate-v3: 3.0.0\n*fast-v1: 1.0.0\n"},
		{"major versions are apart", generator{major: true, preferred: majorChannel}, nil, nil, []string{"2.0.0", "1.0.0"},
			"stable-v1: 1.0.0\n*stable-v2: 2.0.0\n"},
		{"pre-releases are versions", generator{major: true, preferred: majorChannel}, nil, nil,
			[]string{"1.1.0", "1.1.0-rc1", "1.0.0"}, `*stable-v1: 1.0.0 1.1.0-rc1 1.1.0(1.0.0 ["1.1.0-rc1"] )` + "\n"},
		{"skips in order of bytes", generator{minor: true, preferred: minorChannel}, nil, nil,
			[]string{"1.0.10", "1.0.9", "1.0.11"}, `*stable-v1.0: 1.0.9 1.0.10 1.0.11( ["1.0.10" "1.0.9"] )` + "\n"},
		{"nothing before 0.0.0 is the default", generator{minor: true, preferred: minorChannel},
			[]string{"0.0.0-a"}, nil, nil, "candidate-v0.0: 0.0.0-a\n"},
		{"but strict", generator{minor: true, preferred: minorChannel, strict: true},
			[]string{"0.0.0-a"}, nil, nil, "*candidate-v0.0: 0.0.0-a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, versions := range [][]string{tt.candidate, tt.fast, tt.stable} {
				tt.g.add(stageNames[i], bundlesOf(t, versions...))
			}
			if got := generated(&tt.g); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestChannelsLeadToTheirHead checks that every channel has one head that all of its bundles reach, and that the
// default channel is one of the channels.
func TestChannelsLeadToTheirHead(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		g := generator{major: random.IntN(2) == 0, minor: true, preferred: minorChannel, strict: random.IntN(2) == 0}
		if g.major {
			g.minor, g.preferred = random.IntN(2) == 0, majorChannel
		}
		for _, name := range stageNames {
			versions := map[string]bool{}
			for range random.IntN(12) {
				v := fmt.Sprintf("%d.%d.%d", random.IntN(3), random.IntN(4), random.IntN(5))
				versions[v+[]string{"", "-rc1", "-rc2"}[random.IntN(3)]] = true
			}
			delete(versions, "0.0.0-rc1")
			delete(versions, "0.0.0-rc2")
			var all []string
			for v := range versions {
				all = append(all, v)
			}
			g.add(name, bundlesOf(t, all...))
		}
		channels, defaultChannel := g.channels()
		for _, c := range channels {
			for _, problem := range graph.New(c.Entries).Check() {
				t.Errorf("seed %d: channel %s: %v\n%s", seed, c.Name, problem, generated(&g))
			}
			if g.strict && slices.ContainsFunc(c.Entries, func(e declcfg.Entry) bool { return len(outside(c, e)) > 0 }) {
				t.Errorf("seed %d: channel %s names others\n%s", seed, c.Name, generated(&g))
			}
		}
		isDefault := func(c *declcfg.Channel) bool { return c.Name == defaultChannel }
		if len(channels) > 0 && !slices.ContainsFunc(channels, isDefault) {
			t.Errorf("seed %d: default channel %q\n%s", seed, defaultChannel, generated(&g))
		}
	}
}
