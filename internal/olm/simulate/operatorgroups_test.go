package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/testing/golden"
)

// TestOperatorGroups runs tables whose rows are a state, NAME.yaml, and its expected outcome, NAME.
func TestOperatorGroups(t *testing.T) {
	files, err := filepath.Glob("testdata/operatorgroups/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
		rows := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			var got string
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				got = grouped(t, string(f.Data))
				golden.Equal(t, file+"/"+name, want[name], got)
			})
			rows.Files = append(rows.Files, f, txtar.File{Name: name, Data: []byte(got)})
		}
		if *golden.Update {
			if err := os.WriteFile(file, txtar.Format(rows), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// grouped runs the controller of OperatorGroups on a state, and returns the timeline, the waits, the assumptions and
// the changed fields. It checks that a second simulation of the result changes nothing.
func grouped(t *testing.T, text string) string {
	t.Helper()
	state := loaded(t, text)
	result := groupedState(t, state)
	var lines strings.Builder
	for _, e := range result.Events {
		fmt.Fprintf(&lines, "%d %s %s: %s\n  %s: %s\n", e.Step, e.Object, e.Change, e.Text, e.Verdict, e.Why)
	}
	for _, w := range result.Waiting {
		fmt.Fprintf(&lines, "%s waits for %s (%s)\n", w.Object, w.For, w.Verdict)
	}
	for _, a := range result.Assumed {
		fmt.Fprintf(&lines, "assumed: %s\n", a)
	}
	differences, err := cluster.Diff(state, result.State)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.WriteDiff(&lines, differences); err != nil {
		t.Fatal(err)
	}
	if again := groupedState(t, result.State); len(again.Events) > 0 {
		t.Errorf("simulated again:\n%s", timeline(again))
	}
	return lines.String()
}

func groupedState(t *testing.T, state *cluster.State) *Result {
	t.Helper()
	result, err := newRun(state, Options{}).loop(t.Context(), []controller{operatorGroups})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Idle {
		t.Errorf("it does not come to rest:\n%s", timeline(result))
	}
	return result
}

// TestOperatorGroupsInAnyOrder checks that the order of the objects in the input does not matter.
func TestOperatorGroupsInAnyOrder(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/operatorgroups/apis.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".yaml") {
			continue
		}
		objects := strings.Split(string(f.Data), "\n---\n")
		slices.Reverse(objects)
		first, second := groupedState(t, loaded(t, string(f.Data))), groupedState(t, loaded(t, strings.Join(objects, "\n---\n")))
		if got, want := timeline(second), timeline(first); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got, want)
		}
	}
}

// manyGroups returns a State of n namespaces. Every twentieth has an OperatorGroup that selects the next 20, and three
// of five groups have operators, some of them the same ones.
func manyGroups(n int) *cluster.State {
	s := &cluster.State{}
	for i := range n {
		ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		ns.Name, ns.Labels = fmt.Sprintf("ns%d", i), map[string]string{"tenant": strconv.Itoa(i / 20)}
		s.Namespaces.Put(cluster.Object[*corev1.Namespace]{Value: ns})
	}
	for i := range n / 20 {
		og := &operatorsv1.OperatorGroup{TypeMeta: metav1.TypeMeta{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup"}}
		og.Namespace, og.Name, og.UID = fmt.Sprintf("ns%d", i*20), "g", types.UID(strconv.Itoa(i))
		og.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": strconv.Itoa(i)}}
		s.OperatorGroups.Put(group{Value: og})
		if i%5 > 2 {
			continue
		}
		c := &v1alpha1.ClusterServiceVersion{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.ClusterServiceVersionAPIVersion, Kind: "ClusterServiceVersion"}}
		c.Namespace, c.Name, c.Status.Phase = og.Namespace, fmt.Sprintf("op%d", i%50), v1alpha1.CSVPhaseSucceeded
		for _, mode := range []v1alpha1.InstallModeType{v1alpha1.InstallModeTypeMultiNamespace, v1alpha1.InstallModeTypeOwnNamespace} {
			c.Spec.InstallModes = append(c.Spec.InstallModes, v1alpha1.InstallMode{Type: mode, Supported: true})
		}
		for j := range 5 {
			c.Spec.CustomResourceDefinitions.Owned = append(c.Spec.CustomResourceDefinitions.Owned,
				v1alpha1.CRDDescription{Name: fmt.Sprintf("as%d.op%d.io", j, i%50), Kind: fmt.Sprintf("A%d", j), Version: "v1"})
		}
		s.ClusterServiceVersions.Put(csv{Value: c})
	}
	return s
}

// BenchmarkOperatorGroups checks that the time grows with the number of namespaces and groups, not with its square:
// 10,000 namespaces, 500 groups and 300 operators.
func BenchmarkOperatorGroups(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		s := manyGroups(n)
		b.Run(fmt.Sprintf("%d namespaces", n), func(b *testing.B) {
			for b.Loop() {
				result, err := newRun(s, Options{}).loop(b.Context(), []controller{operatorGroups})
				if err != nil || !result.Idle || len(result.Waiting) > 0 {
					b.Fatal(err, result.Waiting)
				}
			}
		})
	}
}
