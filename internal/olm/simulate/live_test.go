package simulate

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestLivePlays checks that a simulation of a live cluster gives the answer of its state file.
func TestLivePlays(t *testing.T) {
	dirs := plays(t)
	for _, name := range shared.Sample(slices.Sorted(maps.Keys(dirs)), 3) {
		t.Run(name, func(t *testing.T) {
			opts := playOptions(t, dirs[name])
			want, err := Run(t.Context(), stateIn(t, dirs[name], "state.json"), opts)
			if err != nil {
				t.Fatal(err)
			}
			live := liveState(t, filepath.Join(dirs[name], "state.json"), opts.KubeVersion)
			opts.KubeVersion = "" // the API server knows it
			got, err := Run(t.Context(), live, opts)
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, name, withoutPlaces(t, want), withoutPlaces(t, got))
		})
	}
}

// liveState reads the objects of a file from an API server.
func liveState(t *testing.T, file, version string) *cluster.State {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kubetest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	server := kubetest.New(objects...)
	defer server.Close()
	server.PageSize, server.Version = 7, version
	config, err := server.Kubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	c, err := kube.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	live, err := c.Read(t.Context(), kube.Options{Question: kube.Question{Command: "simulate"}})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	state, err := cluster.Load(t.Context(), nil, render.ReaderAt("live", live, live.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

var place = regexp.MustCompile(`(?m)^ +"(assumed": \[[^]]*\]|(file|line|column)": .*),?\n`)

// withoutPlaces returns the answer of a simulation without places, and without assumptions about facts that only the API
// server has.
func withoutPlaces(t *testing.T, r *Result) string {
	t.Helper()
	r.State.Delete(schema.GroupKind{Group: "opm.operatorframework.io", Kind: kube.InfoKind}, "", "cluster")
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(place.ReplaceAllString(string(raw), ""), `"assumed"`, `"computed"`)
}
