package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What OLM says of APIs that more than one operator owns.
var (
	errOwnsCRD        = errors.New("conflicting CRD owner in namespace")
	errOwnsAPIService = errors.New("unable to adopt APIService")
)

// named returns an operator as it is now, nil if it is not there, or a copy.
func (ns *installed) named(name string) *csv {
	o, ok := ns.State.ClusterServiceVersions.Get(ns.namespace, name)
	if !ok || o.Value.IsCopied() {
		return nil
	}
	return &o
}

// replacedBy returns the operator that o replaces, nil if it is not there.
func (ns *installed) replacedBy(o csv) *csv { return ns.named(o.Value.Spec.Replaces) }

// replacementOf returns the operator that replaces o, nil for none. If there are several, OLM takes any.
func (ns *installed) replacementOf(o csv) *csv {
	for _, name := range ns.replacements[o.Value.Name] {
		if next := ns.named(name); next != nil {
			return next
		}
	}
	return nil
}

// sort puts operators behind those that they replace: what OLM does with one depends on whether the other is gone.
func (ns *installed) sort() {
	ages := map[string]int{} // how many operators are replaced before, by name
	var age func(csv) int
	age = func(o csv) int {
		name := o.Value.Name
		if n, ok := ages[name]; ok {
			return n
		}
		ages[name] = 0 // ends a circle
		if previous := ns.replacedBy(o); previous != nil {
			ages[name] = age(*previous) + 1
		}
		return ages[name]
	}
	slices.SortStableFunc(ns.all, func(a, b csv) int { return cmp.Compare(age(a), age(b)) })
}

// upgradeable returns why an operator must not be replaced, nil if it may.
func (ns *installed) upgradeable(o *csv) error {
	found, ok := ns.State.OperatorConditions.Get(o.Value.Namespace, o.Value.Name)
	if !ok {
		return nil
	}
	condition := found.Value
	if c := meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable); c != nil {
		if c.Status == metav1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("the operator is not upgradeable: %s", c.Message)
	}
	c := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
	switch {
	case c == nil:
		return nil
	case c.ObservedGeneration != condition.Generation:
		return fmt.Errorf("the operatorcondition status %q=%q is outdated", c.Type, c.Status)
	case c.Status == metav1.ConditionFalse:
		return fmt.Errorf("the operator is not upgradeable: %s", c.Message)
	}
	return nil
}

// ownerConflict returns the error about an API of o that another operator owns, or another namespace.
func (ns *installed) ownerConflict(o csv) error {
	chain := sync.OnceValue(func() map[string]bool { return ns.chain(o) })
	for _, other := range ns.all {
		if other.Value.Name == o.Value.Name {
			continue
		}
		for _, owned := range o.Value.Spec.CustomResourceDefinitions.Owned {
			if other.Value.OwnsCRD(owned.Name) && !chain()[other.Value.Name] {
				return errOwnsCRD
			}
		}
	}
	for _, owned := range o.Value.GetOwnedAPIServiceDescriptions() {
		if service, ok := ns.State.APIServices.Get("", owned.GetName()); ok && !ns.adopts(chain(), service.Value.Labels) {
			return errOwnsAPIService
		}
	}
	return nil
}

// adopts reports whether an operator may take over what has these labels: it is its own, or that of one it replaces or
// that is gone.
func (ns *installed) adopts(chain map[string]bool, labels map[string]string) bool {
	name, namespace := labels["olm.owner"], labels["olm.owner.namespace"]
	if name == "" || namespace == "" {
		return false
	}
	if namespace == ns.namespace && chain[name] {
		return true
	}
	_, exists := ns.State.ClusterServiceVersions.Get(namespace, name)
	return !exists
}

// chain returns the names of o, of what it replaces, and of what replaces it.
func (ns *installed) chain(o csv) map[string]bool {
	names := map[string]bool{o.Value.Name: true}
	for next := ns.replacementOf(o); next != nil && !names[next.Value.Name]; next = ns.replacementOf(*next) {
		names[next.Value.Name] = true
	}
	for previous := ns.replacedBy(o); previous != nil && !names[previous.Value.Name]; previous = ns.replacedBy(*previous) {
		names[previous.Value.Name] = true
	}
	return names
}

// replacing deletes an operator once the one that replaces it runs. Of a chain, the oldest goes first.
func (ns *installed) replacing(o csv) {
	if previous := ns.replacedBy(o); previous != nil {
		wait(ns.run, o, "ClusterServiceVersion "+previous.Value.Name+", which it replaces, to be deleted", Computed)
		return
	}
	next := ns.replacementOf(o)
	if next == nil {
		wait(ns.run, o, "a replacement: marked as replacement, but no replacement CSV found in cluster", Computed)
		return
	}
	if ns.failForward() {
		next = ns.end(*next)
	}
	if next.Value.Status.Phase != v1alpha1.CSVPhaseSucceeded {
		wait(ns.run, o, fmt.Sprintf("ClusterServiceVersion %s, which replaces it, to succeed: phase %s",
			next.Value.Name, orNone(string(next.Value.Status.Phase))), Computed)
		return
	}
	ns.phase(o, v1alpha1.CSVPhaseDeleting, v1alpha1.CSVReasonReplaced,
		"has been replaced by a newer ClusterServiceVersion that has successfully installed.",
		computed("its replacement succeeded"))
}

// end returns the last operator of a chain of replacements.
func (ns *installed) end(o csv) *csv {
	last, seen := &o, map[string]bool{}
	for next := last; next != nil && !seen[next.Value.Name]; next = ns.replacementOf(*next) {
		last = next
		seen[next.Value.Name] = true
	}
	return last
}

// finishDeletion deletes an operator that someone deletes, with all it owns, unless another finalizer keeps it.
func (ns *installed) finishDeletion(o csv) {
	others := slices.DeleteFunc(slices.Clone(o.Value.Finalizers), func(f string) bool { return f == finalizer })
	if len(others) > 0 {
		wait(ns.run, o, "its finalizers: "+some(others), Computed)
		return
	}
	remove(ns.run, &ns.State.ClusterServiceVersions, o, "its deletion is complete", computed("metadata.deletionTimestamp"))
	ns.collect(o.Value)
}

// deleteOperator deletes an operator. What it owns goes with it.
func (ns *installed) deleteOperator(o csv) {
	remove(ns.run, &ns.State.ClusterServiceVersions, o, "replaced", computed("its replacement runs"))
	ns.collect(o.Value)
	ns.forgetAlongside(o.Value)
}
