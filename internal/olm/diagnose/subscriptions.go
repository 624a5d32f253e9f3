package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
)

type subscription = cluster.Object[*v1alpha1.Subscription]

// unpacking finds the bundle images that cannot be unpacked. Its Jobs do not say for which namespace they work: the
// Subscriptions with the condition are affected.
func (d *diagnosis) unpacking() {
	failing := d.failedJobs()
	for _, namespace := range d.Subscriptions.Namespaces() {
		causes := map[string]*Finding{} // by message: the Subscriptions of a namespace share the condition
		for o := range d.Subscriptions.In(namespace) {
			failed := o.Value.Status.GetCondition(v1alpha1.SubscriptionBundleUnpackFailed)
			waits := o.Value.Status.GetCondition(v1alpha1.SubscriptionBundleUnpacking)
			switch {
			case failed.Status == corev1.ConditionTrue:
			case waits.Status == corev1.ConditionTrue && len(failing) > 0 && d.blamed[simulate.RefTo(o.Value)] == nil &&
				o.Value.Status.State != v1alpha1.SubscriptionStateAtLatest:
				failed = waits
				failed.Message = "its bundle is being unpacked, and Jobs fail"
			default:
				continue
			}
			f := causes[failed.Message]
			if f == nil {
				f = add(d, ruleUnpack, o, cmp.Or(failed.Message, "a bundle cannot be unpacked"))
				f.since(failed.LastTransitionTime)
				d.showJobs(f, slices.DeleteFunc(slices.Clone(failing), func(job failedJob) bool {
					return !d.request.Sees(namespace, job.Value.Namespace)
				}))
				causes[failed.Message] = f
			}
			d.blame(f, simulate.RefTo(o.Value))
		}
	}
}

// A failedJob is a Job that cannot unpack a bundle.
type failedJob struct {
	object
	image    string // of the bundle; "" if it is not known
	message  string
	since    *metav1.Time // nil if it is not known
	troubles []trouble
}

// failedJobs returns the Jobs that failed, or whose pods do not run, the newest first.
func (d *diagnosis) failedJobs() []failedJob {
	var all []failedJob
	for _, o := range d.jobs {
		var job struct {
			Spec   batchv1.JobSpec   `json:"spec"`
			Status batchv1.JobStatus `json:"status"`
		}
		if err := cluster.As(o.Value, &job); err != nil {
			d.unreadable(o.Value, err)
			continue
		}
		failed := failedJob{object: o, image: bundleImage(&job.Spec.Template.Spec), since: job.Status.StartTime}
		done := false
		for _, c := range job.Status.Conditions {
			done = done || c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				failed.message = c.Reason + ": " + c.Message
				if !c.LastTransitionTime.IsZero() {
					failed.since = &c.LastTransitionTime
				}
			}
		}
		if done {
			continue
		}
		name := label{o.Value.Namespace, batchv1.JobNameLabel, o.Value.Name}
		older := label{o.Value.Namespace, "job-name", o.Value.Name} // of Kubernetes before 1.27
		failed.troubles = d.podTroubles(slices.Concat(d.pods[name], d.pods[older]))
		if failed.message != "" || len(failed.troubles) > 0 {
			all = append(all, failed)
		}
	}
	slices.SortStableFunc(all, func(a, b failedJob) int { return cmp.Compare(timeText(b.since), timeText(a.since)) })
	return all
}

// bundleImage returns the image of a bundle that a pod of OLM unpacks: of its container "pull".
func bundleImage(spec *corev1.PodSpec) string {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if c.Name == "pull" {
			return c.Image
		}
	}
	return ""
}

// showJobs adds the failed Jobs to a Finding.
func (d *diagnosis) showJobs(f *Finding, jobs []failedJob) {
	for i, job := range jobs[:min(len(jobs), maxEvidence)] {
		ref := simulate.RefTo(job.Value)
		text := cmp.Or(job.message, "its pod does not run")
		if job.image != "" {
			text += ": image " + job.image
		}
		f.show(Evidence{ref, job.Pos, text, timeText(job.since)})
		f.Since = cmp.Or(f.Since, timeText(job.since))
		if i > 0 {
			continue
		}
		f.blameTroubles(job.troubles)
		if len(f.Help) == 0 {
			f.help("make the image available to the nodes: check its name, the mirror and the pull secret",
				kubectl("describe", ref)...)
		}
		f.help("then delete the Job and its ConfigMap, so that OLM tries again at once", "kubectl", "delete", "job/"+ref.Name,
			"configmap/"+ref.Name, "-n", ref.Namespace)
	}
	if len(jobs) == 0 {
		f.help("make the image of the bundle available, then delete its Job, so that OLM tries again", "kubectl", "get",
			"jobs,pods", "-A", "-l", catalogsource.LabelUnpackRef)
	}
}

// subscriptions finds the Subscriptions that are not resolved, or whose operator does not exist.
func (d *diagnosis) subscriptions() {
	for _, namespace := range d.Subscriptions.Namespaces() {
		causes := map[string]*Finding{} // of ResolutionFailed, by message
		for o := range d.Subscriptions.In(namespace) {
			d.missingCatalog(o)
			d.resolution(o, causes)
			d.unfinishedSubscription(o)
		}
		d.heldBack(namespace)
	}
}

// missingCatalog finds a Subscription whose CatalogSource does not exist or is not visible in its namespace.
func (d *diagnosis) missingCatalog(o subscription) {
	spec, ref := o.Value.Spec, simulate.RefTo(o.Value)
	name := spec.CatalogSourceNamespace + "/" + spec.CatalogSource
	_, exists := d.CatalogSources.Get(spec.CatalogSourceNamespace, spec.CatalogSource)
	var all, near []string
	for c := range d.CatalogSources.All() {
		if d.request.Sees(ref.Namespace, c.Value.Namespace) {
			all = append(all, c.Value.Namespace+"/"+c.Value.Name)
			if c.Value.Name == spec.CatalogSource {
				near = append(near, c.Value.Namespace+"/"+c.Value.Name)
			}
		}
	}
	var message string
	switch {
	case !exists && d.CatalogSources.Len() > 0 && !d.request.Reads(spec.CatalogSourceNamespace, spec.CatalogSource):
		message = "its CatalogSource " + name + " does not exist" + nearest.Hint(name, all)
	case exists && !d.request.Sees(ref.Namespace, spec.CatalogSourceNamespace):
		message = fmt.Sprintf("its CatalogSource %s is not visible in the namespace: it is neither in the namespace nor in "+
			"the global one, %s", name, d.request.Global())
	default:
		return
	}
	f := add(d, ruleCatalogMissing, o, message)
	d.blamed[ref] = f
	c := o.Value.Status.GetCondition(v1alpha1.SubscriptionCatalogSourcesUnhealthy)
	if c.Status == corev1.ConditionTrue {
		f.since(c.LastTransitionTime)
	}
	use := cmp.Or(first(near), nearest.Name(name, all), first(all))
	if namespace, source, ok := strings.Cut(use, "/"); ok {
		f.help("name a CatalogSource that is there", patch(ref, fmt.Sprintf(
			`{"spec":{"source":%q,"sourceNamespace":%q}}`, source, namespace))...)
		return
	}
	f.help("create the CatalogSource in the namespace, or in the global one", "kubectl", "get", "catalogsources", "-A")
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// resolution finds the cause of the condition ResolutionFailed, which all Subscriptions of a namespace share.
func (d *diagnosis) resolution(o subscription, causes map[string]*Finding) {
	c := o.Value.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed)
	if c.Status != corev1.ConditionTrue {
		return
	}
	f := causes[c.Message]
	if f == nil {
		f = d.resolutionCause(o, c)
		causes[c.Message] = f
	}
	f.since(c.LastTransitionTime).since(&o.Value.Status.LastUpdated)
	d.blame(f, simulate.RefTo(o.Value))
}

// A pattern finds the names of objects in the messages of OLM.
var (
	brokenCatalog = regexp.MustCompile(`error using catalogsource ([^/\s]+)/([^:\s]+): `)
	orphan        = regexp.MustCompile(`clusterserviceversion (\S+) exists and is not referenced by a subscription`)
	required      = regexp.MustCompile(`subscription (\S+) exists`)
	existing      = regexp.MustCompile(`@existing/([^/\s]+)//([^\s,]+)`)
)

// resolutionCause returns the Finding for a failed resolution. Its message names the objects that OLM found to be in
// conflict: if one of them has a Finding, that is the cause.
func (d *diagnosis) resolutionCause(o subscription, c v1alpha1.SubscriptionCondition) *Finding {
	namespace := o.Value.Namespace
	if m := brokenCatalog.FindStringSubmatch(c.Message); m != nil {
		return d.brokenCatalog(o, m[1], m[2], c.Message)
	}
	if f := d.blamed[simulate.Ref{Kind: kindNamespace, Name: namespace}]; f != nil &&
		strings.Contains(strings.ToLower(c.Message), "operatorgroup") {
		return f
	}
	for _, name := range d.namedOperators(c.Message, namespace) {
		if f := d.blamed[simulate.Ref{Kind: kindCSV, Namespace: namespace, Name: name}]; f != nil {
			return f
		}
	}
	if f := d.blamed[simulate.RefTo(o.Value)]; f != nil && f.Rule == ruleCatalogMissing.Name {
		return f
	}
	if name, ok := d.goneOperator(c.Message, namespace); ok {
		f := add(d, ruleStale, o, name+" does not exist any longer, and OLM tries again at its next sync, in 15 minutes at "+
			"most: "+c.Message)
		return f.help("wait, or make OLM try again at once", kubectl("annotate", f.Object, "--overwrite", "retry=now")...)
	}
	subject, rule := o, ruleResolution
	var orphaned *Finding
	if m := orphan.FindStringSubmatch(c.Message); m != nil {
		csv, ok := d.ClusterServiceVersions.Get(namespace, m[1])
		if ok {
			orphaned = add(d, ruleOrphan, csv, "no Subscription owns it, so OLM keeps it, and cannot install: "+c.Message)
		}
	}
	names := requiredSubscriptions(c.Message)
	if s, ok := d.Subscriptions.Get(namespace, first(names)); ok {
		subject = s
	}
	if orphaned != nil {
		if !d.explain(orphaned, namespace) {
			orphaned.help("delete it if it is not needed", kubectl("delete", orphaned.Object)...)
		}
		return orphaned
	}
	if len(names) > 1 && d.samePackage(namespace, names) && hasPart(c.Message, "originate from package", " provide ") {
		rule = ruleDuplicate
		subject, _ = d.Subscriptions.Get(namespace, d.superfluous(namespace, names).Name)
	}
	f := add(d, rule, subject, c.Message)
	d.helpResolution(f, subject)
	return f
}

// samePackage reports whether the Subscriptions of these names are all for one package.
func (d *diagnosis) samePackage(namespace string, names []string) bool {
	packages := map[string]bool{}
	for _, name := range names {
		o, ok := d.Subscriptions.Get(namespace, name)
		if ok {
			packages[o.Value.Spec.Package] = true
		}
	}
	return len(packages) == 1
}

// brokenCatalog returns the Finding about a CatalogSource that prevents the resolution of a namespace.
func (d *diagnosis) brokenCatalog(o subscription, namespace, name, message string) *Finding {
	ref := simulate.Ref{Kind: kindCatalogSource, Namespace: namespace, Name: name}
	for _, f := range d.Findings {
		if f.Object == ref && (f.Rule == ruleCatalogDown.Name || f.Rule == ruleCatalogSpec.Name) {
			return f
		}
	}
	c, ok := d.CatalogSources.Get(namespace, name)
	if !ok {
		return d.addRef(ruleResolution, simulate.RefTo(o.Value), o.Pos, message)
	}
	d.catalogDown(c, message, nil)
	return d.Findings[len(d.Findings)-1]
}

// namedOperators returns the operators that a message names.
func (d *diagnosis) namedOperators(message, namespace string) []string {
	var names []string
	for _, m := range existing.FindAllStringSubmatch(message, -1) {
		if m[1] == namespace {
			names = append(names, m[2])
		}
	}
	for _, m := range orphan.FindAllStringSubmatch(message, -1) {
		names = append(names, m[1])
	}
	return names
}

// goneOperator returns an operator that a message names and that does not exist, and whether there is one.
func (d *diagnosis) goneOperator(message, namespace string) (name string, ok bool) {
	for _, name := range d.namedOperators(message, namespace) {
		if _, exists := d.ClusterServiceVersions.Get(namespace, name); !exists && d.knowsOperators() {
			return name, true
		}
	}
	return "", false
}

// requiredSubscriptions returns the Subscriptions that a message names, in its order.
func requiredSubscriptions(message string) []string {
	var names []string
	for _, m := range required.FindAllStringSubmatch(message, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// helpResolution adds the actions that help against a failed resolution: the ones that were tried, if the contents of
// catalogs are given, or else by the message.
func (d *diagnosis) helpResolution(f *Finding, o subscription) {
	if d.explain(f, o.Value.Namespace) {
		return
	}
	spec := o.Value.Spec
	switch message := f.Message; {
	case f.Rule == ruleDuplicate.Name:
		f.help("delete one of the Subscriptions for package "+spec.Package, kubectl("delete", f.Object)...)
	case strings.Contains(message, "no operators found"):
		f.help("ask the catalog for its packages, channels and bundles, then correct the Subscription", "kubectl", "get",
			"packagemanifest", spec.Package, "-n", o.Value.Namespace, "-o", "yaml")
	case strings.Contains(message, "requires an operator"):
		f.help("add a catalog that has the required operator, in the namespace or the global one", "kubectl", "get",
			"packagemanifests", "-n", o.Value.Namespace)
	case strings.Contains(message, "deprecated"):
		f.help("switch to a channel whose bundles are not deprecated", kubectl("edit", f.Object)...)
	default:
		f.help("give the contents of the catalogs with --catalog, which explains the message", get(f.Object)...)
	}
}

// superfluous returns the Subscription to delete: one without an installed operator, the newest.
func (d *diagnosis) superfluous(namespace string, names []string) simulate.Ref {
	var all []subscription
	for _, name := range names {
		if o, ok := d.Subscriptions.Get(namespace, name); ok {
			all = append(all, o)
		}
	}
	return simulate.RefTo(slices.MinFunc(all, func(a, b subscription) int {
		if (a.Value.Status.InstalledCSV == "") != (b.Value.Status.InstalledCSV == "") {
			return cmp.Compare(len(a.Value.Status.InstalledCSV), len(b.Value.Status.InstalledCSV))
		}
		return b.Value.CreationTimestamp.Compare(a.Value.CreationTimestamp.Time)
	}).Value)
}

// hasPart reports whether a text has one of the parts.
func hasPart(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// unfinishedSubscription records why a Subscription has no operator that runs.
func (d *diagnosis) unfinishedSubscription(o subscription) {
	ref, status := simulate.RefTo(o.Value), &o.Value.Status
	for _, name := range []string{status.CurrentCSV, status.InstalledCSV} {
		c, ok := d.ClusterServiceVersions.Get(ref.Namespace, name)
		if f := d.blamed[simulate.Ref{Kind: kindCSV, Namespace: ref.Namespace, Name: name}]; ok && f != nil {
			d.blame(f, ref)
			return
		}
		if ok && c.Value.Status.Phase == succeeded && name == status.CurrentCSV {
			break
		}
	}
	if d.blamed[ref] != nil {
		return
	}
	_, exists := d.ClusterServiceVersions.Get(ref.Namespace, status.InstalledCSV)
	switch {
	case status.InstalledCSV != "" && !exists && status.State == v1alpha1.SubscriptionStateAtLatest && d.knowsOperators():
		f := add(d, ruleOperatorMissing, o, "its installed ClusterServiceVersion "+status.InstalledCSV+" does not exist, "+
			"and OLM does not install it again").since(&status.LastUpdated)
		f.help("delete the Subscription, and create it again", kubectl("delete", ref)...)
	case status.State == v1alpha1.SubscriptionStateAtLatest:
	case d.outcomes[ref] != nil && (d.outcomes[ref].Waiting != nil || d.willInstall(ref)):
	case d.down[kindSubscription] != nil:
		d.blame(d.down[kindSubscription], ref)
	default:
		message := "OLM has not chosen a bundle for it"
		if status.CurrentCSV != "" {
			message = "OLM has not installed " + status.CurrentCSV + " yet: state " + cmp.Or(string(status.State), "none")
		}
		f := add(d, ruleUnresolved, o, message).since(&status.LastUpdated)
		f.show(d.warnings(simulate.Ref{Kind: kindNamespace, Name: ref.Namespace})...)
		f.help("see whether catalog-operator works on it", kubectl("describe", ref)...)
	}
}

// knowsOperators reports whether the state has the ClusterServiceVersions of the cluster.
func (d *diagnosis) knowsOperators() bool {
	_, ok := d.CustomResourceDefinitions.Get("", "clusterserviceversions.operators.coreos.com")
	return ok || d.ClusterServiceVersions.Len() > 0
}
