package simulate

import (
	"cmp"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/pkg/bundle/plain"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// annotationCAHash has the hash of the certificate authority of an operator. A new one restarts its pods.
const annotationCAHash = "olmcahash"

// labelDeploymentHash has the hash of the spec that OLM gave to a Deployment.
const labelDeploymentHash = "olm.deployment-spec-hash"

// deploy creates a Deployment, or takes it over from the operator that is replaced.
func (i *installation) deploy(spec v1alpha1.StrategyDeploymentSpec) error {
	return applyAs(i, &i.State.Deployments, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: i.csv.Namespace},
	}, func(d *appsv1.Deployment) { i.setDeployment(d, spec) })
}

// setDeployment sets the fields of a Deployment that an operator determines.
func (i *installation) setDeployment(d *appsv1.Deployment, spec v1alpha1.StrategyDeploymentSpec) {
	cert, config := i.certificates[spec.Name], i.podConfig(i.csv)
	old := d.DeepCopy()
	oldHash := old.Spec.Template.Annotations[annotationCAHash]
	d.OwnerReferences, d.Spec = rbac.OwnedBy(i.csv), *spec.Spec.DeepCopy()
	template := &d.Spec.Template
	if cert != nil {
		mount(&template.Spec, cert.secret)
		template.Spec.ServiceAccountName = serviceAccountOf(spec)
		template.Annotations = with(template.Annotations, annotationCAHash, cmp.Or(cert.caHash(), oldHash))
	}
	template.Annotations = labels.Merge(template.Annotations, i.csv.Annotations)
	configure(d, config)
	setVariable(&template.Spec, corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: i.csv.Name})
	d.Spec.RevisionHistoryLimit = new(int32(1))
	d.Labels = labels.Merge(spec.Label, rbac.OwnerLabels(i.csv))
	keepComponentLabels(d, old.Labels)
	if cert == nil || template.Annotations[annotationCAHash] != "" { // or else it is not known
		d.Labels[labelDeploymentHash] = rbac.Hash(&d.Spec)
	}
	if rbac.IsOwned(old, i.csv) {
		keepDefaults(&d.Spec, &old.Spec)
	}
}

// keepDefaults keeps the fields of a Deployment of the same operator that the API server filled in before, and fills in
// again.
func keepDefaults(d, old *appsv1.DeploymentSpec) {
	d.ProgressDeadlineSeconds = cmp.Or(d.ProgressDeadlineSeconds, old.ProgressDeadlineSeconds)
	d.Strategy.Type = cmp.Or(d.Strategy.Type, old.Strategy.Type)
	d.Strategy.RollingUpdate = cmp.Or(d.Strategy.RollingUpdate, old.Strategy.RollingUpdate)
	pod, before := &d.Template.Spec, &old.Template.Spec
	pod.DNSPolicy = cmp.Or(pod.DNSPolicy, before.DNSPolicy)
	pod.RestartPolicy = cmp.Or(pod.RestartPolicy, before.RestartPolicy)
	pod.SchedulerName = cmp.Or(pod.SchedulerName, before.SchedulerName)
	pod.SecurityContext = cmp.Or(pod.SecurityContext, before.SecurityContext)
	pod.DeprecatedServiceAccount = cmp.Or(pod.DeprecatedServiceAccount, before.DeprecatedServiceAccount)
	pod.TerminationGracePeriodSeconds = cmp.Or(pod.TerminationGracePeriodSeconds, before.TerminationGracePeriodSeconds)
	for i := range min(len(pod.Volumes), len(before.Volumes)) {
		if now, before := pod.Volumes[i].Secret, before.Volumes[i].Secret; now != nil && before != nil {
			now.DefaultMode = cmp.Or(now.DefaultMode, before.DefaultMode)
		}
	}
	for i := range min(len(pod.Containers), len(before.Containers)) {
		c, before := &pod.Containers[i], &before.Containers[i]
		c.ImagePullPolicy = cmp.Or(c.ImagePullPolicy, before.ImagePullPolicy)
		c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, before.TerminationMessagePath)
		c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, before.TerminationMessagePolicy)
	}
}

// serviceAccountOf returns the service account of the pods of a Deployment.
func serviceAccountOf(spec v1alpha1.StrategyDeploymentSpec) string {
	return cmp.Or(spec.Spec.Template.Spec.ServiceAccountName, "default")
}

// mount mounts the Secret of a certificate in all containers. Unlike OLM v1, OLM Classic keeps the mounts of volumes
// that have the names of its own, wherever they are, and adds those of APIServices first.
func mount(pod *corev1.PodSpec, secret string) {
	volumes, mounts := plain.CertificateVolumes(secret)
	for i, v := range slices.Backward(volumes) {
		pod.Volumes = replaced(pod.Volumes, v, func(old corev1.Volume) bool { return old.Name == v.Name })
		m := mounts[i]
		for j := range pod.Containers {
			c := &pod.Containers[j]
			at := slices.IndexFunc(c.VolumeMounts, func(old corev1.VolumeMount) bool {
				return old.Name == m.Name || old.MountPath == m.MountPath
			})
			switch {
			case at < 0:
				c.VolumeMounts = append(c.VolumeMounts, m)
			case c.VolumeMounts[at].Name != m.Name:
				c.VolumeMounts[at] = m
			}
		}
	}
}

// setVariable sets an environment variable in all containers.
func setVariable(pod *corev1.PodSpec, v corev1.EnvVar) {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.Env = replaced(c.Env, v, func(old corev1.EnvVar) bool { return old.Name == v.Name })
	}
}

// replaced returns a list with v in place of the first element that is old, or at the end.
func replaced[T any](list []T, v T, isOld func(T) bool) []T {
	if i := slices.IndexFunc(list, isOld); i >= 0 {
		list[i] = v
		return list
	}
	return append(list, v)
}
