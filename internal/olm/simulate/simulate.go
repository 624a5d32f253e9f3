// Package simulate runs the controllers of OLM Classic and OLM v1 offline on the objects of a cluster, until they no
// longer change any.
//
//	result, err := simulate.Run(ctx, state, simulate.Options{Cluster: install.Options{Catalogs: catalogs}})
//	for _, e := range result.Events {
//		fmt.Println(e.Step, e.Object, e.Text)
//	}
//
// The controllers of OLM are functions over the objects of a cluster. In each step they run one after the other, and
// each reconciles all objects that it is responsible for, by namespace and name: in a cluster, the order is random.
//
// Controllers change objects only with create, update, put and remove, which record the event and its reason. Names of
// InstallPlans end in a generation, and conditions have no times, since both are random in a cluster. Recordings of
// real clusters are the measure: a test runs all of them, and names the ones that differ.
package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Options are the catalogs and the assumptions of a simulation.
type Options struct {
	Cluster install.Options // the catalogs
	Resolve resolve.Options
	Steps   int // the maximum number of steps; 0 for maxSteps

	Approve     bool     // InstallPlans that need approval get it
	Fail        []string // ClusterServiceVersions whose operators never become ready
	FailUnpack  []string // ClusterServiceVersions whose bundle images cannot be unpacked
	KubeVersion string   // of the cluster, such as 1.34.1; "" if it is not known
	OCPVersion  string   // of OpenShift, such as 4.20; "" if it is not known
}

// maxSteps is the maximum number of steps of a simulation that never becomes idle.
const maxSteps = 1000

// A Result is the result of a simulation.
type Result struct {
	Events  []Event  `json:"events"`  // in order
	Waiting []Wait   `json:"waiting"` // after the last step, by controller and object
	Idle    bool     `json:"idle"`    // the last step changed no object
	Steps   int      `json:"steps"`   // the number of steps that changed objects
	Assumed []string `json:"assumed"` // facts that are neither in the state nor in the options

	Contents []install.Origin `json:"contents,omitempty"` // of the options

	// Outcomes are the Outcomes of the Subscriptions, by namespace and name, and then of the ClusterExtensions, by
	// name.
	Outcomes []Outcome `json:"outcomes"`

	// OpenShift is nil if its version is not known.
	OpenShift *OpenShift `json:"openshift,omitempty"`

	// Changes are the changed fields of objects, set only by a caller that wants them written; see [cluster.Diff].
	Changes []cluster.Difference `json:"changes,omitempty"`

	State *cluster.State `json:"-"` // after the last step
	Rest  *cluster.State `json:"-"` // before anything that only the next sync of a namespace changes; mostly State

	replaced int // the number of operators whose replacement started
}

// Done reports whether the simulation is idle and no object waits: everything that the objects ask for is installed.
func (r *Result) Done() bool { return r.Idle && len(r.Waiting) == 0 }

// A controller reconciles the objects that it is responsible for, and records the reasons why they wait. The error is
// ctx.Err(), or about options that do not match the state.
type controller func(context.Context, *run) error

// controllers are the controllers of OLM, in the order in which they run in a step.
var controllers = []controller{
	catalogSources, operatorGroups, subscriptions, resolution, plans, reportedConditions, operators, operatorConditions,
	contentLabels, copies, groupRoles, extensions, waiting,
}

// Run simulates a cluster. It does not change the state. The error is ctx.Err(), or about a name or version in the
// options.
func Run(ctx context.Context, state *cluster.State, opts Options) (*Result, error) {
	r := newRun(state, opts)
	if err := r.setRequest(); err != nil {
		return nil, err
	}
	result, err := r.loop(ctx, controllers)
	return result, cmp.Or(err, r.setOutcomes(ctx), r.openShift())
}

// loop runs the controllers until a step changes no object. When nothing changes before the next sync, that comes.
func (r *run) loop(ctx context.Context, controllers []controller) (*Result, error) {
	limit := min(cmp.Or(max(r.opts.Steps, 0), maxSteps), maxSteps)
	for !r.Idle && r.Steps < limit {
		before := len(r.Events)
		r.Waiting = nil
		for _, reconcile := range controllers {
			if err := reconcile(ctx, r); err != nil {
				return nil, err
			}
		}
		switch {
		case len(r.Events) > before:
			r.Steps++
			r.syncing = false
		case !r.syncing && r.hasLate():
			r.syncing = true
			if r.Rest == nil {
				r.Rest = r.State.Clone()
				clear(r.ownDefinitions) // they are in both States now
			}
		default:
			r.Idle = true
		}
	}
	r.Rest = cmp.Or(r.Rest, r.State)
	return &r.Result, ctx.Err()
}

// An Event is a change of an object.
type Event struct {
	Step   int            `json:"step"` // from 1
	Change cluster.Change `json:"action"`
	Object Ref            `json:"object"`
	Place  declcfg.Pos    `json:"place,omitzero"` // of the object, if it was read

	Text    string  `json:"text"` // the change, such as "phase Pending, reason RequirementsNotMet"
	Why     string  `json:"why"`  // the rule that OLM follows
	Verdict Verdict `json:"verdict"`

	// Minutes is the time that OLM or Kubernetes waits before the change; 0 if the change follows at once.
	Minutes int `json:"minutes,omitzero"`
}

// A Verdict is the certainty of an Event or a Wait.
type Verdict string

// The verdicts.
const (
	Computed     Verdict = "computed"
	Assumed      Verdict = "assumed"               // it depends on facts outside the objects, such as whether pods start
	NotEvaluable Verdict = "not evaluable offline" // it is undecided, because an object or a catalog is missing
)

// A Wait is the reason why an object waits after the last step.
type Wait struct {
	Object  Ref         `json:"object"`
	Place   declcfg.Pos `json:"place,omitzero"`
	For     string      `json:"for"`
	Verdict Verdict     `json:"verdict"`
}

// String returns a sentence with the object, the reason and the verdict.
func (w Wait) String() string {
	return w.Object.String() + " waits for " + w.For + verdictSuffix(w.Verdict)
}

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

// checkNames returns an error about a name in the options that is neither an operator of the state nor a bundle of the
// catalogs.
func (r *run) checkNames() error {
	wanted := slices.Concat(r.opts.Fail, r.opts.FailUnpack)
	if len(wanted) == 0 {
		return nil
	}
	names := r.request.BundleNames()
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
