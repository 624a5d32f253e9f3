package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/olm"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// extensions resolves ClusterExtensions, each on its own, and installs what is chosen for them.
func extensions(ctx context.Context, r *run) error {
	for o := range r.State.ClusterExtensions.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w, ok := r.settled[o.Value.Name]; ok {
			r.waitFor(o, w)
			continue
		}
		before := len(r.Events)
		w := r.extend(o)
		r.waitFor(o, w)
		if len(r.Events) == before {
			r.settled[o.Value.Name] = w
		}
	}
	return nil
}

// waitFor says what a ClusterExtension waits for, if anything.
func (r *run) waitFor(o cluster.Object[*cluster.Extension], w Wait) {
	if w.For != "" {
		wait(r, o, w.For, w.Verdict)
	}
}

// extend does what OLM v1 does with a ClusterExtension, and returns what that waits for.
func (r *run) extend(o cluster.Object[*cluster.Extension]) Wait {
	question, answer := r.question.Extension(o)
	if answer.Outcome == olm.Waiting {
		return Wait{For: "the bundle that is being rolled out, which no object names", Verdict: NotEvaluable}
	}
	text, why := "", computed("OLM v1 resolves a ClusterExtension on its own, and again and again where it fails")
	changed := func(*cluster.Extension) {}
	if question.Changes(answer) {
		ref := RefTo(o.Value)
		next := question.Next(answer).Installed
		if circle := r.circleOf(ref, next.Name); circle != "" {
			return Wait{For: "nothing: it is updated in a circle, " + circle, Verdict: Computed}
		}
		from := ""
		if question.Installed != nil {
			from = question.Installed.Name
		}
		r.remember(ref, from, next.Name)
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

// isNormal reports whether a condition is what a ClusterExtension without trouble has.
func isNormal(c resolve.Condition) bool {
	return slices.Contains([]string{"Succeeded", "NotDeprecated", "DeprecationStatusUnknown", "Absent"}, c.Reason)
}

// extensionConditions returns the conditions of a ClusterExtension with those of an answer, and says which of them
// matter to users.
func extensionConditions(old []metav1.Condition, answer []resolve.Condition) (all []metav1.Condition, news []string) {
	all = slices.Clone(old)
	for _, c := range answer {
		isNew := meta.FindStatusCondition(old, c.Type) == nil
		var changed bool
		all, changed = withCondition(all, metav1.Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
		})
		if changed && !(isNew && isNormal(c)) {
			news = append(news, conditionText(c.Type, string(c.Status), c.Reason, c.Message))
		}
	}
	return all, news
}
