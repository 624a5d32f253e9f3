package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/operator"
)

// An installation creates the Deployments, APIServices, certificates and webhooks of an operator.
type installation struct {
	*installed
	csv          *v1alpha1.ClusterServiceVersion
	as           account
	certificates map[string]*certificate // by the name of the Deployment
	why          reason
	dry          bool // only check permissions, create nothing
}

// installation returns a new installation of an operator. The error is about the service account.
func (ns *installed) installation(c *v1alpha1.ClusterServiceVersion) (i *installation, err error) {
	i = &installation{
		installed: ns, csv: c, as: account{run: ns.run, permissions: ns.permissions},
		certificates: map[string]*certificate{}, why: computed("it is part of the operator"),
	}
	if ns.group != nil {
		i.as.ref, err = ns.accountOf(ns.namespace)
	}
	return i, err
}

// mayReinstall reports whether the service account has the permissions that were missing when the operator was
// installed. If not, the operator waits.
func (ns *installed) mayReinstall(o csv) bool {
	strategy, err := operator.Strategy(o.Value)
	if err != nil || o.Value.Status.Reason != v1alpha1.CSVReasonComponentFailed {
		return true
	}
	i, err := ns.installation(o.Value)
	if err != nil {
		return true
	}
	i.dry = true
	if _, err := i.create(strategy.DeploymentSpecs); err != nil {
		wait(ns.run, o, "permissions of the service account of its OperatorGroup: "+err.Error(), Computed)
		return false
	}
	return true
}

// create creates Deployments and APIServices. The error is about the first object that the service account may not
// create; the reason of the status depends on whether OLM retries.
func (i *installation) create(deployments []v1alpha1.StrategyDeploymentSpec) (v1alpha1.ConditionReason, error) {
	for _, spec := range deployments {
		if err := i.createCertificate(spec); err != nil {
			return v1alpha1.CSVReasonComponentFailed, err
		}
	}
	for _, spec := range deployments {
		switch err := i.createDeployment(spec); {
		case apierrors.IsInvalid(err):
			return v1alpha1.CSVReasonComponentFailed, err
		case err != nil:
			return v1alpha1.CSVReasonComponentFailedNoRetry, fmt.Errorf(installFailed+"%w", err)
		}
	}
	for _, d := range i.csv.GetOwnedAPIServiceDescriptions() {
		if err := i.createAPIService(d); err != nil {
			return v1alpha1.CSVReasonComponentFailedNoRetry, fmt.Errorf(installFailed+"%w", err)
		}
	}
	return "", nil
}

// createAPIService creates an APIService, or adopts it from the replaced operator.
func (i *installation) createAPIService(d v1alpha1.APIServiceDescription) error {
	s, text := stored(i.run, &cluster.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: d.GetName()},
		Spec: cluster.APIServiceSpec{
			Group: d.Group, Version: d.Version, GroupPriorityMinimum: 2000, VersionPriority: 15,
		},
	}, i.csv.Name)
	if err := i.as.checkPermission(s, ""); err != nil || i.dry {
		return err
	}
	name, port := operator.ServiceName(d.DeploymentName), operator.ServicePort(d.ContainerPort, nil).Port
	s.Labels = labels.Merge(s.Labels, operator.OwnerLabels(i.csv))
	s.Spec.Service = &cluster.ServiceReference{Namespace: i.csv.Namespace, Name: name, Port: &port}
	if ca := i.caBundle(d.DeploymentName); ca != nil {
		s.Spec.CABundle = ca
	}
	i.put(s, text, i.why)
	return nil
}

// installFailed is the prefix of OLM's message about a failed installation.
const installFailed = "install strategy failed: "

// install creates the objects that run an operator, as the service account of its OperatorGroup.
func (ns *installed) install(o csv) {
	strategy, err := operator.Strategy(o.Value)
	if err != nil {
		ns.invalidStrategy(o, err)
		return
	}
	i, err := ns.installation(o.Value)
	if err != nil {
		wait(ns.run, o, "the service account of its OperatorGroup: "+err.Error(), Computed)
		return
	}
	if reason, err := i.create(strategy.DeploymentSpecs); err != nil {
		ns.phase(o, v1alpha1.CSVPhaseFailed, reason, installFailed+err.Error(),
			computed("OLM creates the objects of an operator as the service account of the OperatorGroup"))
		return
	}
	if err := i.installWebhooks(); err != nil {
		ns.failConversion(o, err)
		return
	}
	ns.phase(o, v1alpha1.CSVPhaseInstalling, v1alpha1.CSVReasonInstallSuccessful,
		"waiting for install components to report healthy", computed("all its objects are created"))
}

// checkInstallation sets the phase of an operator whose objects are created: it succeeds if its Deployments are ready.
func (ns *installed) checkInstallation(o csv) {
	if ns.lacksAuthority(o.Value) {
		ns.phase(o, v1alpha1.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall, calculatedBad, generated)
		return
	}
	if d := ns.drift(o.Value); d != nil && d.unready {
		ns.setUnready(o, d, v1alpha1.CSVPhaseInstalling, v1alpha1.CSVReasonWaiting)
		return
	}
	ns.setSucceeded(o)
}

// setUnready sets the phase of an operator with a Deployment that is not ready: the given one or, if OLM gives up,
// Failed.
func (ns *installed) setUnready(
	o csv, d *drift, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason,
) {
	why, verdict := computed("the status of its Deployment"), Computed
	if ns.isAssumedToFail(o) {
		why, verdict = assumed("the operator is not ready"), Assumed
	}
	message := "installing: " + d.message
	if d.timedOut {
		phase, reason, message = v1alpha1.CSVPhaseFailed, v1alpha1.CSVReasonInstallCheckFailed, "install failed: "+d.message
		why = why.after(d.minutes)
	}
	before := len(ns.Events)
	o = ns.phase(o, phase, reason, message, why)
	if len(ns.Events) == before {
		wait(ns.run, o, "the operator to become ready: "+message, verdict)
	}
}

// setSucceeded sets the phase of an operator to Succeeded.
func (ns *installed) setSucceeded(o csv) {
	why := computed("its Deployments are available")
	if !ns.isHealthy(o.Value) {
		ns.run.assume("the pods of operators become ready")
		why = assumed("its pods become ready")
	}
	ns.phase(o, v1alpha1.CSVPhaseSucceeded, v1alpha1.CSVReasonInstallSuccessful,
		"install strategy completed with no errors", why)
}

// isAssumedToFail reports whether an option says that an operator fails.
func (ns *installed) isAssumedToFail(o csv) bool { return slices.Contains(ns.opts.Fail, o.Value.Name) }

// podFailures are the reasons of failures that depend on running pods.
var podFailures = []v1alpha1.ConditionReason{
	v1alpha1.CSVReasonInstallCheckFailed, v1alpha1.CSVReasonComponentFailed, v1alpha1.CSVReasonComponentUnhealthy,
	v1alpha1.CSVReasonAPIServiceResourceIssue, v1alpha1.CSVReasonAPIServiceInstallFailed,
}

// assume records an assumption about a fact that is neither in the state nor in the options.
func (r *run) assume(what string) {
	if !r.isAssumed[what] {
		r.isAssumed[what] = true
		r.Assumed = append(r.Assumed, what)
	}
}

// annotationCAHash is the annotation with the hash of the certificate authority of an operator. A new hash restarts its
// pods.
const annotationCAHash = "olmcahash"

// labelDeploymentHash is the label with the hash of a Deployment's spec as OLM last set it.
const labelDeploymentHash = "olm.deployment-spec-hash"

// createDeployment creates a Deployment, or adopts it from the replaced operator.
func (i *installation) createDeployment(spec v1alpha1.StrategyDeploymentSpec) error {
	d, text := i.deployment(spec)
	if err := i.as.checkPermission(d, d.Namespace); err != nil || i.dry {
		return err
	}
	i.setDeployment(d, spec)
	if err := i.refusal(d); err != nil {
		return err
	}
	i.roll(i.csv, d)
	i.put(d, text, i.why)
	return nil
}

// refusedDeployment returns the error of an API server that does not accept a Deployment of an operator, nil if it
// accepts all of them.
func (ns *installed) refusedDeployment(c *v1alpha1.ClusterServiceVersion) error {
	strategy, err := operator.Strategy(c)
	if err != nil {
		return err
	}
	i, err := ns.installation(c)
	if err != nil {
		return err
	}
	i.dry, i.as.ref = true, nil
	for _, spec := range strategy.DeploymentSpecs {
		_ = i.createCertificate(spec) // finds certificates, and cannot fail without a service account
		d, _ := i.deployment(spec)
		i.setDeployment(d, spec)
		if err := i.refusal(d); err != nil {
			return err
		}
	}
	return nil
}

// deployment returns the stored Deployment of an operator or, if there is none, a new one without a spec. The text is
// for the Event about its changes.
func (i *installation) deployment(spec v1alpha1.StrategyDeploymentSpec) (d *appsv1.Deployment, text string) {
	return stored(i.run, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: i.csv.Namespace},
	}, i.csv.Name)
}

// setDeployment sets the fields of a Deployment that the ClusterServiceVersion determines.
func (i *installation) setDeployment(d *appsv1.Deployment, spec v1alpha1.StrategyDeploymentSpec) {
	cert, config := i.certificates[spec.Name], i.podConfig(i.csv)
	old := d.DeepCopy()
	oldHash := old.Spec.Template.Annotations[annotationCAHash]
	d.OwnerReferences, d.Spec = operator.OwnedBy(i.csv), *spec.Spec.DeepCopy()
	template := &d.Spec.Template
	if cert != nil {
		operator.MountCertificate(&template.Spec, cert.secret)
		template.Spec.ServiceAccountName = serviceAccountOf(spec)
		template.Annotations = with(template.Annotations, annotationCAHash, cmp.Or(cert.caHash(), oldHash))
	}
	template.Annotations = labels.Merge(template.Annotations, i.csv.Annotations)
	configure(d, config)
	setVariable(&template.Spec, corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: i.csv.Name})
	d.Spec.RevisionHistoryLimit = new(int32(1))
	d.Labels = labels.Merge(spec.Label, operator.OwnerLabels(i.csv))
	keepComponentLabels(d, old.Labels)
	if cert == nil || template.Annotations[annotationCAHash] != "" { // otherwise the hash is not known
		d.Labels[labelDeploymentHash] = operator.Hash(&d.Spec)
	}
	if operator.IsOwned(old, i.csv) {
		keepDefaults(&d.Spec, &old.Spec)
	}
}

// keepDefaults copies the defaults that the API server has set in the existing Deployment of the operator, and would
// set again.
func keepDefaults(d, old *appsv1.DeploymentSpec) {
	keep(&d.ProgressDeadlineSeconds, old.ProgressDeadlineSeconds)
	keep(&d.Strategy.Type, old.Strategy.Type)
	keep(&d.Strategy.RollingUpdate, old.Strategy.RollingUpdate)
	pod, before := &d.Template.Spec, &old.Template.Spec
	keep(&pod.DNSPolicy, before.DNSPolicy)
	keep(&pod.RestartPolicy, before.RestartPolicy)
	keep(&pod.SchedulerName, before.SchedulerName)
	keep(&pod.SecurityContext, before.SecurityContext)
	keep(&pod.DeprecatedServiceAccount, before.DeprecatedServiceAccount)
	keep(&pod.TerminationGracePeriodSeconds, before.TerminationGracePeriodSeconds)
	for i := range min(len(pod.Volumes), len(before.Volumes)) {
		if now, before := pod.Volumes[i].Secret, before.Volumes[i].Secret; now != nil && before != nil {
			keep(&now.DefaultMode, before.DefaultMode)
		}
	}
	for i := range min(len(pod.Containers), len(before.Containers)) {
		c, before := &pod.Containers[i], &before.Containers[i]
		keep(&c.ImagePullPolicy, before.ImagePullPolicy)
		keep(&c.TerminationMessagePath, before.TerminationMessagePath)
		keep(&c.TerminationMessagePolicy, before.TerminationMessagePolicy)
	}
}

// keep sets a field that is not set.
func keep[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }

// serviceAccountOf returns the service account of the pods of a Deployment.
func serviceAccountOf(spec v1alpha1.StrategyDeploymentSpec) string {
	return cmp.Or(spec.Spec.Template.Spec.ServiceAccountName, operator.DefaultAccount)
}

// setVariable sets an environment variable in all containers.
func setVariable(pod *corev1.PodSpec, v corev1.EnvVar) {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.Env = replaced(c.Env, v, func(old corev1.EnvVar) bool { return old.Name == v.Name })
	}
}

// replaced returns a list with v in place of the first element for which isOld is true, or at the end.
func replaced[T any](list []T, v T, isOld func(T) bool) []T {
	if i := slices.IndexFunc(list, isOld); i >= 0 {
		list[i] = v
		return list
	}
	return append(list, v)
}

// A drift is the first difference between the existing and the expected Deployments of an operator.
type drift struct {
	message string // OLM's message
	missing bool   // the Deployment does not exist, or belongs to another operator

	unready  bool // the Deployment is as expected, but its pods are not ready
	timedOut bool // OLM does not wait for them
	minutes  int  // the time until OLM gives up
}

// maxReinstalls is the maximum number of reinstallations of an operator. In a cluster, OLM never stops reinstalling two
// operators whose Deployments have the same name.
const maxReinstalls = 5

// reinstall installs an operator again if its Deployments drifted, and reports whether they did. The phase and the
// reason are set if a Deployment is missing.
func (ns *installed) reinstall(
	o csv, phase v1alpha1.ClusterServiceVersionPhase, reason v1alpha1.ConditionReason,
) bool {
	d := ns.drift(o.Value)
	if d == nil {
		return false
	}
	if d.unready {
		ns.setUnready(o, d, phase, reason)
		return true
	}
	if ns.reinstalls[keyOf(o.Value)] >= maxReinstalls {
		wait(ns.run, o, "its Deployments, for which OLM installs it again and again: "+d.message, Computed)
		return true
	}
	ns.reinstalls[keyOf(o.Value)]++
	if !d.missing {
		phase = v1alpha1.CSVPhaseInstallReady
	}
	ns.phase(o, phase, reason, "installing: "+d.message,
		computed("OLM compares the Deployments of an operator with its ClusterServiceVersion"))
	return true
}

// drift compares the Deployments of an operator with its ClusterServiceVersion, as OLM does. It returns nil if they
// match, or if the state has too few objects to decide.
func (ns *installed) drift(c *v1alpha1.ClusterServiceVersion) *drift {
	strategy, err := operator.Strategy(c)
	if err != nil {
		return nil
	}
	i, err := ns.installation(c)
	if err != nil {
		return nil
	}
	i.dry, i.as.ref = true, nil // OLM reads certificates with its own permissions
	if len(strategy.DeploymentSpecs) == 0 {
		return ns.unknownHealth(c, "")
	}
	for _, spec := range strategy.DeploymentSpecs {
		o, ok := ns.State.Deployments.Get(c.Namespace, spec.Name)
		switch {
		case !ok && !ns.knowsDeployments(c):
			if d := ns.unknownHealth(c, spec.Name); d != nil {
				return d
			}
			continue
		case !ok, !operator.IsOwned(o.Value, c):
			return &drift{message: "missing deployment with name=" + spec.Name, missing: true}
		}
		if h := ns.healthOf(c, o.Value); h.message != "" {
			return &drift{message: h.message, unready: true, timedOut: h.timedOut, minutes: h.minutes}
		}
		if message := i.difference(o.Value, spec); message != "" {
			return &drift{message: message}
		}
	}
	return nil
}

// knowsDeployments reports whether a Deployment that is missing from the state is known to be missing in the cluster:
// the state has Deployments or service accounts. Every namespace has a service account; without one, OLM could not
// create the Deployment.
func (ns *installed) knowsDeployments(c *v1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(preInstallFailures, c.Status.Reason) || ns.input.Deployments.Len() > 0 ||
		ns.input.Has(kindDeployments) || ns.knows(kindAccounts)
}

// preInstallFailures are the reasons of failures before OLM has created all Deployments of an operator.
var preInstallFailures = []v1alpha1.ConditionReason{
	v1alpha1.CSVReasonComponentFailed, v1alpha1.CSVReasonOwnerConflict, v1alpha1.CSVReasonInvalidWebhookDescription,
}

// difference returns OLM's message about a Deployment whose pod annotations or spec hash differ from the expected ones,
// "" if they are equal. OLM compares annotations in a random order.
func (i *installation) difference(d *appsv1.Deployment, spec v1alpha1.StrategyDeploymentSpec) string {
	annotations := d.Spec.Template.Annotations
	for _, key := range slices.Sorted(maps.Keys(i.csv.Annotations)) {
		want := i.csv.Annotations[key]
		if found, ok := annotations[key]; !ok {
			return "annotations on deployment does not contain expected key: " + key
		} else if found != want {
			return fmt.Sprintf("unexpected annotation on deployment. Expected %s:%s, found %s:%s", key, want, key, found)
		}
	}
	_ = i.createCertificate(spec) // finds certificates, and cannot fail without a service account
	wanted := d.DeepCopy()
	i.setDeployment(wanted, spec)
	before, after := d.Labels[labelDeploymentHash], wanted.Labels[labelDeploymentHash]
	switch {
	case after == "" || before == after:
		return ""
	case before == "":
		return "deployment doesn't have a spec hash, update it"
	}
	return fmt.Sprintf("deployment changed old hash=%s, new hash=%s", before, after)
}
