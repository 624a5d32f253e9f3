// Package simulate computes what OLM Classic and OLM v1 do in a cluster, offline, until nothing changes any more.
//
//	result, err := simulate.Run(ctx, state, simulate.Options{Cluster: olm.Options{Catalogs: catalogs}})
//	for _, e := range result.Events {
//		fmt.Println(e.Step, e.Object, e.Text)
//	}
//
// The controllers of OLM are functions over the objects of a cluster. Each of them looks at all objects that it is
// responsible for, in each step, one controller after the other, by namespace and name: in a cluster, the order is
// random.
package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/olm"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// Options are what a simulation assumes.
type Options struct {
	Cluster olm.Options // the catalogs
	Resolve resolve.Options
	Steps   int // after which to stop; 0 for no limit but maxSteps

	Approve     bool     // InstallPlans that need approval get it
	Fail        []string // ClusterServiceVersions whose operators never become ready
	FailUnpack  []string // ClusterServiceVersions whose bundle images cannot be unpacked
	KubeVersion string   // of the cluster, such as 1.34.1; "" if it is not known
	OCPVersion  string   // of OpenShift, such as 4.20; "" if it is not known
}

// maxSteps ends simulations that never come to rest, such as updates in a circle of skipRanges.
const maxSteps = 1000

// A Result is what happened.
type Result struct {
	Events  []Event  `json:"events"`  // in order
	Waiting []Wait   `json:"waiting"` // after the last step, by controller and object
	Idle    bool     `json:"idle"`    // nothing changes any more
	Steps   int      `json:"steps"`   // in which something changed
	Assumed []string `json:"assumed"` // what neither the state nor the options say

	// Outcomes are those of the Subscriptions, by namespace and name, and then of the ClusterExtensions, by name.
	Outcomes []Outcome `json:"outcomes"`

	// OpenShift is nil if its version is not known.
	OpenShift *OpenShift `json:"openshift,omitempty"`

	// Changes are set by who wants them written; see [cluster.Diff].
	Changes []cluster.Difference `json:"changes,omitempty"`

	State *cluster.State `json:"-"` // after the last step

	replaced int // operators that began to be replaced
}

// Done reports whether nothing changes any more, and nothing waits: what the objects ask for is installed.
func (r *Result) Done() bool { return r.Idle && len(r.Waiting) == 0 }

// A controller brings the objects that it is responsible for closer to what they should be, and says what they wait
// for. The error is that of the context, or about options that do not fit the state.
type controller func(context.Context, *run) error

// controllers are those of OLM, in the order in which they act in a step.
var controllers = []controller{
	catalogSources, operatorGroups, subscriptions, resolution, plans, reportedConditions, operators, operatorConditions,
	contentLabels, copies, groupRoles, extensions, waiting,
}

// Run simulates a cluster. The state stays as it is. The error is that of ctx, or about a name or version in the
// options.
func Run(ctx context.Context, state *cluster.State, opts Options) (*Result, error) {
	r := newRun(state, opts)
	if err := r.setQuestion(); err != nil {
		return nil, err
	}
	result, err := r.loop(ctx, controllers)
	return result, cmp.Or(err, r.setOutcomes(ctx), r.openShift())
}

// loop runs the controllers until nothing changes in a step.
func (r *run) loop(ctx context.Context, controllers []controller) (*Result, error) {
	for limit := r.limit(); r.Steps < limit; r.Steps++ {
		before := len(r.Events)
		r.Waiting = nil
		for _, reconcile := range controllers {
			if err := reconcile(ctx, r); err != nil {
				return nil, err
			}
		}
		if len(r.Events) == before {
			r.Idle = true
			break
		}
	}
	return &r.Result, ctx.Err()
}

func (r *run) limit() int {
	if r.opts.Steps > 0 {
		return min(r.opts.Steps, maxSteps)
	}
	return maxSteps
}

// An Event is a change of an object.
type Event struct {
	Step   int            `json:"step"` // from 1
	Change cluster.Change `json:"action"`
	Object Ref            `json:"object"`
	Place  declcfg.Pos    `json:"place,omitzero"` // of the object, if it was read

	Text    string  `json:"text"` // what is new, such as "phase Pending, reason RequirementsNotMet"
	Why     string  `json:"why"`  // the rule that OLM follows
	Verdict Verdict `json:"verdict"`
}

// A Verdict says how certain something is.
type Verdict string

// The verdicts.
const (
	Computed     Verdict = "computed"
	Assumed      Verdict = "assumed"               // it depends on what no object says, such as whether pods become ready
	NotEvaluable Verdict = "not evaluable offline" // it is not decided, since something is missing
)

// A Wait is what an object waits for when nothing changes any more.
type Wait struct {
	Object  Ref         `json:"object"`
	Place   declcfg.Pos `json:"place,omitzero"`
	For     string      `json:"for"`
	Verdict Verdict     `json:"verdict"`
}

// String returns what waits, and for what.
func (w Wait) String() string { return w.Object.String() + " waits for " + w.For + mark(w.Verdict) }

// A Ref names an object.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns the kind and the name: Subscription olm/etcd.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// RefTo returns the Ref of an object whose type is set.
func RefTo(o cluster.Kubernetes) Ref {
	return Ref{o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName()}
}

// checkNames returns an error about a name of the options that neither an operator of the state nor a bundle of the
// catalogs has.
func (r *run) checkNames() error {
	wanted := slices.Concat(r.opts.Fail, r.opts.FailUnpack)
	if len(wanted) == 0 {
		return nil
	}
	names := r.question.BundleNames()
	for o := range r.State.ClusterServiceVersions.All() {
		names = append(names, o.Value.Name)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no ClusterServiceVersion %q%s", name, nearest.Hint(name, names))
		}
	}
	return nil
}
