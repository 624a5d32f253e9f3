package simulate

import (
	"cmp"
	"fmt"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/updates"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A run is a simulation in progress.
type run struct {
	Result
	opts    Options
	input   *cluster.State   // the state at the start
	request *install.Request // to OLM about the current State

	// The last step in which an object of a namespace changed; "" is for objects without a namespace.
	changed map[string]int

	// Namespaces with a change of an object of the kinds that OLM watches to resolve a namespace.
	watched map[string]bool
	syncing bool // nothing else changes before the next sync
	delay   int  // Event.Minutes of the current changes

	// By namespace: the last steps in which the Subscriptions were synced and resolved, and the reasons why they wait.
	synced, resolved map[string]int
	blocked          map[string]namespaceWait

	unpacking map[string]int               // the step in which unpacking started, by the images of bundles
	bundles   map[string]*contents         // by catalog and name
	history   map[string]*updates.Trail    // see historyOf
	unchanged map[string]Wait              // the waits of ClusterExtensions that have become stable, by name
	refused   map[string]*resolve.V1Result // the answers about ClusterExtensions that are not resolved, by name
	groups    *groupController             // of OperatorGroups, nil before the first step

	reported   map[types.NamespacedName]int // the step in which a Subscription reported the installed operator
	reinstalls map[types.NamespacedName]int // the number of reinstallations of an operator because of drift

	// Copies of definitions whose annotations may be changed in place.
	ownDefinitions map[string]*apiextensionsv1.CustomResourceDefinition

	labelling bool            // OLM labels its objects
	planNames map[string]bool // the names of all InstallPlans; nil before the first new one
	isAssumed map[string]bool // the elements of Assumed

	pods   map[types.NamespacedName][]cluster.Object[*cluster.Other] // of CatalogSources, at the start of the step
	copied map[types.NamespacedName]copyInputs                       // the inputs of the last copies of an operator
}

func newRun(state *cluster.State, opts Options) *run {
	opts.KubeVersion = cmp.Or(opts.KubeVersion, state.KubernetesVersion())
	result := Result{
		State: state.Clone(), Events: []Event{}, Waiting: []Wait{}, Assumed: []string{},
		Contents: install.Origins(opts.Cluster.Contents),
	}
	return &run{
		opts: opts, input: state, Result: result,
		changed: map[string]int{}, watched: map[string]bool{}, synced: map[string]int{}, resolved: map[string]int{},
		blocked:   map[string]namespaceWait{},
		unpacking: map[string]int{}, bundles: map[string]*contents{}, history: map[string]*updates.Trail{},
		unchanged: map[string]Wait{}, refused: map[string]*resolve.V1Result{},
		copied:   map[types.NamespacedName]copyInputs{},
		reported: map[types.NamespacedName]int{}, reinstalls: map[types.NamespacedName]int{},
		ownDefinitions: map[string]*apiextensionsv1.CustomResourceDefinition{}, isAssumed: map[string]bool{},
	}
}

// setRequest reads the catalogs and checks the options that refer to them. The run has only one request, because the
// contents of catalogs do not change.
func (r *run) setRequest() error {
	request, err := install.NewRequest(r.State, r.opts.Cluster)
	if err != nil {
		return err
	}
	r.request = request
	request.AssumeClassic()
	request.AssumeV1()
	for _, a := range request.Assumed {
		r.assume(a)
	}
	request.DisconnectInvalid() // the controller of CatalogSources has the reasons
	_, minor, err := r.openShiftVersion()
	if of := platform.OpenShift(minor).Kubernetes; err == nil && r.opts.KubeVersion == "" && of != (platform.Version{}) {
		r.opts.KubeVersion = of.String() + ".0"
		r.assume(fmt.Sprintf("the version of Kubernetes is %s, as in OpenShift %s", r.opts.KubeVersion, minor))
	}
	return cmp.Or(r.checkNames(), err)
}

// A reason explains why an object changes or waits.
type reason struct {
	why     string
	verdict Verdict
	minutes int // see Event.Minutes
}

// computed returns a reason that follows from the objects alone.
func computed(why string) reason { return reason{why: why, verdict: Computed} }

// assumed returns a reason that also depends on an assumption.
func assumed(why string) reason { return reason{why: why, verdict: Assumed} }

// after returns the same reason for a change that comes some minutes later.
func (why reason) after(minutes int) reason {
	why.minutes = minutes
	return why
}

// partial returns the same reason for a change of which not all is known, as a catalog has no manifests of its bundle.
func (why reason) partial() reason {
	return reason{why: why.why + "; its catalog does not have its manifests", verdict: NotEvaluable}
}

// event records a change of an object, which was read at pos.
func (r *run) event(c cluster.Change, o cluster.Kubernetes, pos declcfg.Pos, text string, why reason) {
	step := r.Steps + 1
	r.Events = append(r.Events, Event{
		Step: step, Change: c, Object: RefTo(o), Place: pos, Text: text, Why: why.why, Verdict: why.verdict,
		Minutes: max(why.minutes, r.delay),
	})
	r.changed[o.GetNamespace()] = step
	switch any(o).(type) {
	case *v1alpha1.Subscription, *v1alpha1.InstallPlan, *v1alpha1.CatalogSource, *operatorsv1.OperatorGroup:
		r.watched[o.GetNamespace()] = true
	}
}

// wait records the reason why an object waits.
func wait[P cluster.Kubernetes](r *run, o cluster.Object[P], what string, v Verdict) {
	r.Waiting = append(r.Waiting, Wait{Object: RefTo(o.Value), Place: o.Pos, For: what, Verdict: v})
}

// A serving is whether a cluster serves a kind of objects: yes, no or unknown.
type serving int

const (
	servingUnknown serving = iota
	served
	notServed
)

// serving returns whether the cluster serves a kind of objects, according to its definitions, APIServices and version.
// The result is unknown without any definitions, and for API groups of Kubernetes itself without any APIServices unless
// Kubernetes removed the kind.
func (r *run) serving(of schema.GroupVersionKind) serving {
	for o := range r.State.CustomResourceDefinitions.All() {
		if spec := &o.Value.Spec; spec.Group == of.Group && spec.Names.Kind == of.Kind {
			return servedIf(apihelpers.HasServedCRDVersion(o.Value, of.Version))
		}
	}
	if o, ok := r.State.APIServices.Get("", of.Version+"."+of.Group); ok {
		return servedIf(o.Value.Spec.Service != nil || isOfKubernetes(of.Group))
	}
	_, listed := r.input.APIServices.Get("", "v1.") // every cluster has it
	switch {
	case listed, r.removed(of):
		return notServed
	case !r.knows(kindDefinitions), isOfKubernetes(of.Group):
		return servingUnknown
	}
	return notServed
}

// removed reports whether Kubernetes removed a kind in the version of the cluster or before. It returns false if the
// version is unknown.
func (r *run) removed(of schema.GroupVersionKind) bool {
	in, ok := platform.RemovedIn(of.GroupVersion().String(), of.Kind)
	if !ok || r.opts.KubeVersion == "" {
		return false
	}
	v, err := parseVersion(r.opts.KubeVersion)
	return err == nil && v.AtLeast(version.MajorMinor(uint(in.Major), uint(in.Minor)))
}

func servedIf(ok bool) serving {
	if ok {
		return served
	}
	return notServed
}

// isOfKubernetes reports whether an API group is part of Kubernetes itself.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// addHistory records an update of the bundle of a Subscription or ClusterExtension; from is "" for an installation.
func (r *run) addHistory(of Ref, from, to string) {
	trail := r.historyOf(of)
	if len(trail.States()) == 0 && from != "" {
		trail.Add(from)
	}
	trail.Add(to)
}

// updateLoop returns the update loop that the next update would close, "" for none. A skipRange can lead back to an
// older version again and again.
func (r *run) updateLoop(of Ref, next string) string {
	return strings.Join(r.historyOf(of).Loop(next), " -> ")
}

// historyOf returns the bundles that a Subscription or ClusterExtension had installed.
func (r *run) historyOf(of Ref) *updates.Trail {
	trail := r.history[of.String()]
	if trail == nil {
		trail = new(updates.Trail)
		r.history[of.String()] = trail
	}
	return trail
}
