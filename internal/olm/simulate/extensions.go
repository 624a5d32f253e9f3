package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
)

// extensions resolves each ClusterExtension on its own and installs the chosen bundles.
func extensions(ctx context.Context, r *run) error {
	for o := range r.State.ClusterExtensions.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w, ok := r.unchanged[o.Value.Name]; ok {
			r.waitFor(o, w)
			continue
		}
		before := len(r.Events)
		w := r.reconcileExtension(o)
		r.waitFor(o, w)
		if len(r.Events) == before {
			r.unchanged[o.Value.Name] = w
		}
	}
	return nil
}

// waitFor records that a ClusterExtension waits, if w has a reason.
func (r *run) waitFor(o cluster.Object[*cluster.Extension], w Wait) {
	if w.For != "" {
		wait(r, o, w.For, w.Verdict)
	}
}

// reconcileExtension reconciles a ClusterExtension as OLM v1 does, and returns the reason why it waits.
func (r *run) reconcileExtension(o cluster.Object[*cluster.Extension]) Wait {
	request, answer := r.request.Extension(o)
	if answer.Outcome == install.Waiting {
		return Wait{For: "the bundle that is being rolled out, which no object names", Verdict: NotEvaluable}
	}
	text, why := "", computed("OLM v1 resolves each ClusterExtension on its own, and retries until it succeeds")
	changed := func(*cluster.Extension) {}
	if request.Changes(answer) {
		ref := RefTo(o.Value)
		next := request.Next(answer).Installed
		if loop := r.updateLoop(ref, next.Name); loop != "" {
			return Wait{For: "a bundle outside its update loop, " + loop, Verdict: Computed}
		}
		from := ""
		if request.Installed != nil {
			from = request.Installed.Name
		}
		r.addHistory(ref, from, next.Name)
		text = fmt.Sprintf("installs %s from catalog %s", next.Name, answer.Choice.Catalog)
		why = assumed("it is the best bundle of the catalogs, and is rolled out without errors")
		changed = func(e *cluster.Extension) {
			b := &e.Status.Install.Bundle
			b.Name, b.Version, b.Release = next.Name, next.Version, next.Release
		}
	}
	conditions, news := extensionConditions(o.Value.Status.Conditions, answer.Conditions)
	parts := slices.DeleteFunc(append([]string{text}, news...), func(s string) bool { return s == "" })
	update(r, o, func(e *cluster.Extension) {
		changed(e)
		e.Status.Conditions = conditions
	}, cmp.Or(strings.Join(parts, ", "), "nothing to install"), why)
	delete(r.refused, o.Value.Name)
	if answer.Outcome == resolve.Failed {
		r.refused[o.Value.Name] = answer
		return Wait{For: "a change, since it is not resolved: " + answer.Message, Verdict: Computed}
	}
	return Wait{}
}

// normalReasons are the condition reasons of a ClusterExtension without problems.
var normalReasons = []string{"Succeeded", "NotDeprecated", "DeprecationStatusUnknown", "Absent"}

// extensionConditions returns the conditions of a ClusterExtension after an answer, and descriptions of the changes
// that matter to users.
func extensionConditions(old []metav1.Condition, answer []resolve.Condition) (all []metav1.Condition, news []string) {
	all = slices.Clone(old)
	for _, c := range answer {
		isNew := meta.FindStatusCondition(old, c.Type) == nil
		var changed bool
		all, changed = withCondition(all, metav1.Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
		})
		if changed && !(isNew && slices.Contains(normalReasons, c.Reason)) {
			news = append(news, conditionText(c.Type, string(c.Status), c.Reason, c.Message))
		}
	}
	return all, news
}
