package simulate

import (
	"cmp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A run is a simulation that is under way.
type run struct {
	Result
	opts     Options
	input    *cluster.State    // as it was at first
	question *cluster.Question // about the State as it is

	// changed has the step in which an object of a namespace last changed; "" is for objects without one.
	changed map[string]int

	// Of namespaces: the steps in which their Subscriptions were last synced and resolved, and what they wait for.
	synced, resolved map[string]int
	blocked          map[string]Wait

	unpacking map[string]int       // the step in which that began, by the images of bundles
	bundles   map[string]*contents // by catalog and name
	history   map[string][]string  // what a Subscription or ClusterExtension had installed, by its Ref
	settled   map[string]Wait      // what ClusterExtensions wait for that do not change any more, by name
	grouping  *grouping            // of operatorGroups, nil before the first step

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
		changed: map[string]int{}, synced: map[string]int{}, resolved: map[string]int{}, blocked: map[string]Wait{},
		unpacking: map[string]int{}, bundles: map[string]*contents{}, history: map[string][]string{},
		settled: map[string]Wait{}, copied: map[types.NamespacedName]copying{}, noted: map[string]bool{},
		reported: map[types.NamespacedName]int{}, reinstalls: map[types.NamespacedName]int{},
		named: map[string]*apiextensionsv1.CustomResourceDefinition{},
	}
}

// ask adds the catalogs. Their contents do not change, so one question is enough.
func (r *run) ask() error {
	q, err := r.State.Question(r.opts.Cluster)
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
func (r *run) event(a Action, o cluster.Kubernetes, pos declcfg.Pos, text string, why reason) {
	step := r.Steps + 1
	r.Events = append(r.Events, Event{
		Step: step, Action: a, Object: refTo(o), Place: pos, Text: text, Why: why.why, Verdict: why.verdict,
	})
	r.changed[o.GetNamespace()] = step
}

// wait says what an object waits for.
func wait[P cluster.Kubernetes](r *run, o cluster.Object[P], what string, v Verdict) {
	r.Waiting = append(r.Waiting, Wait{Object: refTo(o.Value), Place: o.Pos, For: what, Verdict: v})
}

// create adds an object, whose type is set.
func create[P cluster.Kubernetes](r *run, s *cluster.Store[P], o P, text string, why reason) {
	s.Put(cluster.Object[P]{Value: o})
	r.event(Created, o, declcfg.Pos{}, text, why)
}

// update changes a copy of an object and puts it, with an Event, if it is another then. It returns the object that is
// in the store.
func update[P cluster.Kubernetes](
	r *run, s *cluster.Store[P], o cluster.Object[P], change func(P), text string, why reason,
) cluster.Object[P] {
	clone := o.Value.DeepCopyObject().(P)
	change(clone)
	if equality.Semantic.DeepEqual(o.Value, clone) {
		return o
	}
	o.Value = clone
	s.Put(o)
	r.event(Updated, clone, o.Pos, text, why)
	return o
}

// remove deletes an object.
func remove[P cluster.Kubernetes](r *run, s *cluster.Store[P], o cluster.Object[P], text string, why reason) {
	s.Delete(o.Value.GetNamespace(), o.Value.GetName())
	r.event(Deleted, o.Value, o.Pos, text, why)
}

// put creates an object of any kind, or replaces the one of its name, and reports whether it is new.
func (r *run) put(o cluster.Kubernetes, text string, why reason) (isNew bool) {
	of := o.GetObjectKind().GroupVersionKind().GroupKind()
	old, ok := r.State.Get(of, o.GetNamespace(), o.GetName())
	if ok {
		o.SetUID(old.Value.GetUID())
		o.SetResourceVersion(old.Value.GetResourceVersion())
		o.SetCreationTimestamp(old.Value.GetCreationTimestamp())
		keepComponentLabels(o, old.Value.GetLabels())
		if same(old.Value, o) {
			return false
		}
	}
	action := Created
	if ok {
		action = Updated
	}
	r.State.Put(cluster.Object[cluster.Kubernetes]{Value: o, Pos: old.Pos})
	r.event(action, o, old.Pos, text, why)
	return !ok
}

// same reports whether two objects are equal. Fields that are carried along may be in another order.
func same(a, b cluster.Kubernetes) bool {
	x, isOther := a.(*cluster.Other)
	y, both := b.(*cluster.Other)
	if !isOther || !both {
		return equality.Semantic.DeepEqual(a, b)
	}
	before, err := x.Content()
	after, err2 := y.Content()
	return err == nil && err2 == nil && equality.Semantic.DeepEqual(before, after)
}

// keepComponentLabels keeps the labels that say to which Operators an object belongs.
func keepComponentLabels(o cluster.Kubernetes, old map[string]string) {
	for key, value := range old {
		if strings.HasPrefix(key, "operators.coreos.com/") {
			o.SetLabels(with(o.GetLabels(), key, value))
		}
	}
}
