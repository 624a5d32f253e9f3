package simulate

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// installFailed begins what OLM says of an operator that it could not install.
const installFailed = "install strategy failed: "

// install creates what an operator runs, as the service account of its OperatorGroup.
func (ns *installed) install(o csv) {
	strategy, err := rbac.Strategy(o.Value)
	if err != nil {
		ns.invalidStrategy(o, err)
		return
	}
	i, err := ns.installation(o.Value)
	if err != nil {
		wait(ns.run, o, "the service account of its OperatorGroup: "+err.Error(), Computed)
		return
	}
	if reason, err := i.create(strategy.DeploymentSpecs); err != nil {
		ns.phase(o, v1alpha1.CSVPhaseFailed, reason, installFailed+err.Error(),
			computed("OLM creates what an operator runs as the service account of the OperatorGroup"))
		return
	}
	if err := i.installWebhooks(); err != nil {
		ns.failConversion(o, err)
		return
	}
	ns.phase(o, v1alpha1.CSVPhaseInstalling, v1alpha1.CSVReasonInstallSuccessful,
		"waiting for install components to report healthy", computed("everything that it runs is created"))
}

// apply sets the fields of an object that an operator determines, and creates it if there is none of its name.
func apply[P cluster.Kubernetes](r *run, s *cluster.Store[P], o P, set func(P), operator string, why reason) P {
	if found, ok := s.Get(o.GetNamespace(), o.GetName()); ok {
		return update(r, s, found, set, "as "+operator+" has it", why).Value
	}
	set(o)
	create(r, s, o, "for "+operator, why)
	return o
}

// isAvailable reports whether an APIService is. Conditions are missing if it was created in the simulation: then they
// are assumed.
func isAvailable(s *cluster.APIService) bool {
	conditions := s.Status.Conditions
	return len(conditions) == 0 || slices.ContainsFunc(conditions, func(c cluster.APIServiceCondition) bool {
		return c.Type == "Available" && c.Status == metav1.ConditionTrue
	})
}

// check waits for what an operator runs.
func (ns *installed) check(o csv) {
	if ns.broken(o) {
		ns.phase(o, v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInstallCheckFailed, "install timeout",
			assumed("the operator never becomes ready"))
		return
	}
	ns.ready(o)
}

// ready lets an operator succeed.
func (ns *installed) ready(o csv) {
	ns.run.assume("the pods of operators become ready")
	ns.phase(o, v1alpha1.CSVPhaseSucceeded, v1alpha1.CSVReasonInstallSuccessful,
		"install strategy completed with no errors", assumed("its pods become ready"))
}

// broken reports whether an operator is assumed to fail.
func (ns *installed) broken(o csv) bool { return slices.Contains(ns.opts.Fail, o.Value.Name) }

// unhealthy are the reasons to fail that depend on what runs, which a simulation does not know.
var unhealthy = []v1alpha1.ConditionReason{
	v1alpha1.CSVReasonInstallCheckFailed, v1alpha1.CSVReasonComponentFailed, v1alpha1.CSVReasonComponentUnhealthy,
	v1alpha1.CSVReasonAPIServiceResourceIssue, v1alpha1.CSVReasonAPIServiceInstallFailed,
}

// ensure creates an object if there is none of its name.
func ensure[P cluster.Kubernetes](r *run, s *cluster.Store[P], o P, text string, why reason) {
	if _, ok := s.Get(o.GetNamespace(), o.GetName()); !ok {
		create(r, s, o, text, why)
	}
}

// assume notes what neither the state nor the options say.
func (r *run) assume(what string) {
	if !r.noted[what] {
		r.noted[what] = true
		r.Assumed = append(r.Assumed, what)
	}
}

// collect deletes what an operator that is gone owned, as Kubernetes and OLM do.
func (r *run) collect(gone *v1alpha1.ClusterServiceVersion) {
	s, why := r.State, computed("what has owners goes with the last of them")
	collect(r, &s.OperatorConditions, gone, why)
	collect(r, &s.Deployments, gone, why)
	collect(r, &s.ServiceAccounts, gone, why)
	collect(r, &s.Roles, gone, why)
	collect(r, &s.RoleBindings, gone, why)
	for _, of := range slices.SortedFunc(maps.Keys(s.Others), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		collect(r, s.Others[of], gone, why)
	}
	collectLabelled(r, &s.ClusterRoles, gone, why)
	collectLabelled(r, &s.ClusterRoleBindings, gone, why)
	collectLabelled(r, &s.APIServices, gone, why)
	collectLabelled(r, &s.MutatingWebhooks, gone, why)
	collectLabelled(r, &s.ValidatingWebhooks, gone, why)
}

// collect deletes the objects in the namespace of gone whose owners are all gone. Of the others it removes the
// references to the owners that are gone.
func collect[P cluster.Kubernetes](
	r *run, s *cluster.Store[P], gone *v1alpha1.ClusterServiceVersion, why reason,
) {
	isGone := func(ref metav1.OwnerReference) bool {
		_, runs := r.State.ClusterServiceVersions.Get(gone.Namespace, ref.Name)
		_, reports := r.State.OperatorConditions.Get(gone.Namespace, ref.Name)
		return ref.Kind == v1alpha1.ClusterServiceVersionKind && !runs || ref.Kind == kindCondition && !reports
	}
	for o := range s.In(gone.Namespace) {
		owners := o.Value.GetOwnerReferences()
		remaining := slices.DeleteFunc(slices.Clone(owners), isGone)
		switch {
		case len(remaining) == len(owners):
		case len(remaining) == 0:
			remove(r, s, o, "of "+gone.Name, why)
		default:
			update(r, s, o, func(o P) { o.SetOwnerReferences(remaining) }, "no longer owned by "+gone.Name, why)
		}
	}
}

// collectLabelled deletes the objects that are in no namespace and whose labels name gone as their owner.
func collectLabelled[P cluster.Kubernetes](
	r *run, s *cluster.Store[P], gone *v1alpha1.ClusterServiceVersion, why reason,
) {
	for o := range s.In("") {
		if rbac.IsOwned(o.Value, gone) {
			remove(r, s, o, "of "+gone.Name, why)
		}
	}
}
