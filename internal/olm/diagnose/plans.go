package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
)

const installing = v1alpha1.InstallPlanPhaseInstalling

type plan = cluster.Object[*v1alpha1.InstallPlan]

// installPlans finds the InstallPlans that failed, are repeated, wait for approval, or do not exist. Only the plans to
// which Subscriptions refer count: the others are history.
func (d *diagnosis) installPlans() {
	type key struct{ namespace, name string }
	users := map[key][]simulate.Ref{}
	var order []key
	for o := range d.Subscriptions.All() {
		if name := install.PlanName(&o.Value.Status); name != "" {
			k := key{o.Value.Namespace, name}
			if users[k] == nil {
				order = append(order, k)
			}
			users[k] = append(users[k], simulate.RefTo(o.Value))
		}
	}
	for _, k := range order {
		o, ok := d.InstallPlans.Get(k.namespace, k.name)
		if !ok {
			d.planMissing(users[k])
			continue
		}
		d.installPlan(o, users[k])
	}
}

// planMissing finds Subscriptions that miss their InstallPlan, by their condition.
func (d *diagnosis) planMissing(users []simulate.Ref) {
	for _, ref := range users {
		o, _ := d.Subscriptions.Get(ref.Namespace, ref.Name)
		c := o.Value.Status.GetCondition(v1alpha1.SubscriptionInstallPlanMissing)
		if c.Status == "True" {
			f := add(d, rulePlan, o, "its InstallPlan does not exist: "+cmp.Or(c.Message, c.Reason))
			f.since(c.LastTransitionTime).help("look at the Subscription", get(ref)...)
		}
	}
}

// installPlan checks an InstallPlan of some Subscriptions.
func (d *diagnosis) installPlan(o plan, users []simulate.Ref) {
	status := &o.Value.Status
	installed := status.GetCondition(v1alpha1.InstallPlanInstalled)
	why := cmp.Or(installed.Message, status.Message)
	since := installed.LastTransitionTime
	var f *Finding
	switch {
	case status.Phase == v1alpha1.InstallPlanPhaseFailed:
		f = add(d, rulePlan, o, "it failed: "+cmp.Or(why, "it does not say why"))
		d.helpPlan(f, o, users)
	case status.Phase == installing && d.blamed[simulate.RefTo(o.Value)] != nil:
		return // its OperatorGroup is the cause
	case status.Phase == installing && why != "" && d.unfinished(o):
		f = add(d, rulePlan, o, "OLM tries to execute it again and again: "+cmp.Or(status.Message, why))
		d.helpPlan(f, o, users)
	case status.Phase == v1alpha1.InstallPlanPhaseRequiresApproval:
		f = add(d, ruleApproval, o, "it waits for approval of "+strings.Join(o.Value.Spec.ClusterServiceVersionNames, ", "))
		since = &o.Value.CreationTimestamp
		f.show(d.manual(users)...)
		f.help("approve it", patch(f.Object, `{"spec":{"approved":true}}`)...)
	default:
		return
	}
	f.since(since)
	for _, ref := range users {
		d.blame(f, ref)
	}
	for _, name := range o.Value.Spec.ClusterServiceVersionNames {
		c, ok := d.ClusterServiceVersions.Get(o.Value.Namespace, name)
		if ok && c.Value.Status.Phase != succeeded {
			d.blame(f, simulate.RefTo(c.Value))
		}
	}
}

// unfinished reports whether one of the operators of an InstallPlan is not installed.
func (d *diagnosis) unfinished(o plan) bool {
	return slices.ContainsFunc(o.Value.Spec.ClusterServiceVersionNames, func(name string) bool {
		c, ok := d.ClusterServiceVersions.Get(o.Value.Namespace, name)
		return !ok || c.Value.Status.Phase != succeeded
	})
}

// manual returns the Subscriptions of the namespace for which an InstallPlan of others needs approval, unless one of
// the users is such a Subscription itself.
func (d *diagnosis) manual(users []simulate.Ref) []Evidence {
	var all []Evidence
	for o := range d.Subscriptions.In(users[0].Namespace) {
		ref := simulate.RefTo(o.Value)
		if o.Value.Spec.InstallPlanApproval != v1alpha1.ApprovalManual {
			continue
		}
		if slices.Contains(users, ref) {
			return nil
		}
		if len(all) < maxEvidence {
			all = append(all, Evidence{Object: ref, Place: o.Pos,
				Message: "its installPlanApproval Manual applies to all InstallPlans of the namespace"})
		}
	}
	return all
}

// helpPlan adds the actions that help against the failure of an InstallPlan, by its message.
func (d *diagnosis) helpPlan(f *Finding, o plan, users []simulate.Ref) {
	message := strings.ToLower(f.Message)
	has := func(parts ...string) bool { return hasPart(message, parts...) }
	switch {
	case has("forbidden: user", "is forbidden"):
		command := []string{"kubectl", "auth", "can-i", "--list", "-n", o.Value.Namespace}
		if m := forbiddenUser.FindStringSubmatch(f.Message); m != nil {
			command = append(command, "--as", m[1])
		}
		f.help("give the ServiceAccount of the OperatorGroup the permission", command...)
		return
	case has("api-server resource not found", "not found on the cluster"):
		f.help("install the CustomResourceDefinition of that kind, or ask for a version of the operator without it",
			"kubectl", "api-resources")
	case has("error validating existing crs", "validation is too restrictive"):
		f.help("change or delete the custom resources that the new CustomResourceDefinition refuses",
			"kubectl", "get", cmp.Or(definitionIn(f.Message), "crd"), "-A")
	case has("risk of data loss", "stored version"):
		f.help("migrate the stored objects, then remove the version from status.storedVersions",
			"kubectl", "get", "crd", definitionIn(f.Message), "-o", "jsonpath={.status.storedVersions}")
	}
	if o.Value.Status.Phase == v1alpha1.InstallPlanPhaseFailed {
		d.retryPlan(f, o, users[0])
	}
}

// retryPlan adds the action that makes OLM try a failed InstallPlan again: to delete it, while the operator of its
// Subscription does not exist, and otherwise also the operator.
func (d *diagnosis) retryPlan(f *Finding, o plan, user simulate.Ref) {
	then := "repair the cause, then "
	if len(f.Help) > 0 {
		then = "then "
	}
	for _, name := range o.Value.Spec.ClusterServiceVersionNames {
		if _, ok := d.ClusterServiceVersions.Get(o.Value.Namespace, name); ok {
			f.help(then+"delete "+name+" and its Subscription, and create the Subscription again", "kubectl", "delete",
				strings.ToLower(kindCSV)+"/"+name, resourceOf(kindSubscription)+"/"+user.Name, "-n", o.Value.Namespace)
			return
		}
	}
	f.help(then+"delete the InstallPlan: OLM makes another one for "+user.String(), kubectl("delete", f.Object)...)
}

// forbiddenUser matches the user in the message of an API server.
var forbiddenUser = regexp.MustCompile(`User "([^"]+)"`)

// quotedName matches the name of a CustomResourceDefinition in a message.
var quotedName = regexp.MustCompile(`"?\b([a-z0-9-]+(?:\.[a-z0-9-]+)+)\b"?`)

// definitionIn returns the first name of a CustomResourceDefinition in a message of OLM, "" if there is none.
func definitionIn(message string) string {
	if m := quotedName.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}
