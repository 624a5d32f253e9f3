package simulate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/render"
)

// loaded returns the objects of a text.
func loaded(t *testing.T, text string) *cluster.State {
	t.Helper()
	s, err := cluster.Load(t.Context(), nil, render.Text("state.yaml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// timeline returns a line for each Event.
func timeline(r *Result) string {
	var lines []string
	for _, e := range r.Events {
		lines = append(lines, fmt.Sprintf("%d %s %s: %s", e.Step, e.Object, e.Change, e.Text))
	}
	return strings.Join(lines, "\n")
}

// TestLoop checks that a run ends when nothing changes, or after its maximum number of steps, and does not change its
// input.
func TestLoop(t *testing.T) {
	grow := func(_ context.Context, r *run) error {
		for o := range r.State.Namespaces.All() {
			if len(o.Value.Finalizers) == 3 {
				wait(r, o, "nothing", Computed)
				continue
			}
			update(r, o, func(n *corev1.Namespace) {
				n.Finalizers = append(n.Finalizers, "x")
			}, "grows", computed("it has not grown up"))
		}
		return nil
	}
	for _, tt := range []struct {
		steps, want int
		idle        bool
	}{{steps: 0, want: 3, idle: true}, {steps: 2, want: 2}} {
		state := loaded(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
		result, err := newRun(state, Options{Steps: tt.steps}).loop(t.Context(), []controller{grow})
		if err != nil {
			t.Fatal(err)
		}
		if result.Idle != tt.idle || result.Steps != tt.want || len(result.Events) != tt.want {
			t.Errorf("%d steps, idle %v:\n%s", result.Steps, result.Idle, timeline(result))
		}
		if n, _ := state.Namespaces.Get("", "a"); len(n.Value.Finalizers) > 0 {
			t.Error("the state has changed")
		}
	}
}
