package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A play is a recording of OLM's actions in a real cluster; see the README of the data.
type play struct {
	Catalogs   map[string]string // folders, by NAMESPACE/NAME
	Down       []string
	Approve    bool
	Fail       []string
	FailUnpack []string

	KubeVersion     string
	GlobalNamespace string
}

// unequal are the expected differences between plays and simulations, with the reasons.
var unequal = map[string][]string{
	// The Pod has a random name.
	"cat_template/1": {"only in ours: Pod olm/cat-0", "only in OLM: Pod olm/cat-4n6d9"},
}

// unmatched are the plays that no simulation can match, with the reasons: they are a moment or a race of OLM.
var unmatched = map[string]string{
	"dep_update/1-install":         "a condition InstallPlanPending that is removed later",
	"two_subs_late/2-another":      "two texts for one input, a second apart",
	"upd_real_kaoto/2-update":      "a condition ResolutionFailed that is removed later",
	"upd_real_kube_green/2-update": "history entries of a race",
	"upd_real_neuron/2-update":     "a requirementStatus of a race",
	"upd_real_sapc/2-update":       "a requirementStatus of a race",
}

// delayed are the minutes of the slowest step of a play. The other plays have no such steps.
var delayed = map[string]int{
	// A progress deadline.
	"api_service/1-not-served": 10, "failed_ready_again/1-install": 10, "never_ready/1-install": 10,
	"never_ready_two_deployments/1-one-of-two": 10,
	// The next sync of the namespace, for which the recordings did not wait.
	"never_ready/3-old-gets-ready": 15, "opcond_skip/4-override": 15,
	// The next attempt to unpack a bundle.
	"unpack_retry/2-retried": 5,
}

// TestPlays compares the outcomes of simulations with what OLM did in real clusters. Neither outcome changes if it is
// simulated again.
func TestPlays(t *testing.T) {
	dirs := plays(t)
	for _, name := range shared.Sample(slices.Sorted(maps.Keys(dirs)), 5) {
		dir := dirs[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := playOptions(t, dir)
			checkResolution(t, "before", stateIn(t, dir, "state.json"), opts)
			checkResolution(t, "after", stateIn(t, dir, "result.json"), opts)
			result, err := Run(t.Context(), stateIn(t, dir, "state.json"), opts)
			if err != nil {
				t.Fatal(err)
			}
			minutes := 0
			for _, e := range result.Events {
				minutes = max(minutes, e.Minutes)
			}
			if minutes != delayed[name] {
				t.Errorf("a step takes %d minutes, want %d", minutes, delayed[name])
			}
			var titles []string
			all := playDifferences(objectsIn(t, dir, "result.json"), objectsOf(t, result.Rest))
			for _, d := range all {
				titles = append(titles, d.title)
			}
			if unmatched[name] == "" && !slices.Equal(titles, unequal[name]) {
				t.Errorf("got %s\nwant the differences %q", all, unequal[name])
			}
			checkAtRest(t, "ours", result.State, opts)
			if unmatched[name] == "" && delayed[name] != syncMinutes {
				checkAtRest(t, "OLM's", stateIn(t, dir, "result.json"), opts)
			}
		})
	}
}

func checkAtRest(t *testing.T, whose string, s *cluster.State, opts Options) {
	t.Helper()
	again, err := Run(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Events) > 0 {
		t.Errorf("simulated again, the outcome changes, %s:\n%s", whose, timeline(again))
	}
}

// plays returns the folders of the plays, by name.
func plays(t *testing.T) map[string]string { return shared.Plays(t) }

func readJSON(t *testing.T, dir, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func playOptions(t *testing.T, dir string) Options {
	t.Helper()
	var p play
	readJSON(t, dir, "play.json", &p)
	opts := Options{Approve: p.Approve, Fail: p.Fail, FailUnpack: p.FailUnpack, KubeVersion: p.KubeVersion}
	opts.Cluster = install.Options{Down: p.Down, Global: p.GlobalNamespace}
	for _, name := range slices.Sorted(maps.Keys(p.Catalogs)) {
		folder := filepath.Join(dir, p.Catalogs[name])
		c, err := resolve.ReadCatalog(t.Context(), declcfg.Source{Name: folder, FS: os.DirFS(folder)})
		if err != nil {
			t.Fatal(err)
		}
		c.Namespace, c.Name, _ = strings.Cut(name, "/")
		opts.Cluster.Catalogs = append(opts.Cluster.Catalogs, c)
	}
	return opts
}

func stateIn(t *testing.T, dir, name string) *cluster.State {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := cluster.Load(t.Context(), nil, render.Text(name, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func objectsIn(t *testing.T, dir, name string) []map[string]any {
	t.Helper()
	var list struct{ Items []map[string]any }
	readJSON(t, dir, name, &list)
	return list.Items
}

func objectsOf(t *testing.T, s *cluster.State) []map[string]any {
	t.Helper()
	var all []map[string]any
	for o := range s.All() {
		text, err := o.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
		all = append(all, content)
	}
	return all
}

// A playDifference is a field of an object, or a whole object, that differs from the cluster.
type playDifference struct {
	title      string
	real, ours any
}

func (d playDifference) String() string {
	return fmt.Sprintf("%s\n  OLM:  %v\n  ours: %v\n", d.title, d.real, d.ours)
}
