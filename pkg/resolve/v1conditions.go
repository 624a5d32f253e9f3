package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Condition is a condition in the status of an object of a cluster.
type Condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// setConditions sets the conditions of the ClusterExtension: if it is resolved to an offer, the conditions that it has
// once the bundle is rolled out. There is none if the API server refuses the status.
func (r *v1Resolver) setConditions(best *offer, err error) {
	if _, refused := errors.AsType[*statusError](err); refused {
		r.answer.Conditions = []Condition{}
		return
	}
	progressing := Condition{"Progressing", metav1.ConditionTrue, "Succeeded", "Desired state reached"}
	if r.answer.Outcome == Failed {
		progressing.Reason, progressing.Message = "Retrying", err.Error()
	}
	failed, isResolved := errors.AsType[*applyError](err)
	if isResolved && failed.terminal {
		progressing.Status, progressing.Reason = metav1.ConditionFalse, "InvalidConfiguration"
	}
	r.answer.Conditions = append(r.answer.Conditions, r.installedCondition(), progressing)
	if err != nil && !isResolved {
		r.answer.Conditions = append(r.answer.Conditions, r.unknownDeprecations()...)
		return
	}
	r.answer.Conditions = append(r.answer.Conditions, r.deprecations(best)...)
}

func (r *v1Resolver) installedCondition() Condition {
	var bundle string
	switch {
	case r.answer.Choice != nil:
		bundle = cmp.Or(r.answer.Choice.Image, r.answer.Choice.Bundle)
	case r.Installed != nil:
		bundle = cmp.Or(r.Installed.Image, r.Installed.Name)
	default:
		return Condition{"Installed", metav1.ConditionFalse, "Failed", "No bundle installed"}
	}
	message := fmt.Sprintf("Installed bundle %s successfully", bundle)
	return Condition{"Installed", metav1.ConditionTrue, "Succeeded", message}
}

var noBundleYet = Condition{"BundleDeprecated", metav1.ConditionUnknown, "Absent", "no bundle installed yet"}

// unknownDeprecations are the conditions without a chosen catalog, which is what knows of deprecations.
func (r *v1Resolver) unknownDeprecations() []Condition {
	const message = "deprecation status unknown: catalog data unavailable"
	unknown := func(of string) Condition {
		return Condition{of, metav1.ConditionUnknown, "DeprecationStatusUnknown", message}
	}
	bundle := unknown("BundleDeprecated")
	if r.Installed == nil {
		bundle = noBundleYet
	}
	return []Condition{unknown("Deprecated"), unknown("PackageDeprecated"), unknown("ChannelDeprecated"), bundle}
}

// deprecations are the conditions with a chosen catalog. Without channels in the ClusterExtension, those of all
// channels of the package count.
func (r *v1Resolver) deprecations(best *offer) []Condition {
	var installed string
	switch {
	case r.answer.Choice != nil:
		installed = r.answer.Choice.Bundle
	case r.Installed != nil:
		installed = r.Installed.Name
	}
	var pkg, channels, bundle []string
	for _, d := range best.Deprecations(r.Package) {
		switch name := d.Reference.Name; {
		case d.Message == "":
		case d.Reference.Schema == declcfg.SchemaPackage:
			pkg = append(pkg, d.Message)
		case d.Reference.Schema == declcfg.SchemaChannel && r.selects(name):
			channels = append(channels, d.Message)
		case d.Reference.Schema == declcfg.SchemaBundle && name == installed:
			bundle = append(bundle, d.Message)
		}
	}
	conditions := []Condition{
		deprecated("Deprecated", "not deprecated", pkg, channels, bundle),
		deprecated("PackageDeprecated", "package not deprecated", pkg),
		deprecated("ChannelDeprecated", "channel not deprecated", channels),
		deprecated("BundleDeprecated", "bundle not deprecated", bundle),
	}
	if installed == "" {
		conditions[3] = noBundleYet
	}
	return conditions
}

// deprecated returns a condition that is true if there are messages.
func deprecated(of, not string, messages ...[]string) Condition {
	all := slices.Concat(messages...)
	if len(all) == 0 {
		return Condition{of, metav1.ConditionFalse, "NotDeprecated", not}
	}
	return Condition{of, metav1.ConditionTrue, "Deprecated", strings.Join(all, "\n")}
}

// selects reports whether the ClusterExtension follows a channel.
func (e *Extension) selects(channel string) bool {
	return len(e.Channels) == 0 || slices.Contains(e.Channels, channel)
}
