package simulate

import (
	"cmp"
	"context"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// Options are what a simulation assumes.
type Options struct {
	Cluster cluster.Options // the catalogs
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
	if err := r.ask(); err != nil {
		return nil, err
	}
	result, err := r.loop(ctx, controllers)
	return result, cmp.Or(err, r.openShift())
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
