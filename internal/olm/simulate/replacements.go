package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/operator"
)

func (ns *installed) failForward() bool {
	return ns.group != nil && ns.group.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
}

// OLM's errors about APIs that more than one operator owns.
var (
	errOwnsCRD        = errors.New("conflicting CRD owner in namespace")
	errOwnsAPIService = errors.New("unable to adopt APIService")
)

// current returns the current version of an operator, nil if it does not exist or is a copy.
func (ns *installed) current(name string) *csv {
	o, ok := ns.State.ClusterServiceVersions.Get(ns.namespace, name)
	if !ok || o.Value.IsCopied() {
		return nil
	}
	return &o
}

// replacedBy returns the operator that o replaces, nil if it does not exist.
func (ns *installed) replacedBy(o csv) *csv { return ns.current(o.Value.Spec.Replaces) }

// replacementOf returns the operator that replaces o, nil if there is none. OLM takes any if there are several.
func (ns *installed) replacementOf(o csv) *csv {
	for _, name := range ns.replacements[o.Value.Name] {
		if next := ns.current(name); next != nil {
			return next
		}
	}
	return nil
}

// ownerConflict returns an error if an API of o belongs to another operator or to another namespace.
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

// adopts reports whether an operator may adopt an object with these labels: the object belongs to the operator, to
// another one in its chain of replacements, or to an operator that no longer exists.
func (ns *installed) adopts(chain map[string]bool, labels map[string]string) bool {
	name, namespace := labels[operator.LabelOwner], labels[operator.LabelOwnerNamespace]
	if name == "" || namespace == "" {
		return false
	}
	if namespace == ns.namespace && chain[name] {
		return true
	}
	_, exists := ns.State.ClusterServiceVersions.Get(namespace, name)
	return !exists
}

// chain returns the names of o, of the operators it replaces, and of its replacements.
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

// replacing deletes an operator once its replacement runs. The oldest operator of a chain is deleted first.
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
		next = ns.lastReplacement(*next)
	}
	if next.Value.Status.Phase != v1alpha1.CSVPhaseSucceeded {
		wait(ns.run, o, fmt.Sprintf("ClusterServiceVersion %s, which replaces it, to succeed: phase %s",
			next.Value.Name, cmp.Or(string(next.Value.Status.Phase), "none")), Computed)
		return
	}
	ns.phase(o, v1alpha1.CSVPhaseDeleting, v1alpha1.CSVReasonReplaced,
		"has been replaced by a newer ClusterServiceVersion that has successfully installed.",
		computed("its replacement succeeded"))
}

// lastReplacement returns the last operator of a chain of replacements, which starts with o.
func (ns *installed) lastReplacement(o csv) *csv {
	last, seen := &o, map[string]bool{}
	for next := last; next != nil && !seen[next.Value.Name]; next = ns.replacementOf(*next) {
		last = next
		seen[next.Value.Name] = true
	}
	return last
}
