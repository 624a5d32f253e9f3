package bundle

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/place"
)

// checkWebhooks checks the webhook definitions: by the checks of both OLMs, and by those of Kubernetes for the objects
// that they create. A webhook that only one OLM refuses is a warning.
func (c *checker) checkWebhooks() {
	at := func(e operator.WebhookError) jsontext.Pointer {
		return place.Item("/spec/webhookdefinitions", e.Index) + jsontext.Pointer(e.Path)
	}
	classic := make(map[jsontext.Pointer]bool)
	for _, e := range operator.CheckWebhooks(c.csv) {
		classic[at(e)] = true
	}
	v1 := make(map[jsontext.Pointer]bool)
	for _, e := range operator.CheckWebhooksV1(c.csv) {
		v1[at(e)] = true
		if e.Both || classic[at(e)] {
			c.reportCSV(ruleCSVWebhook, at(e), "%w", e.Err)
		} else {
			c.reportCSV(ruleCSVWebhookOLM, at(e), "OLM v1 refuses it: %w", e.Err)
		}
	}
	for _, e := range operator.CheckWebhooks(c.csv) {
		if !v1[at(e)] {
			c.reportCSV(ruleCSVWebhookOLM, at(e), "OLM Classic refuses it: %w", e.Err)
		}
	}
	for i := range c.csv.Spec.WebhookDefinitions {
		d := &c.csv.Spec.WebhookDefinitions[i]
		ptr := place.Item("/spec/webhookdefinitions", i)
		if err := operator.CheckConversionCRDs(d); err != nil {
			c.reportCSV(ruleCSVWebhookOLM, ptr, "OLM Classic refuses it: %w", err)
		}
		c.checkService(ptr, d)
		switch d.Type {
		case v1alpha1.ConversionWebhook:
		case v1alpha1.ValidatingAdmissionWebhook, v1alpha1.MutatingAdmissionWebhook:
			c.checkAdmission(ptr, d)
		default:
			c.reportCSV(ruleCSVWebhookOLM, ptr+"/type", "OLM Classic refuses it, and OLM v1 ignores the webhook: %q, want %s, "+
				"%s or %s", d.Type, v1alpha1.ValidatingAdmissionWebhook, v1alpha1.MutatingAdmissionWebhook,
				v1alpha1.ConversionWebhook)
		}
	}
}

// checkService checks the ports, the path and the versions of a webhook. A missing port has a default.
func (c *checker) checkService(ptr jsontext.Pointer, d *v1alpha1.WebhookDescription) {
	port := d.ContainerPort
	if problems := validation.IsValidPortNum(int(port)); port != 0 && problems != nil {
		c.reportCSV(ruleCSVWebhook, ptr+"/containerPort", "%d is not a port: %s", port, problems[0])
	}
	if d.TargetPort != nil {
		problems := validation.IsValidPortNum(d.TargetPort.IntValue())
		if d.TargetPort.Type == intstr.String {
			problems = validation.IsValidPortName(d.TargetPort.StrVal)
		}
		if problems != nil {
			c.reportCSV(ruleCSVWebhook, ptr+"/targetPort", "%q is not a port or the name of a port: %s", d.TargetPort.String(),
				problems[0])
		}
	}
	for _, err := range webhook.ValidateWebhookService(field.NewPath("webhook"), "namespace", "name", d.WebhookPath, 443) {
		c.reportCSV(ruleCSVWebhook, ptr+"/webhookPath", "%s", fieldMessage(err))
	}
	known := func(v string) bool { return v == "v1" || v == "v1beta1" }
	if !slices.ContainsFunc(d.AdmissionReviewVersions, known) {
		at := ptr + "/admissionReviewVersions"
		c.reportCSV(ruleCSVWebhook, at, "Kubernetes needs v1 or v1beta1 among them, found %q", d.AdmissionReviewVersions)
	}
}

// checkAdmission checks what Kubernetes requires of an admission webhook.
func (c *checker) checkAdmission(ptr jsontext.Pointer, d *v1alpha1.WebhookDescription) {
	if len(validation.IsDNS1123Subdomain(d.GenerateName)) == 0 { // which OLM checks
		for _, err := range validation.IsFullyQualifiedName(field.NewPath("generateName"), d.GenerateName) {
			c.reportCSV(ruleCSVWebhook, ptr+"/generateName", "%s", fieldMessage(err))
		}
	}
	if d.SideEffects == nil {
		c.reportCSV(ruleCSVWebhook, ptr, "sideEffects is required: want None or NoneOnDryRun")
	}
	checkWord(c, ptr+"/sideEffects", d.SideEffects,
		admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun)
	checkWord(c, ptr+"/failurePolicy", d.FailurePolicy, admissionv1.Fail, admissionv1.Ignore)
	checkWord(c, ptr+"/matchPolicy", d.MatchPolicy, admissionv1.Exact, admissionv1.Equivalent)
	if d.Type == v1alpha1.MutatingAdmissionWebhook {
		checkWord(c, ptr+"/reinvocationPolicy", d.ReinvocationPolicy,
			admissionv1.NeverReinvocationPolicy, admissionv1.IfNeededReinvocationPolicy)
	}
	if s := d.TimeoutSeconds; s != nil && (*s < 1 || *s > 30) {
		c.reportCSV(ruleCSVWebhook, ptr+"/timeoutSeconds", "%d: want 1 to 30 seconds", *s)
	}
	for i := range d.Rules {
		c.checkAdmissionRule(place.Item(ptr+"/rules", i), &d.Rules[i])
	}
}

func (c *checker) checkAdmissionRule(ptr jsontext.Pointer, r *admissionv1.RuleWithOperations) {
	var operations []string
	for i, o := range r.Operations {
		operations = append(operations, string(o))
		checkWord(c, place.Item(ptr+"/operations", i), &o, admissionv1.Create, admissionv1.Update, admissionv1.Delete,
			admissionv1.Connect, admissionv1.OperationAll)
	}
	for _, list := range []struct {
		key    string
		values []string
	}{
		{"operations", operations}, {"apiGroups", r.APIGroups}, {"apiVersions", r.APIVersions}, {"resources", r.Resources},
	} {
		switch {
		case len(list.values) == 0:
			c.reportCSV(ruleCSVWebhook, ptr, "%s is required", list.key)
		case list.key != "resources" && len(list.values) > 1 && slices.Contains(list.values, "*"):
			c.reportCSV(ruleCSVWebhook, ptr.AppendToken(list.key), "* must be the only value, found %q", list.values)
		}
	}
	checkWord(c, ptr+"/scope", r.Scope, admissionv1.ClusterScope, admissionv1.NamespacedScope, admissionv1.AllScopes)
}

// checkWord reports a value at ptr that is not one of the given words. Nil is the default.
func checkWord[T ~string](c *checker, ptr jsontext.Pointer, value *T, words ...T) {
	if value != nil && !slices.Contains(words, *value) {
		c.reportCSV(ruleCSVWebhook, ptr, "%q: want one of %q", *value, words)
	}
}
