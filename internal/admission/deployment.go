package admission

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkDeployment(d *appsv1.Deployment) field.ErrorList {
	spec, at := &d.Spec, field.NewPath("spec")
	errs := nonnegative(spec.Replicas, at.Child("replicas"))
	selectorAt := at.Child("selector")
	if spec.Selector == nil {
		errs = append(errs, field.Required(selectorAt, ""))
	} else {
		errs = append(errs, unversioned.ValidateLabelSelector(
			spec.Selector, unversioned.LabelSelectorValidationOptions{}, selectorAt)...)
		if len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(selectorAt, spec.Selector, "empty selector is invalid for deployment"))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err != nil {
		errs = append(errs, field.Invalid(selectorAt, spec.Selector, "invalid label selector"))
	} else {
		errs = append(errs, checkTemplate(&spec.Template, selector, at.Child("template"))...)
	}
	errs = append(errs, checkStrategy(&spec.Strategy, at.Child("strategy"))...)
	errs = append(errs, nonnegative(&spec.MinReadySeconds, at.Child("minReadySeconds"))...)
	errs = append(errs, nonnegative(spec.RevisionHistoryLimit, at.Child("revisionHistoryLimit"))...)
	if deadline := spec.ProgressDeadlineSeconds; deadline != nil {
		errs = append(errs, nonnegative(deadline, at.Child("progressDeadlineSeconds"))...)
		if *deadline <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(at.Child("progressDeadlineSeconds"), *deadline,
				"must be greater than minReadySeconds"))
		}
	}
	return errs
}

func nonnegative(value *int32, at *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return apivalidation.ValidateNonnegativeField(int64(*value), at)
}

func changedDeployment(d, old *appsv1.Deployment) field.ErrorList {
	if d.Spec.Selector == nil || equality.Semantic.DeepEqual(d.Spec.Selector, old.Spec.Selector) {
		return nil
	}
	at := field.NewPath("spec", "selector")
	return field.ErrorList{field.Invalid(at, d.Spec.Selector, apivalidation.FieldImmutableErrorMsg)}
}

// checkTemplate checks the pods of a Deployment, which must match its selector and run forever.
func checkTemplate(t *corev1.PodTemplateSpec, selector labels.Selector, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !selector.Empty() && !selector.Matches(labels.Set(t.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), t.Labels,
			"`selector` does not match template `labels`"))
	}
	errs = append(errs, unversioned.ValidateLabels(t.Labels, at.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(t.Annotations, at.Child("annotations"))...)
	errs = append(errs, checkPod(&t.Spec, at.Child("spec"))...)
	errs = append(errs, unsupported(
		at.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways)...)
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(at.Child("spec", "activeDeadlineSeconds"),
			"activeDeadlineSeconds in ReplicaSet is not Supported"))
	}
	return errs
}

func checkStrategy(s *appsv1.DeploymentStrategy, at *field.Path) field.ErrorList {
	rolling := at.Child("rollingUpdate")
	switch {
	case s.Type == appsv1.RecreateDeploymentStrategyType && s.RollingUpdate != nil:
		return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'")}
	case !isIn(s.Type, "", appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType):
		return field.ErrorList{field.NotSupported(at, s, []appsv1.DeploymentStrategyType{
			appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType,
		})}
	case s.RollingUpdate == nil:
		return nil
	}
	unavailable, surge := s.RollingUpdate.MaxUnavailable, s.RollingUpdate.MaxSurge
	errs := checkShare(unavailable, rolling.Child("maxUnavailable"))
	if surge != nil && surge.Type == intstr.Int {
		errs = append(errs, nonnegative(&surge.IntVal, rolling.Child("maxSurge"))...)
	}
	if isNone(unavailable) && isNone(surge) {
		errs = append(errs, field.Invalid(rolling.Child("maxUnavailable"), *unavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return errs
}

// isNone reports whether a share is zero. Nil is the default, which is not.
func isNone(share *intstr.IntOrString) bool {
	return share != nil && (share.Type == intstr.Int && share.IntVal == 0 || share.StrVal == "0%")
}
