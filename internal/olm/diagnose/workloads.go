package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
)

// An object is an object of any kind without a field in cluster.State.
type object = cluster.Object[*cluster.Other]

// An index finds pods and events of other objects.
type index struct {
	pods   map[label][]object              // by each of their labels
	jobs   []object                        // that unpack bundles
	events map[simulate.Ref][]event        // the warnings about an object, the last ones first
	sets   map[simulate.Ref][]simulate.Ref // the ReplicaSets of a Deployment
}

// A label is a label of an object in a namespace.
type label struct{ namespace, key, value string }

// An event is the part of an Event, of either API, that is shown.
type event struct {
	place  object
	Reason string `json:"reason"`
	Type   string `json:"type"`

	InvolvedObject simulate.Ref `json:"involvedObject"`
	Message        string       `json:"message"`
	LastTimestamp  metav1.Time  `json:"lastTimestamp"`
	FirstTimestamp metav1.Time  `json:"firstTimestamp"`

	Regarding simulate.Ref     `json:"regarding"` // of events.k8s.io
	Note      string           `json:"note"`
	EventTime metav1.MicroTime `json:"eventTime"`
}

// last returns the time of the last occurrence, the zero time if it is unknown.
func (e *event) last() *metav1.Time {
	if e.LastTimestamp.IsZero() {
		return (*metav1.Time)(&e.EventTime)
	}
	return &e.LastTimestamp
}

// labelUpdate is the label of the pod with the new image of a CatalogSource.
const labelUpdate = "catalogsource.operators.coreos.com/update"

// others returns the objects of a kind without a field in State.
func (d *diagnosis) others(group, kind string) *cluster.Store[*cluster.Other] {
	return d.Other(schema.GroupKind{Group: group, Kind: kind})
}

// read builds the index.
func (d *diagnosis) read() {
	d.pods, d.events, d.sets = map[label][]object{}, map[simulate.Ref][]event{}, map[simulate.Ref][]simulate.Ref{}
	for o := range d.others("", kindPod).All() {
		for key, value := range o.Value.Labels {
			at := label{o.Value.Namespace, key, value}
			d.pods[at] = append(d.pods[at], o)
		}
	}
	for o := range d.others(batchv1.GroupName, kindJob).All() {
		if _, ok := o.Value.Labels[catalogsource.LabelUnpackRef]; ok {
			d.jobs = append(d.jobs, o)
		}
	}
	for _, group := range []string{"", "events.k8s.io"} {
		for o := range d.others(group, kindEvent).All() {
			d.readEvent(o)
		}
	}
	for ref := range d.events {
		slices.SortStableFunc(d.events[ref], func(a, b event) int { return b.last().Compare(a.last().Time) })
	}
	for o := range d.others(appsv1.GroupName, kindReplicaSet).All() {
		for _, owner := range o.Value.OwnerReferences {
			of := simulate.Ref{Kind: owner.Kind, Namespace: o.Value.Namespace, Name: owner.Name}
			d.sets[of] = append(d.sets[of], simulate.RefTo(o.Value))
		}
	}
}

// readEvent adds the event if it is a warning. An event about a ReplicaSet is also one of its Deployment: its name is
// the name of the Deployment and a hash.
func (d *diagnosis) readEvent(o object) {
	var e event
	if err := cluster.As(o.Value, &e); err != nil {
		d.unreadable(o.Value, err)
		return
	}
	if e.Type != corev1.EventTypeWarning {
		return
	}
	e.place, e.Message = o, cmp.Or(e.Message, e.Note)
	about := e.InvolvedObject
	if about.Kind == "" {
		about = e.Regarding
	}
	d.events[about] = append(d.events[about], e)
	if i := strings.LastIndexByte(about.Name, '-'); about.Kind == kindReplicaSet && i > 0 {
		about.Kind, about.Name = kindDeployment, about.Name[:i]
		d.events[about] = append(d.events[about], e)
	}
}

// maxEvidence is the maximum number of pods or events that are shown for a Finding.
const maxEvidence = 3

// warnings returns the last events about an object, one for each reason.
func (d *diagnosis) warnings(ref simulate.Ref) []Evidence {
	var all []Evidence
	seen := map[string]bool{}
	for _, e := range d.events[ref] {
		if seen[e.Reason] || len(all) == maxEvidence {
			continue
		}
		seen[e.Reason] = true
		about := cmp.Or(e.InvolvedObject, e.Regarding)
		all = append(all, Evidence{about, e.place.Pos, "event " + e.Reason + ": " + e.Message, timeText(e.last())})
	}
	return all
}

// eventTroubles returns the last events about an object as troubles.
func (d *diagnosis) eventTroubles(ref simulate.Ref) []trouble {
	var all []trouble
	for _, e := range d.warnings(ref) {
		all = append(all, trouble{Evidence: e, message: e.Message})
	}
	return all
}

// podsOf returns the pods that a selector selects, by name.
func (d *diagnosis) podsOf(namespace string, selector *metav1.LabelSelector) []object {
	if selector == nil {
		return nil
	}
	var candidates []object
	for key, value := range selector.MatchLabels {
		some := d.pods[label{namespace, key, value}]
		if len(some) == 0 {
			return nil
		}
		if candidates == nil || len(some) < len(candidates) {
			candidates = some
		}
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil // the API server refuses the Deployment
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(o object) bool {
		return !matches.Matches(labels.Set(o.Value.Labels))
	})
}

// A trouble is the reason why a pod does not run.
type trouble struct {
	Evidence
	reason  string // in the words of Kubernetes, such as ImagePullBackOff
	message string // the last words of the container, too
}

// podTroubles returns the reasons why pods do not run, the first ones of different reasons.
func (d *diagnosis) podTroubles(pods []object) []trouble {
	var all []trouble
	seen := map[string]bool{}
	for _, o := range pods {
		t, ok := d.podTrouble(o)
		if !ok || seen[t.reason] || len(all) == maxEvidence {
			continue
		}
		seen[t.reason] = true
		all = append(all, t)
	}
	return all
}

// podTrouble returns the reason why a pod does not run, and whether there is one.
func (d *diagnosis) podTrouble(o object) (t trouble, ok bool) {
	var pod struct {
		Status corev1.PodStatus `json:"status"`
	}
	if err := cluster.As(o.Value, &pod); err != nil {
		d.unreadable(o.Value, err)
		return t, false
	}
	t.Object, t.Place = simulate.RefTo(o.Value), o.Pos
	status := &pod.Status
	t.Since = timeText(podSince(status))
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if t.fromContainer(&c) {
			return t, true
		}
	}
	switch unready := notReady(status); {
	case status.Phase == corev1.PodSucceeded:
		return t, false
	case status.Phase == corev1.PodFailed:
		t.reason, t.message = cmp.Or(status.Reason, "Failed"), status.Message
	case unready != nil:
		t.reason, t.message = cmp.Or(unready.Reason, "NotReady"), unready.Message
		for _, e := range d.events[t.Object] {
			t.reason, t.message = e.Reason, e.Message
			break
		}
	case status.Phase == corev1.PodPending && status.Reason+status.Message != "":
		t.reason, t.message = cmp.Or(status.Reason, "Pending"), status.Message
	default:
		return t, false
	}
	t.Message = strings.TrimSuffix(t.reason+": "+t.message, ": ")
	return t, true
}

// fromContainer sets the reason why a container does not run, and reports whether there is one.
func (t *trouble) fromContainer(c *corev1.ContainerStatus) bool {
	ended := c.State.Terminated
	switch waiting := c.State.Waiting; {
	case waiting != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, waiting.Reason):
		t.reason, t.message = waiting.Reason, waiting.Message
		ended = c.LastTerminationState.Terminated
	case ended == nil || ended.ExitCode == 0:
		return false
	default:
		t.reason = cmp.Or(ended.Reason, "Error")
	}
	if ended != nil {
		t.message += fmt.Sprintf("; it ended with exit code %d", ended.ExitCode)
		if ended.Reason != "" {
			t.message += ", " + ended.Reason
		}
		if ended.Message != "" {
			t.message += ": " + ended.Message
		}
		if since := timeText(&ended.FinishedAt); since != "" {
			t.Since = since
		}
	}
	t.message = strings.TrimPrefix(t.message, "; ")
	t.Message = "container " + c.Name + ": " + strings.TrimSuffix(t.reason+": "+t.message, ": ")
	return true
}

// notReady returns the condition for which a pod is not ready, nil if it is ready. Kubernetes sets PodScheduled first.
func notReady(status *corev1.PodStatus) *corev1.PodCondition {
	for _, of := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady} {
		for i, c := range status.Conditions {
			if c.Type == of && c.Status == corev1.ConditionFalse {
				return &status.Conditions[i]
			}
		}
	}
	return nil
}

// podSince returns the time from which a pod is not ready, or else its start.
func podSince(status *corev1.PodStatus) *metav1.Time {
	if c := notReady(status); c != nil {
		return &c.LastTransitionTime
	}
	return status.StartTime
}

// deploymentTroubles returns the reasons why the pods of a Deployment are missing or not ready.
func (d *diagnosis) deploymentTroubles(o cluster.Object[*appsv1.Deployment]) []trouble {
	all := d.podTroubles(d.podsOf(o.Value.Namespace, o.Value.Spec.Selector))
	if len(all) > 0 {
		return all
	}
	ref := simulate.RefTo(o.Value)
	for _, c := range o.Value.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			e := Evidence{ref, o.Pos, c.Reason + ": " + c.Message, timeText(&c.LastTransitionTime)}
			return []trouble{{Evidence: e, reason: c.Reason, message: c.Message}}
		}
	}
	refs := append([]simulate.Ref{ref}, d.sets[ref]...)
	for _, ref := range refs {
		if all := d.eventTroubles(ref); len(all) > 0 {
			return all
		}
	}
	for _, c := range o.Value.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionFalse {
			e := Evidence{ref, o.Pos, c.Message, timeText(&c.LastTransitionTime)}
			return []trouble{{Evidence: e, reason: c.Reason, message: c.Message}}
		}
	}
	return nil
}

// A remedy is an action that helps against a trouble.
type remedy struct {
	when []string // parts of the reason or message, in lower case
	text string
}

// remedies are the actions for the causes that pods and events have, the special ones first.
var remedies = []remedy{
	{[]string{"cache requires rebuild", "integrity check failed", "cache is invalid"},
		"the image has a cache of another opm: build it again, or serve it with --cache-enforce-integrity=false"},
	{[]string{"oomkilled", "exit code 137"}, "raise the memory limit of the container"},
	{[]string{"exec format error", "no matching manifest", "no match for platform"},
		"the image is not for the architecture of the node: use one that is"},
	{[]string{"violates podsecurity"},
		"the pod breaks the pod security of its namespace: for a catalog, set spec.grpcPodConfig.securityContextConfig to " +
			"restricted"},
	{[]string{"read-only file system", "permission denied"},
		"the container may not write its files: for a catalog, set spec.grpcPodConfig.securityContextConfig to legacy, or " +
			"use extractContent"},
	{[]string{"exceeded quota"}, "raise the quota of the namespace"},
	{[]string{"unauthorized", "authentication required", "access denied"}, "give the pod a pull secret for the registry"},
	{[]string{"x509", "tls:"}, "make the nodes trust the certificate of the registry"},
	{[]string{"manifest unknown", "not found"}, "push the image, or name one that exists"},
	{[]string{"imagepull", "errimage", "invalidimagename", "failed to pull", "pulling image"},
		"make the image available: check its name, the mirror and the pull secret"},
	{[]string{"unschedulable", "failedscheduling", "nodes are available"}, "add a node that fits, or lower the requests"},
	{[]string{"startup probe", "liveness probe"}, "the container is too slow for its probe: give it more memory or CPU"},
	{[]string{"createcontainerconfigerror"}, "create the ConfigMap or Secret that the container names"},
	{[]string{"crashloopbackoff", "error", "exit code"}, "read the log of the container, and repair what it says"},
}

// remedyFor returns the action that helps against a trouble, "" if none is known.
func remedyFor(t trouble) string {
	text := strings.ToLower(t.reason + " " + t.message + " " + t.Message)
	for _, r := range remedies {
		if hasPart(text, r.when...) {
			return r.text
		}
	}
	return ""
}

// blameTroubles adds troubles to a Finding: the evidence, the time and the help.
func (f *Finding) blameTroubles(all []trouble) {
	for i, t := range all {
		f.show(t.Evidence)
		if i > 0 || len(f.Help) > 0 {
			continue
		}
		f.Since = cmp.Or(t.Since, f.Since)
		text := cmp.Or(remedyFor(t), "look at its events and pods")
		switch ref := t.Object; {
		case ref.Kind == kindPod && strings.Contains(t.message, "exit code"):
			f.help(text, "kubectl", "logs", "-n", ref.Namespace, ref.Name, "--all-containers", "--previous")
		default:
			f.help(text, kubectl("describe", ref)...)
		}
	}
}
