package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/resolve"
)

type extension = cluster.Object[*cluster.Extension]

// The conditions of the objects of OLM v1.
const (
	conditionServing     = "Serving"
	conditionProgressing = "Progressing"
	conditionInstalled   = "Installed"
)

// clusterCatalogs finds the ClusterCatalogs that are not served, or not updated.
func (d *diagnosis) clusterCatalogs() {
	for o := range d.ClusterCatalogs.All() {
		conditions := o.Value.Status.Conditions
		serving := meta.FindStatusCondition(conditions, conditionServing)
		progressing := meta.FindStatusCondition(conditions, conditionProgressing)
		stopped := serving != nil && serving.Status == metav1.ConditionFalse
		retrying := isRetrying(progressing)
		ref := simulate.RefTo(o.Value)
		switch {
		case o.Value.Spec.AvailabilityMode == cluster.Unavailable:
			continue // by its owner
		case stopped && retrying:
			f := add(d, ruleClusterCatalog, o, "it is not served: "+conditionText(progressing))
			helpImage(f.since(&serving.LastTransitionTime), progressing.Message, o.Value.Spec.Source.Image.Ref)
		case stopped:
			f := add(d, ruleClusterCatalog, o, "it is not served: "+conditionText(serving))
			helpImage(f.since(&serving.LastTransitionTime), serving.Message, o.Value.Spec.Source.Image.Ref)
		case retrying:
			f := add(d, ruleCatalogUpdate, o, "it keeps its old content: "+conditionText(progressing))
			helpImage(f.since(&progressing.LastTransitionTime), progressing.Message, o.Value.Spec.Source.Image.Ref)
		case serving == nil && progressing == nil && d.knowsV1():
			add(d, ruleUnresolved, o, "OLM v1 has not unpacked it yet").since(&o.Value.CreationTimestamp).
				help("see whether catalogd works on it", kubectl("describe", ref)...)
		}
	}
}

// knowsV1 reports whether OLM v1 has reconciled one of the objects.
func (d *diagnosis) knowsV1() bool {
	for o := range d.ClusterCatalogs.All() {
		if len(o.Value.Status.Conditions) > 0 {
			return true
		}
	}
	for o := range d.ClusterExtensions.All() {
		if len(o.Value.Status.Conditions) > 0 {
			return true
		}
	}
	return false
}

// isRetrying reports whether a condition says that OLM v1 has an error: it tries again, or needs a change.
func isRetrying(c *metav1.Condition) bool {
	return c != nil && (c.Reason == "Retrying" || c.Status == metav1.ConditionFalse && c.Reason != "Succeeded")
}

func conditionText(c *metav1.Condition) string {
	return strings.TrimSuffix(fmt.Sprintf("%s=%s, %s: %s", c.Type, c.Status, c.Reason, c.Message), ": ")
}

// helpImage adds the action that helps against the error about an image.
func helpImage(f *Finding, message, image string) {
	text := cmp.Or(remedyFor(trouble{message: message}), "make the image available, or name another one")
	f.help(text, "opm", "validate", image)
}

// clusterExtensions finds the ClusterExtensions whose bundle OLM v1 cannot choose or install.
func (d *diagnosis) clusterExtensions() {
	for o := range d.ClusterExtensions.All() {
		ref, conditions := simulate.RefTo(o.Value), o.Value.Status.Conditions
		progressing := meta.FindStatusCondition(conditions, conditionProgressing)
		installed := meta.FindStatusCondition(conditions, conditionInstalled)
		switch {
		case isRetrying(progressing):
			if f := d.unserved(progressing.Message); f != nil {
				d.blame(f, ref)
				continue
			}
			f := add(d, ruleExtension, o, conditionText(progressing)).since(&progressing.LastTransitionTime)
			d.helpExtension(f, o, progressing.Message)
		case installed != nil && installed.Status == metav1.ConditionFalse && progressing == nil:
			f := add(d, ruleExtension, o, conditionText(installed)).since(&installed.LastTransitionTime)
			d.helpExtension(f, o, installed.Message)
		case progressing != nil && progressing.Reason == "RollingOut":
			f := add(d, ruleOperatorWaits, o, conditionText(progressing)).since(&progressing.LastTransitionTime)
			f.help("look at the pods of the bundle", "kubectl", "get", "deployments,pods,events", "-n", o.Value.Spec.Namespace)
		case len(conditions) == 0 && d.knowsV1():
			add(d, ruleUnresolved, o, "OLM v1 has not resolved it yet").since(&o.Value.CreationTimestamp).
				help("see whether operator-controller works on it", kubectl("describe", ref)...)
		}
	}
}

// unserved returns the Finding about the ClusterCatalog that a message names, nil if there is none. If the message only
// says that there is no bundle, a ClusterCatalog that is not served is the cause.
func (d *diagnosis) unserved(message string) *Finding {
	for _, f := range d.Findings {
		if f.Rule != ruleClusterCatalog.Name {
			continue
		}
		if strings.Contains(message, fmt.Sprintf("%q", f.Object.Name)) || strings.HasPrefix(message, "no bundles found") {
			return f
		}
	}
	return nil
}

// helpExtension adds the actions that help against an error of OLM v1: with the contents of the catalogs, why none of
// them has a bundle.
func (d *diagnosis) helpExtension(f *Finding, o extension, message string) {
	if answer := d.extensions[o.Value.Name]; answer != nil {
		for _, c := range answer.Catalogs {
			if c.Why != "" {
				ref := simulate.Ref{Kind: kindCatalog, Name: c.Name}
				f.show(Evidence{Object: ref, Message: strings.TrimPrefix(c.Why, "it ")})
			}
		}
		if answer.Outcome != resolve.Failed && strings.Contains(message, "bundles") {
			f.show(Evidence{Object: f.Object, Place: f.Place, Message: "with the given catalogs, OLM v1 can resolve it"})
		}
	}
	has := func(parts ...string) bool { return hasPart(message, parts...) }
	ref := f.Object
	switch account := o.Value.Spec.ServiceAccount.Name; {
	case has("pre-authorization failed", "forbidden"):
		f.help("give ServiceAccount "+account+" the permissions that are missing", "kubectl", "auth", "can-i", "--list",
			"--as", "system:serviceaccount:"+o.Value.Spec.Namespace+":"+account)
	case has("service account", "serviceaccounts") && has("not found"):
		f.help("create the ServiceAccount", "kubectl", "create", "serviceaccount", account, "-n", o.Value.Spec.Namespace)
	case has("same priority"):
		f.help("give one of the catalogs a higher priority", patch(simulate.Ref{
			Kind: kindCatalog, Name: d.tied(message)}, `{"spec":{"priority":1}}`)...)
	case has("no bundles found", "found bundles for"):
		f.help("ask for a version and channels that a catalog has, or allow other updates",
			patch(ref, `{"spec":{"source":{"catalog":{"upgradeConstraintPolicy":"SelfCertified"}}}}`)...)
	case has("CRD Upgrade Safety", "CustomResourceDefinition", "existing field"):
		f.help("if no custom resource is affected, switch off the check of CustomResourceDefinitions",
			patch(ref, `{"spec":{"install":{"preflight":{"crdUpgradeSafety":{"enforcement":"None"}}}}}`)...)
	case has("InstallMode", "install mode", "watchNamespace"):
		f.help("set or remove watchNamespace as the install modes of the bundle allow it", kubectl("edit", ref)...)
	default:
		f.help("look at its conditions", kubectl("describe", ref)...)
	}
}

// tied returns the first ClusterCatalog that a message about equal priorities names.
func (d *diagnosis) tied(message string) string {
	_, list, _ := strings.Cut(message, "same priority [")
	list, _, _ = strings.Cut(list, "]")
	for name := range strings.FieldsSeq(list) {
		if _, ok := d.ClusterCatalogs.Get("", name); ok {
			return name
		}
	}
	return "NAME"
}
