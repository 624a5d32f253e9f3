package catalogsource

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/reference"
)

// The images with which OLM serves an extracted catalog, unless its arguments name others.
const (
	OpmImage = "quay.io/operator-framework/opm:latest"
	OLMImage = "quay.io/operator-framework/olm:latest"
)

const (
	user = 1001 // of restricted pods, unless the arguments of OLM have another one

	annotationPriorityClass = "operatorframework.io/priorityclass"
	annotationEvict         = "cluster-autoscaler.kubernetes.io/safe-to-evict"

	labelEnforce = "pod-security.kubernetes.io/enforce"
)

// Security returns the security config of the pod of a CatalogSource: its own, or else the config that the namespace
// enforces. The namespace may be nil.
func Security(source *v1alpha1.CatalogSource, namespace *corev1.Namespace) v1alpha1.SecurityConfig {
	config := source.Spec.GrpcPodConfig
	switch {
	case config != nil && config.SecurityContextConfig != "" && !FromConfigMap(source):
		return config.SecurityContextConfig
	case namespace != nil && namespace.Labels[labelEnforce] == string(v1alpha1.Restricted):
		return v1alpha1.Restricted
	default:
		return v1alpha1.Legacy
	}
}

// The containers whose image has the catalog: of a pod without and with extractContent.
const (
	containerServer  = "registry-server"
	containerExtract = "extract-content"
)

// Pod returns the pod that serves a catalog. Its name, which Kubernetes generates, and the label with its hash are not
// set. A pod that reads a ConfigMap has the ConfigMap version of the status of the CatalogSource.
func Pod(source *v1alpha1.CatalogSource, security v1alpha1.SecurityConfig) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(source, ""),
		Spec: corev1.PodSpec{
			Containers:         []corev1.Container{server(image(source))},
			NodeSelector:       map[string]string{corev1.LabelOSStable: "linux"},
			ServiceAccountName: source.Name,
			ImagePullSecrets:   pullSecrets(source),
		},
	}
	pod.GenerateName = source.Name + "-"
	pod.OwnerReferences[0].Controller = new(true)
	pod.Labels = labels(source)
	pod.Annotations = map[string]string{}
	maps.Copy(pod.Annotations, source.Annotations)
	if FromConfigMap(source) {
		pod.Labels[labelConfigMapVersion] = configMapVersion(source)
		pod.Spec.ServiceAccountName = configMapAccount(source)
		pod.Spec.ImagePullSecrets = nil
		c := &pod.Spec.Containers[0]
		c.Name = "configmap-registry-server"
		c.Command = []string{"configmap-server", "-c", source.Spec.ConfigMap, "-n", source.Namespace}
	}
	if config := source.Spec.GrpcPodConfig; config != nil {
		schedule(&pod.Spec, config)
		if config.ExtractContent != nil && !FromConfigMap(source) {
			extract(&pod.Spec, config.ExtractContent)
		}
	}
	if class := source.Annotations[annotationPriorityClass]; class != "" {
		pod.Spec.PriorityClassName = class
	}
	if security == v1alpha1.Restricted {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(user)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			c.SecurityContext.AllowPrivilegeEscalation = new(false)
			c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		}
	}
	pod.Annotations[annotationEvict] = "true"
	return pod
}

// Serves reports whether a pod serves the current image or ConfigMap of its CatalogSource.
func Serves(pod *corev1.Pod, source *v1alpha1.CatalogSource) bool {
	if FromConfigMap(source) {
		return pod.Labels[labelConfigMapVersion] == configMapVersion(source)
	}
	runs := func(of corev1.Container) bool { return of.Image == source.Spec.Image }
	return slices.ContainsFunc(pod.Spec.InitContainers, runs) || slices.ContainsFunc(pod.Spec.Containers, runs)
}

// RunningImage returns the reference, with the digest, of the image whose catalog a pod serves. It has the repository
// that the pod names, since the node may know the image by another one. It returns "" if the status of the pod does not
// have the digest.
func RunningImage(pod *corev1.Pod) string {
	name, containers, statuses := containerServer, pod.Spec.Containers, pod.Status.ContainerStatuses
	isCopy := func(c corev1.Container) bool { return c.Name == containerExtract }
	if slices.ContainsFunc(pod.Spec.InitContainers, isCopy) {
		name, containers, statuses = containerExtract, pod.Spec.InitContainers, pod.Status.InitContainerStatuses
	}
	container := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	status := slices.IndexFunc(statuses, func(c corev1.ContainerStatus) bool { return c.Name == name })
	if container < 0 || status < 0 {
		return ""
	}
	// Without a repository, it is the digest of the config, by which registries have no image.
	_, digest, ok := strings.Cut(statuses[status].ImageID, "@")
	if !ok {
		return ""
	}
	return reference.Pinned(containers[container].Image, digest)
}

// Complete returns an image as Kubernetes reads it: without a tag and a digest, it has the tag latest. It returns ""
// for no image.
func Complete(image string) string {
	if name, _ := reference.CutTag(image); image == "" || strings.Contains(image, "@") || name != image {
		return image
	}
	return image + ":latest"
}

func image(source *v1alpha1.CatalogSource) string {
	if FromConfigMap(source) {
		return ConfigMapImage
	}
	return source.Spec.Image
}

// server returns the container that serves the catalog of an image.
func server(image string) corev1.Container {
	probe := func() *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:   corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: Port, Service: new("")}},
			TimeoutSeconds: 5,
		}
	}
	c := corev1.Container{
		Name: containerServer, Image: image, ImagePullPolicy: pullPolicy(image),
		Ports:          []corev1.ContainerPort{{Name: portName, ContainerPort: Port}},
		ReadinessProbe: probe(), LivenessProbe: probe(), StartupProbe: probe(),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("50Mi"),
		}},
		SecurityContext:          &corev1.SecurityContext{ReadOnlyRootFilesystem: new(false)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	c.ReadinessProbe.InitialDelaySeconds = 5
	c.LivenessProbe.InitialDelaySeconds = 10
	c.StartupProbe.FailureThreshold, c.StartupProbe.PeriodSeconds = 15, 10
	return c
}

func pullPolicy(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// schedule applies the grpcPodConfig of a CatalogSource to its pod: nodes, priority and memory.
func schedule(spec *corev1.PodSpec, config *v1alpha1.GrpcPodConfig) {
	config = config.DeepCopy()
	if config.NodeSelector != nil {
		spec.NodeSelector = config.NodeSelector
	}
	if config.PriorityClassName != nil {
		spec.PriorityClassName = *config.PriorityClassName
	}
	spec.Tolerations, spec.Affinity = config.Tolerations, config.Affinity
	if memory := config.MemoryTarget; memory != nil {
		memory.Format = resource.BinarySI
		c := &spec.Containers[0]
		c.Resources.Requests[corev1.ResourceMemory] = *memory
		c.Env = append(c.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: memory.String() + "B"}) // Go writes 1Mi as 1MiB
	}
}

// The directories of the tool that extracts catalogs, and of the extracted catalog.
const (
	utilities = "/utilities"
	extracted = "/extracted-catalog"
)

// extract changes a pod so that it copies the catalog out of its image and serves it with the opm of OLM.
func extract(spec *corev1.PodSpec, config *v1alpha1.ExtractContentConfig) {
	tools := corev1.VolumeMount{Name: "utilities", MountPath: utilities}
	content := corev1.VolumeMount{Name: "catalog-content", MountPath: extracted}
	spec.Volumes = append(spec.Volumes, emptyDir(tools.Name), emptyDir(content.Name))

	c := &spec.Containers[0]
	from := []string{"--catalog.from=" + config.CatalogDir, "--catalog.to=" + extracted + "/catalog"}
	args := []string{"serve", extracted + "/catalog"}
	if config.CacheDir != "" {
		from = append(from, "--cache.from="+config.CacheDir, "--cache.to="+extracted+"/cache")
		args = append(args, "--cache-dir="+extracted+"/cache")
	} else { // opm builds its cache in /tmp
		spec.Volumes = append(spec.Volumes, emptyDir("tmpdir"))
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tmpdir", MountPath: "/tmp/"})
	}
	copyTool := initContainer("extract-utilities", OLMImage, tools)
	copyTool.Command, copyTool.Args = []string{"cp"}, []string{"/bin/copy-content", utilities + "/copy-content"}
	copyCatalog := initContainer(containerExtract, c.Image, tools, content)
	copyCatalog.ImagePullPolicy = pullPolicy(c.Image)
	copyCatalog.Command, copyCatalog.Args = []string{utilities + "/copy-content"}, from
	spec.InitContainers = append(spec.InitContainers, copyTool, copyCatalog)

	c.Image, c.ImagePullPolicy, c.Command, c.Args = OpmImage, pullPolicy(OpmImage), []string{"/bin/opm"}, args
	c.SecurityContext.ReadOnlyRootFilesystem = new(true)
	c.VolumeMounts = append(c.VolumeMounts, content)
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func initContainer(name, image string, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, VolumeMounts: mounts,
		SecurityContext:          &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
