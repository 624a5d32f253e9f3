package admission

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkPod has the rules of ValidatePodSpec in pkg/apis/core/validation for the fields that operators use.
func checkPod(p *corev1.PodSpec, at *field.Path) field.ErrorList {
	errs := checkVolumes(p.Volumes, at.Child("volumes"))
	containers := at.Child("containers")
	if len(p.Containers) == 0 {
		errs = append(errs, field.Required(containers, ""))
	}
	names := unique[string]{}
	for i := range p.Containers {
		c, at := &p.Containers[i], containers.Index(i)
		errs = append(errs, checkContainer(c, p.Volumes, at)...)
		errs = append(errs, names.add(at.Child("name"), c.Name)...)
		errs = append(errs, checkProbe(c.LivenessProbe, true, at.Child("livenessProbe"))...)
		errs = append(errs, checkProbe(c.ReadinessProbe, false, at.Child("readinessProbe"))...)
		errs = append(errs, checkProbe(c.StartupProbe, true, at.Child("startupProbe"))...)
	}
	for i := range p.InitContainers {
		c, at := &p.InitContainers[i], at.Child("initContainers").Index(i)
		errs = append(errs, checkContainer(c, p.Volumes, at)...)
		if c.Name != "" {
			errs = append(errs, names.add(at.Child("name"), c.Name)...)
		}
	}
	errs = append(errs, unsupported(at.Child("restartPolicy"), p.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)...)
	errs = append(errs, unsupported(at.Child("dnsPolicy"), p.DNSPolicy, corev1.DNSClusterFirst,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, unversioned.ValidateLabels(p.NodeSelector, at.Child("nodeSelector"))...)
	for i, secret := range p.ImagePullSecrets {
		errs = append(errs, required(at.Child("imagePullSecrets").Index(i).Child("name"), secret.Name)...)
	}
	name := at.Child("serviceAccountName")
	if account := p.ServiceAccountName; account != "" {
		errs = append(errs, invalid(name, account, apivalidation.ValidateServiceAccountName(account, false))...)
	}
	if class := p.PriorityClassName; class != "" {
		errs = append(errs, invalid(at.Child("priorityClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))...)
	}
	for i := range p.Tolerations {
		errs = append(errs, checkToleration(&p.Tolerations[i], at.Child("tolerations").Index(i))...)
	}
	return errs
}

func checkToleration(t *corev1.Toleration, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = append(errs, unversioned.ValidateLabelName(t.Key, at.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(at.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(at.Child("effect"), t.Effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	if t.Operator == corev1.TolerationOpExists && t.Value != "" {
		errs = append(errs, field.Invalid(at.Child("operator"), t.Value,
			"value must be empty when `operator` is 'Exists'"))
	}
	return append(errs, unsupported(at.Child("effect"), t.Effect,
		corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule)...)
}

// checkVolumes checks that volumes have a name and at most one source. The API server makes a volume without one an
// emptyDir (SetDefaults_Volume in pkg/apis/core/v1).
func checkVolumes(volumes []corev1.Volume, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := unique[string]{}
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		sources := setFields(reflect.ValueOf(v.VolumeSource))
		switch len(sources) {
		case 0:
		case 1:
			errs = append(errs, checkVolumeSource(&v.VolumeSource, at)...)
		default:
			for _, name := range sources[1:] {
				errs = append(errs, field.Forbidden(at.Child(name), "may not specify more than 1 volume type"))
			}
		}
		errs = append(errs, checkLabel(v.Name, at.Child("name"))...)
		if v.Name != "" {
			errs = append(errs, names.add(at.Child("name"), v.Name)...)
		}
	}
	return errs
}

// setFields returns the JSON names of the fields of a struct that are not nil, in the order of the struct. All fields
// are pointers.
func setFields(v reflect.Value) []string {
	var names []string
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func checkVolumeSource(s *corev1.VolumeSource, at *field.Path) field.ErrorList {
	switch {
	case s.Secret != nil:
		return required(at.Child("secret", "secretName"), s.Secret.SecretName)
	case s.ConfigMap != nil:
		return required(at.Child("configMap", "name"), s.ConfigMap.Name)
	case s.HostPath != nil:
		return required(at.Child("hostPath", "path"), s.HostPath.Path)
	case s.PersistentVolumeClaim != nil:
		return required(at.Child("persistentVolumeClaim", "claimName"), s.PersistentVolumeClaim.ClaimName)
	}
	return nil
}

// checkLabel checks a required name that is a label of RFC 1123.
func checkLabel(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return required(at, name)
	}
	return invalid(at, name, validation.IsDNS1123Label(name))
}

func checkContainer(c *corev1.Container, volumes []corev1.Volume, at *field.Path) field.ErrorList {
	errs := checkLabel(c.Name, at.Child("name"))
	errs = append(errs, required(at.Child("image"), c.Image)...)
	errs = append(errs, unsupported(at.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
		corev1.TerminationMessageFallbackToLogsOnError, corev1.TerminationMessageReadFile)...)
	names := unique[string]{}
	for i := range c.Ports {
		errs = append(errs, checkContainerPort(&c.Ports[i], names, at.Child("ports").Index(i))...)
	}
	for i := range c.Env {
		errs = append(errs, checkVariable(&c.Env[i], at.Child("env").Index(i))...)
	}
	errs = append(errs, checkMounts(c.VolumeMounts, volumes, at.Child("volumeMounts"))...)
	errs = append(errs, unsupported(at.Child("imagePullPolicy"), c.ImagePullPolicy,
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	return append(errs, checkResources(&c.Resources, at.Child("resources"))...)
}

func checkContainerPort(p *corev1.ContainerPort, names unique[string], at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Name != "" {
		if messages := validation.IsValidPortName(p.Name); len(messages) > 0 {
			errs = append(errs, invalid(at.Child("name"), p.Name, messages)...)
		} else {
			errs = append(errs, names.add(at.Child("name"), p.Name)...)
		}
	}
	if p.ContainerPort == 0 {
		errs = append(errs, field.Required(at.Child("containerPort"), ""))
	} else {
		errs = append(errs, invalid(
			at.Child("containerPort"), p.ContainerPort, validation.IsValidPortNum(int(p.ContainerPort)))...)
	}
	if p.HostPort != 0 {
		errs = append(errs, invalid(at.Child("hostPort"), p.HostPort, validation.IsValidPortNum(int(p.HostPort)))...)
	}
	return append(errs, unsupported(at.Child("protocol"), p.Protocol, protocols...)...)
}

func checkVariable(v *corev1.EnvVar, at *field.Path) field.ErrorList {
	if v.Name == "" {
		return required(at.Child("name"), v.Name)
	}
	errs := invalid(at.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))
	if v.ValueFrom == nil {
		return errs
	}
	at = at.Child("valueFrom")
	sources := setFields(reflect.ValueOf(*v.ValueFrom))
	switch {
	case len(sources) == 0:
		return append(errs, field.Invalid(at, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case v.Value != "":
		return append(errs, field.Invalid(at, "", "may not be specified when `value` is not empty"))
	case len(sources) > 1:
		return append(errs, field.Invalid(at, "", "may not have more than one field specified at a time"))
	}
	switch from := v.ValueFrom; {
	case from.FieldRef != nil:
		errs = append(errs, required(at.Child("fieldRef", "fieldPath"), from.FieldRef.FieldPath)...)
	case from.ConfigMapKeyRef != nil:
		errs = append(errs, checkKey(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, at.Child("configMapKeyRef"))...)
	case from.SecretKeyRef != nil:
		errs = append(errs, checkKey(from.SecretKeyRef.Name, from.SecretKeyRef.Key, at.Child("secretKeyRef"))...)
	}
	return errs
}

// checkKey checks a reference to the key of a ConfigMap or Secret, whose name may be empty.
func checkKey(name, key string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name != "" {
		errs = append(errs, invalid(at.Child("name"), name, apivalidation.NameIsDNSSubdomain(name, false))...)
	}
	if key == "" {
		return append(errs, required(at.Child("key"), key)...)
	}
	return append(errs, invalid(at.Child("key"), key, validation.IsConfigMapKey(key))...)
}

func checkMounts(mounts []corev1.VolumeMount, volumes []corev1.Volume, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := map[string]bool{}
	for i := range mounts {
		m, at := &mounts[i], at.Index(i)
		errs = append(errs, required(at.Child("name"), m.Name)...)
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, required(at.Child("mountPath"), m.MountPath)...)
		if paths[m.MountPath] {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		paths[m.MountPath] = true
	}
	return errs
}

func checkResources(r *corev1.ResourceRequirements, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(list corev1.ResourceList, at *field.Path) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			q := list[name]
			if q.Sign() < 0 {
				errs = append(errs, field.Invalid(at.Key(string(name)), q.String(), apivalidation.IsNegativeErrorMsg))
			}
		}
	}
	check(r.Limits, at.Child("limits"))
	check(r.Requests, at.Child("requests"))
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("requests"), request.String(), fmt.Sprintf(
				"must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	return errs
}

// checkProbe checks a probe. Probes that restart the container need a single success.
func checkProbe(p *corev1.Probe, restarts bool, at *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := checkHandler(&p.ProbeHandler, at)
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds}, {"timeoutSeconds", p.TimeoutSeconds},
		{"periodSeconds", p.PeriodSeconds}, {"successThreshold", p.SuccessThreshold},
		{"failureThreshold", p.FailureThreshold},
	} {
		errs = append(errs, nonnegative(&number.value, at.Child(number.name))...)
	}
	if restarts && p.SuccessThreshold > 1 {
		errs = append(errs, field.Invalid(at.Child("successThreshold"), p.SuccessThreshold, "must be 1"))
	}
	return errs
}

func checkHandler(h *corev1.ProbeHandler, at *field.Path) field.ErrorList {
	sources := setFields(reflect.ValueOf(*h))
	if len(sources) == 0 {
		return field.ErrorList{field.Required(at, "must specify a handler type")}
	}
	var errs field.ErrorList
	for _, name := range sources[1:] {
		errs = append(errs, field.Forbidden(at.Child(name), "may not specify more than 1 handler type"))
	}
	switch {
	case h.Exec != nil && len(h.Exec.Command) == 0:
		errs = append(errs, field.Required(at.Child("exec", "command"), ""))
	case h.HTTPGet != nil:
		errs = append(errs, checkPort(h.HTTPGet.Port, at.Child("httpGet", "port"))...)
	case h.TCPSocket != nil:
		errs = append(errs, checkPort(h.TCPSocket.Port, at.Child("tcpSocket", "port"))...)
	}
	return errs
}
