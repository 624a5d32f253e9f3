package simulate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
)

// TestTimeline checks that Events that differ only in their objects share a line, and that a reason is written
// once for consecutive events, and once in a step for a kind.
func TestTimeline(t *testing.T) {
	r := &Result{Idle: true, Steps: 2}
	event := func(step int, c cluster.Change, kind, name, text, why string) {
		r.Events = append(r.Events, Event{
			Step: step, Change: c, Object: Ref{Kind: kind, Namespace: "ns", Name: name}, Text: text, Why: why, Verdict: Computed,
		})
	}
	for i := range 8 {
		event(1, cluster.Updated, "OperatorGroup", fmt.Sprint("g", i), "targets ns", "it names it")
	}
	event(1, cluster.Updated, "OperatorGroup", "h", "targets nothing", "it names it")
	event(1, cluster.Created, "InstallPlan", "a", "generation 1", "a change")
	event(1, cluster.Updated, "Subscription", "a", "pending", "it is resolved")
	event(1, cluster.Created, "InstallPlan", "b", "generation 2", "a change")
	event(1, cluster.Updated, "Subscription", "b", "pending", "it is resolved")
	event(1, cluster.Updated, "OperatorGroup", "h", "targets ns", "it selects it")
	event(1, cluster.Updated, "Namespace", "h", "labels", "it selects it")
	event(2, cluster.Updated, "Namespace", "i", "labels", "it selects it")
	event(2, cluster.Updated, "Pod", "i", "labels", "it selects it")
	event(2, cluster.Deleted, "Pod", "j", "labels", "it selects it")
	const want = `step 1
  ~ OperatorGroup ns/g0, ns/g1, ns/g2, ns/g3, ns/g4 and 3 others: targets ns
      it names it
  ~ OperatorGroup ns/h: targets nothing
  + InstallPlan ns/a: generation 1
      a change
  ~ Subscription ns/a: pending
      it is resolved
  + InstallPlan ns/b: generation 2
  ~ Subscription ns/b: pending
  ~ OperatorGroup ns/h: targets ns
      it selects it
  ~ Namespace ns/h: labels
step 2
  ~ Namespace ns/i: labels
      it selects it
  ~ Pod ns/i: labels
  - Pod ns/j: labels
no changes after 2 steps
`
	var got strings.Builder
	if err := r.Timeline().Text(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got:\n%s", got.String())
	}
}
