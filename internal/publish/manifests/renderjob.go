package manifests

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/k8sname"
)

// Paths of the inputs and outputs in a pod of the Job.
const (
	referencesDir  = "/references"
	referencesFile = "references.txt"
	shardsDir      = "/shards"
	authDir        = "/auth"
	tempDir        = "/tmp"
)

func (o *Options) checkRenderJob() error {
	if o.Shards < 1 {
		return fmt.Errorf("%d shards, want at least 1", o.Shards)
	}
	if wrong := validation.IsDNS1123Label(fmt.Sprintf("%s-%d", o.Name, o.Shards-1)); wrong != nil {
		return fmt.Errorf("name %q, from which pods get theirs: %s", o.Name, wrong[0])
	}
	if err := k8sname.Subdomain(o.AuthSecret); o.AuthSecret != "" && err != nil {
		return fmt.Errorf("secret %q: %w", o.AuthSecret, err)
	}
	if len(o.References) == 0 {
		return errors.New("no references to render")
	}
	size := 0
	for _, ref := range o.References {
		if err := checkImage(ref); err != nil {
			return fmt.Errorf("reference %q: %w", ref, err)
		}
		size += len(ref) + 1
	}
	if size > mebi {
		return fmt.Errorf("%d references of %d bytes are too many for a ConfigMap, which holds 1 MiB: split them",
			len(o.References), size)
	}
	return nil
}

// renderJob returns a Job with a pod for each shard, its input and the volume that all pods write their shards to.
func (o *Options) renderJob() []any {
	text := strings.Join(o.References, "\n") + "\n"
	return []any{
		&corev1.ConfigMap{
			TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: o.labelled(),
			Data: map[string]string{referencesFile: text},
		},
		&corev1.PersistentVolumeClaim{
			TypeMeta: typeMeta("v1", "PersistentVolumeClaim"), ObjectMeta: o.labelled(),
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: shardsSize(len(o.References))},
				},
			},
		},
		&batchv1.Job{
			TypeMeta: typeMeta("batch/v1", "Job"), ObjectMeta: o.labelled(),
			Spec: batchv1.JobSpec{
				CompletionMode: new(batchv1.IndexedCompletion), Completions: &o.Shards, Parallelism: &o.Shards,
				BackoffLimitPerIndex: new(int32(3)),
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: o.labels()}, Spec: o.renderPod(),
				},
			},
		},
	}
}

// shardsSize returns the storage to request for the shards, 1 MiB per reference: 89 published bundles take 156 KB
// each on average, and large bundles have manifests of 1 MB.
func shardsSize(references int) resource.Quantity {
	return *resource.NewQuantity(max(1024, int64(references))*mebi, resource.BinarySI)
}

// renderPod returns a pod that renders one shard. It requests the memory that opm took for 1,068 images of published
// bundles, 154 MiB, and its limit is twice that, for larger ones.
func (o *Options) renderPod() corev1.PodSpec {
	c := corev1.Container{
		Name: "render", Image: o.Image, ImagePullPolicy: o.pullPolicy(), Args: o.renderArgs(),
		SecurityContext: containerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("160Mi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("320Mi")},
		},
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: new(false), SecurityContext: podSecurity(), RestartPolicy: corev1.RestartPolicyNever,
		NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
	}
	mount := func(name, dir string, readOnly bool, source corev1.VolumeSource) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: dir, ReadOnly: readOnly})
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	mount("references", referencesDir, true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: o.Name},
	}})
	mount("shards", shardsDir, false, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: o.Name},
	})
	mount("temp", tempDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if o.AuthSecret != "" {
		secret := &corev1.SecretVolumeSource{SecretName: o.AuthSecret}
		mount("auth", authDir, true, corev1.VolumeSource{Secret: secret})
	}
	pod.Containers = []corev1.Container{c}
	return pod
}

func (o *Options) renderArgs() []string {
	args := []string{
		"render", "--refs-file", path.Join(referencesDir, referencesFile), "--shard", strconv.Itoa(int(o.Shards)),
		"--output-file", path.Join(shardsDir, "shard-$(JOB_COMPLETION_INDEX).json"),
	}
	if o.AuthSecret != "" {
		args = append(args, "--authfile", path.Join(authDir, corev1.DockerConfigJsonKey))
	}
	return args
}
