package simulate

import (
	"cmp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/olm"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A run is a simulation that is under way.
type run struct {
	Result
	opts     Options
	input    *cluster.State // as it was at first
	question *olm.Request   // about the State as it is

	// changed has the step in which an object of a namespace last changed; "" is for objects without one.
	changed map[string]int

	// Of namespaces: the steps in which their Subscriptions were last synced and resolved, and what they wait for.
	synced, resolved map[string]int
	blocked          map[string]blockage

	unpacking map[string]int               // the step in which that began, by the images of bundles
	bundles   map[string]*contents         // by catalog and name
	history   map[string][]string          // what a Subscription or ClusterExtension had installed, by its Ref
	settled   map[string]Wait              // what ClusterExtensions wait for that do not change any more, by name
	refused   map[string]*resolve.V1Result // the answers about ClusterExtensions that are not resolved, by name
	grouping  *grouping                    // of operatorGroups, nil before the first step

	reported map[types.NamespacedName]int // the step in which a Subscription reported the installed operator

	reinstalls map[types.NamespacedName]int // how often drifted operators were installed again

	labelling bool                                                 // OLM labels its objects
	named     map[string]*apiextensionsv1.CustomResourceDefinition // copies whose annotations name new operators
	planNames map[string]bool                                      // of all InstallPlans; nil before the first new one

	noted map[string]bool // what is assumed

	pods map[types.NamespacedName][]cluster.Object[*cluster.Other] // of CatalogSources, when the step began

	copied map[types.NamespacedName]copying // what the copies of an operator were last made of
}

func newRun(state *cluster.State, opts Options) *run {
	result := Result{State: state.Clone(), Events: []Event{}, Waiting: []Wait{}, Assumed: []string{}}
	return &run{
		opts: opts, input: state, Result: result,
		changed: map[string]int{}, synced: map[string]int{}, resolved: map[string]int{}, blocked: map[string]blockage{},
		unpacking: map[string]int{}, bundles: map[string]*contents{}, history: map[string][]string{},
		settled: map[string]Wait{}, refused: map[string]*resolve.V1Result{}, noted: map[string]bool{},
		copied:   map[types.NamespacedName]copying{},
		reported: map[types.NamespacedName]int{}, reinstalls: map[types.NamespacedName]int{},
		named: map[string]*apiextensionsv1.CustomResourceDefinition{},
	}
}

// ask adds the catalogs. Their contents do not change, so one question is enough.
func (r *run) ask() error {
	q, err := olm.NewRequest(r.State, r.opts.Cluster)
	if err != nil {
		return err
	}
	r.question = q
	q.AssumeClassic()
	q.AssumeV1()
	for _, a := range q.Assumed {
		r.assume(a)
	}
	r.disconnectInvalid()
	_, _, err = r.openShiftVersion()
	return cmp.Or(r.checkNames(), err)
}

// A reason is why an object changes or waits.
type reason struct {
	why     string
	verdict Verdict
}

// computed returns a reason that the objects alone give.
func computed(why string) reason { return reason{why, Computed} }

// assumed returns a reason that depends on what no object says.
func assumed(why string) reason { return reason{why, Assumed} }

// event notes what happens to an object, which was read at pos.
func (r *run) event(c cluster.Change, o cluster.Kubernetes, pos declcfg.Pos, text string, why reason) {
	step := r.Steps + 1
	r.Events = append(r.Events, Event{
		Step: step, Change: c, Object: RefTo(o), Place: pos, Text: text, Why: why.why, Verdict: why.verdict,
	})
	r.changed[o.GetNamespace()] = step
}

// wait says what an object waits for.
func wait[P cluster.Kubernetes](r *run, o cluster.Object[P], what string, v Verdict) {
	r.Waiting = append(r.Waiting, Wait{Object: RefTo(o.Value), Place: o.Pos, For: what, Verdict: v})
}

// A serving says whether a cluster serves a kind of objects.
type serving int

const (
	servingUnknown serving = iota
	served
	notServed
)

// serving returns whether the cluster serves a kind of objects. Its definitions and APIServices say so. A state without
// definitions says nothing, and one without APIServices nothing about the groups of Kubernetes itself.
func (r *run) serving(of schema.GroupVersionKind) serving {
	for o := range r.State.CustomResourceDefinitions.All() {
		spec := &o.Value.Spec
		if spec.Group == of.Group && spec.Names.Kind == of.Kind {
			i := slices.IndexFunc(spec.Versions, isVersion(of.Version))
			return servedIf(i >= 0 && spec.Versions[i].Served)
		}
	}
	if o, ok := r.State.APIServices.Get("", of.Version+"."+of.Group); ok {
		return servedIf(o.Value.Spec.Service != nil || isOfKubernetes(of.Group))
	}
	_, listed := r.input.APIServices.Get("", "v1.") // which every cluster has
	switch {
	case listed:
		return notServed
	case !hasOthers(&r.input.CustomResourceDefinitions), isOfKubernetes(of.Group):
		return servingUnknown
	}
	return notServed
}

func servedIf(ok bool) serving {
	if ok {
		return served
	}
	return notServed
}

// isOfKubernetes reports whether a group is one of Kubernetes itself.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// remember notes the update of what a Subscription or ClusterExtension has installed, "" for nothing.
func (r *run) remember(of Ref, from, to string) {
	key := of.String()
	if len(r.history[key]) == 0 && from != "" {
		r.history[key] = []string{from}
	}
	r.history[key] = append(r.history[key], to)
}

// circleOf returns the circle of updates that the next one would close, "" if it does not. SkipRanges can lead back to
// an older version, over and over.
func (r *run) circleOf(of Ref, next string) string {
	history := r.history[of.String()]
	i := slices.Index(history, next)
	if i < 0 {
		return ""
	}
	return strings.Join(append(slices.Clone(history[i:]), next), " -> ")
}
