package diagnose

import (
	"context"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// predict asks the packages that imitate OLM what it does next. Without the contents of all catalogs that a namespace
// resolves from, their answers about it do not count.
func (d *diagnosis) predict(ctx context.Context, opts Options) error {
	d.outcomes, d.answers = map[simulate.Ref]*simulate.Outcome{}, map[string]*install.NamespaceResult{}
	var err error
	if d.request, err = install.NewRequest(d.State, opts.Cluster); err != nil {
		return err
	}
	d.request.DisconnectInvalid()
	d.simulated = &simulate.Result{}
	simulated := simulate.Options{
		Cluster: opts.Cluster, Resolve: opts.Resolve, KubeVersion: opts.KubeVersion, OCPVersion: opts.OCPVersion,
	}
	withCatalogs := len(opts.Cluster.Catalogs)+len(opts.Cluster.Contents) > 0
	if !withCatalogs {
		simulated.Steps = 1 // for the verdict about OpenShift
	}
	if withCatalogs || opts.OCPVersion != "" || d.others(config, "ClusterVersion").Len() > 0 {
		d.simulated, err = simulate.Run(ctx, d.State, simulated)
	}
	if withCatalogs {
		d.request.AssumeClassic()
	}
	d.Assumed = append(d.Assumed, d.request.Assumed...)
	if err != nil || !withCatalogs {
		return err
	}
	var known []string
	for _, namespace := range d.Subscriptions.Namespaces() {
		if len(d.request.Unread(namespace)) == 0 {
			known = append(known, namespace)
		}
	}
	opts.Resolve.Explain = true
	answers, err := d.request.Answers(ctx, known, opts.Resolve)
	if err != nil {
		return err
	}
	for _, a := range answers {
		d.answers[a.Name] = a
	}
	knowsV1 := len(d.request.UnreadV1()) == 0
	for i := range d.simulated.Outcomes {
		o := &d.simulated.Outcomes[i]
		if o.Object.Kind == kindExtension && knowsV1 || d.answers[o.Object.Namespace] != nil {
			d.outcomes[o.Object] = o
		}
	}
	if knowsV1 {
		d.extensions = map[string]*resolve.V1Result{}
		for o := range d.ClusterExtensions.All() {
			if o.Value.Request() != nil {
				_, d.extensions[o.Value.Name] = d.request.Extension(o)
			}
		}
	}
	return nil
}

// willInstall reports whether nothing prevents OLM from installing what an object asks for, as far as it is known.
func (d *diagnosis) willInstall(ref simulate.Ref) bool {
	o := d.outcomes[ref]
	return o != nil && len(o.Waiting) == 0 && o.After != "" && d.simulated.Idle
}

// explain adds the explanation of a namespace, and the actions that were tried, if the contents of its catalogs are
// given. It reports whether there are any.
func (d *diagnosis) explain(f *Finding, namespace string) bool {
	answer := d.answers[namespace]
	if answer == nil || answer.Explanation == nil {
		return false
	}
	behind := answer.Explanation.Behind()
	if behind.IsEmpty() {
		f.show(Evidence{Object: f.Object, Place: f.Place,
			Message: "with the given catalogs, OLM can resolve the namespace when it tries again"})
		return false
	}
	f.setWhy(behind)
	for _, change := range behind.Changes {
		d.helpChange(f, namespace, change)
	}
	return len(behind.Changes) > 0
}

// maxExplanation is the maximum number of lines of an explanation.
const maxExplanation = 20

// setWhy sets the lines of an explanation, without its changes, which are in Help.
func (f *Finding) setWhy(e *resolve.Explanation) {
	reasons := *e
	reasons.Changes = nil
	reasons.Decisions = slices.Clone(e.Decisions)
	for i := range reasons.Decisions {
		reasons.Decisions[i].Changes = nil
	}
	var text strings.Builder
	_ = reasons.WriteText(&text, maxExplanation, "from opm resolve --state") // writing to a Builder does not fail
	for line := range strings.Lines(text.String()) {
		f.Why = append(f.Why, strings.TrimRight(line, "\n"))
	}
}

// helpChange adds a change that would help. It has the command that deletes the objects, or edits the first one.
func (d *diagnosis) helpChange(f *Finding, namespace string, change resolve.Change) {
	var objects []simulate.Ref
	for _, place := range change.Places {
		if ref, ok := d.at(namespace, place); ok {
			objects = append(objects, ref)
		}
	}
	switch {
	case len(objects) == 0:
		f.help(change.Text)
	case strings.HasPrefix(change.Text, "remove "):
		f.help(change.Text, deletions(objects)...)
	default:
		f.help(change.Text, kubectl("edit", objects[0])...)
	}
}

// at returns the Subscription or operator of a namespace that was read at a place.
func (d *diagnosis) at(namespace string, place declcfg.Pos) (simulate.Ref, bool) {
	for o := range d.Subscriptions.In(namespace) {
		if o.Pos == place {
			return simulate.RefTo(o.Value), true
		}
	}
	for o := range d.ClusterServiceVersions.In(namespace) {
		if o.Pos == place {
			return simulate.RefTo(o.Value), true
		}
	}
	return simulate.Ref{}, false
}

// heldBack finds the Subscriptions of a namespace that is resolved and keeps an operator for which there are newer
// bundles in the channel.
func (d *diagnosis) heldBack(namespace string) {
	answer := d.answers[namespace]
	if answer == nil || answer.Explanation == nil || answer.Outcome != resolve.Resolved {
		return
	}
	for _, decision := range answer.Explanation.Behind().Decisions {
		o, ok := d.Subscriptions.Get(namespace, decision.Subscription)
		if !ok || !decision.Installed || d.blamed[simulate.RefTo(o.Value)] != nil {
			continue
		}
		i := slices.IndexFunc(decision.Rejected, func(r *resolve.Reason) bool { return isInChannel(o, r) })
		if i < 0 {
			continue
		}
		f := add(d, ruleHeldBack, o, "OLM does not install a newer bundle: "+decision.Rejected[i].Text)
		f.setWhy(&resolve.Explanation{Decisions: []resolve.Decision{decision}})
		for _, change := range decision.Changes {
			d.helpChange(f, namespace, change)
		}
		if len(decision.Changes) == 0 {
			f.help("use another channel, or install the operator again", kubectl("edit", f.Object)...)
		}
	}
}

// isInChannel reports whether a rejected bundle is in the channel that a Subscription asks for.
func isInChannel(o subscription, r *resolve.Reason) bool {
	spec := o.Value.Spec
	channel := spec.CatalogSource + "/" + spec.CatalogSourceNamespace + "/" + spec.Channel + "/"
	return r.Kind != resolve.FactNotOffered || spec.Channel == "" || slices.ContainsFunc(r.Subjects, func(id string) bool {
		return strings.HasPrefix(id, channel)
	})
}

// predicted adds the waits of the simulation that no Finding explains. Subscriptions that others block come last, since
// these are the cause.
func (d *diagnosis) predicted() {
	var all []*simulate.Outcome
	for i := range d.simulated.Outcomes {
		if o := &d.simulated.Outcomes[i]; d.outcomes[o.Object] != nil && len(o.Waiting) > 0 && !d.isBlamed(o) {
			all = append(all, o)
		}
	}
	for _, blocked := range []bool{false, true} {
		for _, o := range all {
			if blocked == (o.Explanation == nil && len(o.BlockedBy) > 0) {
				d.predictedWait(o)
			}
		}
	}
}

// predictedWait adds a Finding about an object for which OLM cannot finish what it does next.
func (d *diagnosis) predictedWait(o *simulate.Outcome) {
	for _, b := range o.BlockedBy {
		if f := d.blamed[b.Object]; f != nil && o.Explanation == nil {
			d.blame(f, o.Object)
			return
		}
	}
	message := o.FailedPlan()
	for _, w := range o.Waiting {
		if message == "" && w.Object != o.Object {
			message = w.String()
		}
	}
	if message == "" {
		message = "it waits for " + o.Waiting[0].For
	}
	f := d.addRef(rulePredicted, o.Object, o.Place, "when OLM continues: "+message)
	for _, b := range o.BlockedBy {
		f.show(Evidence{Object: b.Object, Place: b.Place, Message: b.Message})
	}
	if o.Explanation != nil {
		f.setWhy(o.Explanation)
		for _, change := range o.Explanation.Changes {
			d.helpChange(f, o.Object.Namespace, change)
		}
	}
	for _, help := range o.Help {
		f.help(help)
	}
	if len(f.Help) == 0 {
		f.help("see each change that OLM makes: opm simulate --timeline")
	}
}

// isBlamed reports whether an object, or an object that it waits for, has a Finding.
func (d *diagnosis) isBlamed(o *simulate.Outcome) bool {
	if d.blamed[o.Object] != nil {
		return true
	}
	for _, w := range o.Waiting {
		if d.blamed[w.Object] != nil {
			return true
		}
	}
	return false
}
