package simulate

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
)

// podConfig returns the spec.config of the Subscription that installed an operator. Its env has the variables of the
// proxy of OpenShift, unless it sets one of them itself.
func (r *run) podConfig(c *v1alpha1.ClusterServiceVersion) *v1alpha1.SubscriptionConfig {
	config := new(v1alpha1.SubscriptionConfig)
	for o := range r.State.Subscriptions.In(c.Namespace) {
		if o.Value.Status.InstalledCSV == c.Name && !r.isReportedLate(o.Value, c) {
			if o.Value.Spec.Config != nil {
				config = o.Value.Spec.Config.DeepCopy()
			}
			break
		}
	}
	proxy := r.proxy()
	if !slices.ContainsFunc(config.Env, func(set corev1.EnvVar) bool {
		return slices.ContainsFunc(proxy, func(v corev1.EnvVar) bool { return v.Name == set.Name })
	}) {
		proxy = slices.DeleteFunc(proxy, func(v corev1.EnvVar) bool { return v.Value == "" })
		config.Env = append(config.Env, proxy...)
	}
	return config
}

// reportSteps is the number of steps until the controller of operators sees the status of a Subscription. In recorded
// clusters, operators run before their Subscription reports them as installed.
const reportSteps = 3

// isReportedLate reports whether OLM installs an operator before its Subscription reports it, and so first without
// spec.config. OLM installs the operator again when it compares the Deployments.
func (r *run) isReportedLate(s *v1alpha1.Subscription, c *v1alpha1.ClusterServiceVersion) bool {
	step, ok := r.reported[keyOf(s)]
	return ok && r.Steps+1-step < reportSteps && c.Status.Phase != v1alpha1.CSVPhaseSucceeded
}

// proxy returns the environment variables of the OpenShift proxy, including empty ones.
func (r *run) proxy() []corev1.EnvVar {
	var proxy struct {
		Status struct {
			HTTPProxy  string `json:"httpProxy"`
			HTTPSProxy string `json:"httpsProxy"`
			NoProxy    string `json:"noProxy"`
		} `json:"status"`
	}
	found, ok := r.State.Get(schema.GroupKind{Group: "config.openshift.io", Kind: "Proxy"}, "", "cluster")
	if ok && cluster.As(found.Value, &proxy) != nil {
		r.assume("no proxy is set: the Proxy \"cluster\" of the state cannot be read")
	}
	return []corev1.EnvVar{
		{Name: "HTTP_PROXY", Value: proxy.Status.HTTPProxy},
		{Name: "HTTPS_PROXY", Value: proxy.Status.HTTPSProxy},
		{Name: "NO_PROXY", Value: proxy.Status.NoProxy},
	}
}

// annotationsOfDeployments is the prefix of the annotations that Kubernetes sets in Deployments. OLM removes others.
const annotationsOfDeployments = "deployment.kubernetes.io/"

// configure applies the spec.config of a Subscription to a Deployment. OLM ignores its selector, and does not change
// init containers.
func configure(d *appsv1.Deployment, config *v1alpha1.SubscriptionConfig) {
	template := &d.Spec.Template
	others := maps.Clone(d.Annotations)
	maps.DeleteFunc(others, func(key, _ string) bool { return !strings.HasPrefix(key, annotationsOfDeployments) })
	d.Annotations = labels.Merge(others, config.Annotations)
	template.Annotations = labels.Merge(config.Annotations, template.Annotations)
	pod := &template.Spec
	for _, v := range config.Env {
		setVariable(pod, v)
	}
	for _, v := range config.Volumes {
		pod.Volumes = replaced(pod.Volumes, v, func(old corev1.Volume) bool { return old.Name == v.Name })
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.EnvFrom = withMissing(c.EnvFrom, config.EnvFrom)
		for _, m := range config.VolumeMounts {
			c.VolumeMounts = replaced(c.VolumeMounts, m, func(old corev1.VolumeMount) bool { return old.Name == m.Name })
		}
		if config.Resources != nil {
			c.Resources = *config.Resources.DeepCopy()
		}
	}
	pod.Tolerations = withMissing(pod.Tolerations, config.Tolerations)
	if config.NodeSelector != nil {
		pod.NodeSelector = config.NodeSelector
	}
	pod.Affinity = configuredAffinity(pod.Affinity, config.Affinity)
}

// withMissing appends the missing values to a list.
func withMissing[T any](list, added []T) []T {
	for _, v := range added {
		if !slices.ContainsFunc(list, func(old T) bool { return equality.Semantic.DeepEqual(old, v) }) {
			list = append(list, v)
		}
	}
	return list
}

// configuredAffinity returns an affinity with the parts that a Subscription configures. Empty parts are deleted. If
// podAntiAffinity is empty, OLM deletes all parts.
func configuredAffinity(old, config *corev1.Affinity) *corev1.Affinity {
	none := corev1.Affinity{}
	switch {
	case config == nil:
		return old
	case *config == none:
		return nil
	case old == nil || *old == none:
		return config
	case isEmpty(config.PodAntiAffinity):
		return nil
	}
	set := &corev1.Affinity{
		NodeAffinity:    configuredPart(old.NodeAffinity, config.NodeAffinity),
		PodAffinity:     configuredPart(old.PodAffinity, config.PodAffinity),
		PodAntiAffinity: configuredPart(old.PodAntiAffinity, config.PodAntiAffinity),
	}
	if *set == none {
		return nil
	}
	return set
}

func configuredPart[T any](old, config *T) *T {
	switch {
	case config == nil:
		return old
	case isEmpty(config):
		return nil
	}
	return config
}

func isEmpty[T any](v *T) bool { return v != nil && equality.Semantic.DeepEqual(*v, *new(T)) }
