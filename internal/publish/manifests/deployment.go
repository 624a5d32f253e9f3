package manifests

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	mebi     = 1 << 20
	portName = "grpc"
)

// memoryRequest returns the memory to request for serving a catalog whose files have size bytes.
//
// The server benchmark (make bench-serve) measures the resident memory after 64 clients have called all methods: 64
// MB for a catalog of a few kilobytes, 105 MB for one of 191 MiB. So the request is 64 MiB plus a quarter of the
// catalog.
func memoryRequest(size int64) resource.Quantity {
	mebis := 64 + (size/4+mebi-1)/mebi
	return *resource.NewQuantity(mebis*mebi, resource.BinarySI)
}

// resources sets the memory limit to twice the request: in the benchmark with the large catalog, a server that first
// had to build the store took 150 MB at most. It sets no CPU limit, which would only slow down answers.
func (o *Options) resources() corev1.ResourceRequirements {
	request := memoryRequest(o.Size)
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: request,
		},
		Limits: corev1.ResourceList{
			corev1.ResourceMemory: *resource.NewQuantity(2*request.Value(), resource.BinarySI),
		},
	}
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// labels returns the labels of the pods. The Service of a Deployment must not select the pods of a Job of the same
// name.
func (o *Options) labels() map[string]string {
	if o.Kind == RenderJob {
		return map[string]string{"app.kubernetes.io/part-of": o.Name, "app.kubernetes.io/component": "render"}
	}
	return map[string]string{"app.kubernetes.io/name": o.Name}
}

func (o *Options) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: o.labels()}
}

func (o *Options) labelled() metav1.ObjectMeta {
	meta := o.meta()
	meta.Labels = o.labels()
	return meta
}

// autoscaled reports whether an autoscaler sets the number of replicas.
func (o *Options) autoscaled() bool { return o.MaxReplicas > o.Replicas }

func (o *Options) deployment() []any {
	d := &appsv1.Deployment{
		TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: o.labelled(),
		Spec: appsv1.DeploymentSpec{
			Selector: o.selector(),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: o.labels()}, Spec: o.pod()},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0))},
			},
		},
	}
	if !o.autoscaled() {
		d.Spec.Replicas = &o.Replicas
	}
	objects := []any{
		d,
		&corev1.Service{
			TypeMeta: typeMeta("v1", "Service"), ObjectMeta: o.labelled(),
			Spec: corev1.ServiceSpec{Selector: o.labels(), Ports: o.servicePorts()},
		},
		o.networkPolicy(),
		&policyv1.PodDisruptionBudget{
			TypeMeta: typeMeta("policy/v1", "PodDisruptionBudget"), ObjectMeta: o.labelled(),
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: o.selector(), MaxUnavailable: new(intstr.FromInt32(1))},
		},
	}
	if o.autoscaled() {
		objects = append(objects, o.autoscaler())
	}
	if o.ServiceMonitor {
		objects = append(objects, o.serviceMonitor())
	}
	if o.WithCatalogSource {
		objects = append(objects, o.addressedCatalogSource())
	}
	return objects
}

// pod returns the pod that serves the catalog, with the arguments of the image unless it must serve HTTP.
func (o *Options) pod() corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		SecurityContext:              podSecurity(),
		NodeSelector:                 map[string]string{corev1.LabelOSStable: "linux"},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			o.spread(corev1.LabelHostname), o.spread(corev1.LabelTopologyZone),
		},
		Containers: []corev1.Container{{
			Name: "registry-server", Image: o.Image, ImagePullPolicy: o.pullPolicy(),
			Args: o.args(), Ports: o.containerPorts(), Resources: o.resources(),
			StartupProbe: o.probe("/readyz", 2, 60), ReadinessProbe: o.probe("/readyz", 5, 3),
			LivenessProbe:   o.probe("/healthz", 10, 3),
			SecurityContext: containerSecurity(),
		}},
	}
}

func (o *Options) pullPolicy() corev1.PullPolicy {
	if isDigest(o.Image) {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// podSecurity and containerSecurity return the settings of the restricted Pod Security Standard, and stricter ones.
// They name no user and no group: OpenShift assigns those of the namespace, and refuses others (the security context
// constraints restricted-v2). Elsewhere the image has a numeric user, which is not root.
func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func (o *Options) spread(over string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: over, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: o.selector(),
	}
}

// networkPolicy allows ingress to the ports and denies all egress.
func (o *Options) networkPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta: typeMeta("networking.k8s.io/v1", "NetworkPolicy"), ObjectMeta: o.labelled(),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *o.selector(),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{o.ingress()},
		},
	}
}

func (o *Options) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: typeMeta("autoscaling/v2", "HorizontalPodAutoscaler"), ObjectMeta: o.labelled(),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: o.Name},
			MinReplicas:    &o.Replicas, MaxReplicas: o.MaxReplicas,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{
						Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80)),
					},
				},
			}},
		},
	}
}
