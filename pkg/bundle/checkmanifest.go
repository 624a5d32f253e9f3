package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	olmrelease "github.com/operator-framework/api/pkg/lib/release"
	olmversion "github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An installableKind is a kind that OLM installs from a bundle of type registry+v1.
type installableKind struct {
	group      string // the API group that clusters serve it in
	namespaced bool
}

// installableKinds are the kinds that OLM Classic and OLM v1 install. Both decide by the kind alone, but cannot apply
// an object of another API group, such as a custom resource of kind Role.
var installableKinds = map[string]installableKind{
	kindCSV:               {"operators.coreos.com", true},
	kindCRD:               {"apiextensions.k8s.io", false},
	"ClusterRole":         {"rbac.authorization.k8s.io", false},
	"ClusterRoleBinding":  {"rbac.authorization.k8s.io", false},
	"Role":                {"rbac.authorization.k8s.io", true},
	"RoleBinding":         {"rbac.authorization.k8s.io", true},
	"Service":             {"", true},
	"ServiceAccount":      {"", true},
	"Secret":              {"", true},
	"ConfigMap":           {"", true},
	"PrometheusRule":      {"monitoring.coreos.com", true},
	"ServiceMonitor":      {"monitoring.coreos.com", true},
	kindPodMonitor:        {"monitoring.coreos.com", true},
	"PodDisruptionBudget": {"policy", true},
	"PriorityClass":       {"scheduling.k8s.io", false},
	kindAutoscaler:        {"autoscaling.k8s.io", true},
	"ConsoleYAMLSample":   {"console.openshift.io", false},
	"ConsoleQuickStart":   {"console.openshift.io", false},
	"ConsoleCLIDownload":  {"console.openshift.io", false},
	"ConsoleLink":         {"console.openshift.io", false},
	"ConsolePlugin":       {"console.openshift.io", false},
	"NetworkPolicy":       {"networking.k8s.io", true},
}

// The kinds that OLM Classic and OLM v1 treat differently.
const (
	kindPodMonitor = "PodMonitor"
	kindAutoscaler = "VerticalPodAutoscaler"
	kindList       = "List"
)

// Installable reports whether OLM v1 installs manifests of a kind, and whether it puts them into the namespace of the
// operator: all namespaced kinds except VerticalPodAutoscaler, which keeps its namespace.
func Installable(kind string) (namespaced, ok bool) {
	k, ok := installableKinds[kind]
	return k.namespaced && kind != kindAutoscaler, ok
}

// InstallableByClassic is Installable for OLM Classic, which does not know the kind PodMonitor, and asks the cluster
// which kinds are namespaced.
func InstallableByClassic(kind string) (namespaced, ok bool) {
	k, ok := installableKinds[kind]
	if kind == kindPodMonitor {
		return false, false
	}
	return k.namespaced, ok
}

// checkAPIVersion returns an error if a cluster does not accept the API version of a manifest of an installable kind:
// OLM v1 finds no resource for it when it applies the bundle.
func checkAPIVersion(apiVersion, kind string) error {
	k, ok := installableKinds[kind]
	gv, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case !ok:
		return nil
	case err != nil:
		return fmt.Errorf("OLM v1 cannot apply it: %w", err)
	case gv.Version == "":
		return errors.New("OLM v1 cannot apply it: the manifest has no apiVersion")
	case gv.Group != k.group:
		return fmt.Errorf("OLM v1 cannot apply it: it installs a %s of %s, not of %s", kind,
			cmp.Or(k.group, "the core API"), cmp.Or(gv.Group, "the core API"))
	}
	return nil
}

func (c *checker) checkManifest(m *manifest, mediaType string) {
	if m.kind == "" {
		c.reportAt(ruleUnreadable, m.document, "", "not a manifest: the object has no kind")
		return
	}
	if _, ok := Installable(m.kind); !ok && mediaType == MediaTypeRegistry {
		problem := "OLM does not install a %s"
		if m.kind == kindList {
			problem = "OLM Classic does not install a %s, and OLM v1 installs its items: put each into a file"
		}
		c.reportAt(ruleManifestKind, m.document, "/kind", problem, m.kind)
		return
	}
	if removed, ok := platform.RemovedIn(m.apiVersion, m.kind); ok {
		c.reportAt(ruleRemovedAPI, m.document, "/apiVersion", "Kubernetes %s removed %s", removed, m.apiVersion)
	}
	switch m.kind {
	case kindCSV:
		c.checkCSVType(m)
		c.checkKeyCase(m, reflect.TypeFor[v1alpha1.ClusterServiceVersion]())
	case kindCRD:
		c.checkDefinition(m)
		if m.apiVersion == crdV1 {
			c.checkKeyCase(m, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
		}
	default:
		if err := checkAPIVersion(m.apiVersion, m.kind); err != nil {
			c.reportAt(ruleManifestAPI, m.document, "/apiVersion", "%w", err)
		}
		c.checkCreation(m)
	}
	if c.opts.BundleObjects {
		c.checkObject(m)
	}
}

// checkKeyCase reports the keys of a manifest that differ from the keys of its type in case only. OLM Classic decodes
// the manifest as encoding/json does, OLM v1 as Kubernetes does.
func (c *checker) checkKeyCase(m *manifest, t reflect.Type) {
	skim.KeyShape(t).UnknownKeys(m.printed, func(ptr jsontext.Pointer, of *skim.Shape) *skim.Field {
		for _, name := range of.Names() {
			if strings.EqualFold(name, ptr.LastToken()) {
				c.reportAt(ruleKeyCase, m.document, ptr, "the key is %q: OLM Classic reads %q as well, and OLM v1 ignores it",
					name, ptr.LastToken())
			}
		}
		return nil
	})
}

// checkCSVType decodes the ClusterServiceVersion into c.csv. A second one is a problem.
func (c *checker) checkCSVType(m *manifest) {
	if c.csvFile != nil {
		c.reportAt(ruleCSVCount, m.document, "", "second %s: OLM Classic uses the first, in %s, and OLM v1 the last", kindCSV,
			c.csvFile.file)
		return
	}
	c.csvFile = m
	csv, ptr, err := decodeCSV(m.printed)
	if err != nil {
		c.reportAt(ruleCSVType, m.document, ptr, "%w", versionError(m.printed, ptr, err))
		return
	}
	c.csv = csv
}

// versionError adds to err the reason why the version or release at ptr is invalid.
func versionError(csv jsontext.Value, ptr jsontext.Pointer, err error) error {
	var versions struct {
		Spec struct {
			Version jsontext.Value `json:"version"`
			Release jsontext.Value `json:"release"`
		} `json:"spec"`
	}
	_, _ = decode(csv, &versions) // if spec is not an object, ptr leads to another value
	for _, field := range []struct {
		ptr   jsontext.Pointer
		value jsontext.Value
		read  func([]byte) error
	}{
		{"/spec/version", versions.Spec.Version, new(olmversion.OperatorVersion).UnmarshalJSON},
		{"/spec/release", versions.Spec.Release, new(olmrelease.OperatorRelease).UnmarshalJSON},
	} {
		if field.ptr != ptr || field.value.Kind() != jsontext.KindString {
			continue
		}
		if cause := field.read(field.value); cause != nil {
			return fmt.Errorf("%s is not a valid version: %w", field.value, cause)
		}
	}
	return err
}

// checkCreation asks whether an API server creates a manifest. There must be no namespace, because OLM chooses it.
func (c *checker) checkCreation(m *manifest) {
	var object metav1.PartialObjectMetadata
	if ptr, err := decode(m.printed, &object); err != nil {
		c.reportAt(ruleManifestMetadata, m.document, ptr, "%w", err)
		return
	}
	anyName := func(string, bool) []string { return nil } // see below
	const namespaced = false
	meta := field.NewPath("metadata")
	reported := map[string]bool{}
	for _, err := range validation.ValidateObjectMeta(&object.ObjectMeta, namespaced, anyName, meta) {
		reported[err.Error()] = true
		c.reportAt(ruleManifestMetadata, m.document, fieldPointer(err.Field), "%s", fieldMessage(err))
	}
	o := admission.New(object.GroupVersionKind())
	if o == nil {
		return
	}
	if ptr, err := decode(m.printed, o); err != nil {
		c.reportAt(ruleRefused, m.document, ptr, "%w", err)
		return
	}
	for _, err := range admission.Create(o) {
		if !reported[err.Error()] {
			c.reportAt(ruleRefused, m.document, fieldPointer(err.Field), "%s", fieldMessage(err))
		}
	}
}

// fieldMessage returns the error of Kubernetes about a field, without the value if it is an object or a list: the
// problem has its position.
func fieldMessage(e *field.Error) string {
	switch reflect.ValueOf(e.BadValue).Kind() {
	case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
		e.BadValue = field.OmitValueType{}
	}
	return e.ErrorBody()
}

// fieldPointer turns a path such as spec.versions[0].name or metadata.labels[a.b] into a pointer.
func fieldPointer(path string) (ptr jsontext.Pointer) {
	for path != "" {
		end := strings.IndexAny(path, ".[")
		if path[0] == '[' {
			end = strings.IndexByte(path, ']')
		}
		if end < 0 {
			end = len(path)
		}
		ptr = ptr.AppendToken(strings.TrimPrefix(path[:end], "["))
		path = strings.TrimPrefix(strings.TrimPrefix(path[end:], "]"), ".")
	}
	return ptr
}

// checkObject checks that a manifest does not harm the cluster.
func (c *checker) checkObject(m *manifest) {
	switch m.kind {
	case "PodDisruptionBudget":
		var budget policyv1beta1.PodDisruptionBudget
		if !c.decodeObject(m, &budget) {
			return
		}
		// This budget would not allow to drain a node of the cluster.
		if most := budget.Spec.MaxUnavailable; most != nil && (most.IntVal == 0 && most.StrVal == "" || most.StrVal == "0%") {
			c.reportAt(ruleObject, m.document, "/spec/maxUnavailable", "no pod can ever be evicted")
		}
		if least := budget.Spec.MinAvailable; least != nil && least.StrVal == "100%" {
			c.reportAt(ruleObject, m.document, "/spec/minAvailable", "no pod can ever be evicted")
		}
	case "PriorityClass":
		var class schedulingv1.PriorityClass
		if c.decodeObject(m, &class) && class.GlobalDefault {
			c.reportAt(ruleObject, m.document, "/globalDefault",
				"the class would be the default for all pods of the cluster")
		}
	case "Role", "ClusterRole":
		var role rbacv1.ClusterRole
		if c.decodeObject(m, &role) {
			for i := range role.Rules {
				c.checkPermission(m, place.Item("/rules", i), &role.Rules[i])
			}
		}
	}
}

func (c *checker) decodeObject(m *manifest, v any) bool {
	ptr, err := decode(m.printed, v)
	if err != nil {
		c.reportAt(ruleObject, m.document, ptr, "%w", err)
	}
	return err == nil
}

// defaultConstraints are the security context constraints that an OpenShift cluster itself needs.
var defaultConstraints = []string{
	"privileged", "restricted", "anyuid", "hostaccess", "hostmount-anyuid", "hostnetwork", "node-exporter", "nonroot",
}

func (c *checker) checkPermission(m *manifest, ptr jsontext.Pointer, rule *rbacv1.PolicyRule) {
	grants := func(group, resource string, verbs ...string) bool {
		return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
			slices.ContainsFunc(rule.Verbs, func(v string) bool { return v == rbacv1.VerbAll || slices.Contains(verbs, v) })
	}
	if grants("policy", "poddisruptionbudgets", "create", "update", "patch") {
		c.reportAt(ruleObjectPermission, m.document, ptr, "can change disruption budgets, which can block node updates")
	}
	if grants("security.openshift.io", "securitycontextconstraints", "delete", "update", "patch") {
		names := slices.DeleteFunc(slices.Clone(rule.ResourceNames), func(name string) bool {
			return !slices.Contains(defaultConstraints, name)
		})
		if len(names) > 0 {
			c.reportAt(ruleObject, m.document, ptr, "can change constraints of the cluster itself: %s",
				strings.Join(names, ", "))
		}
	}
}

// checkDefinition makes the checks of Kubernetes for a new definition. Upstream ignores problems of schemas and of
// everything with status in its path, such as spec.subresources.status. They have a rule of their own, and are ignored
// in the older API, with which Kubernetes accepted them.
func (c *checker) checkDefinition(m *manifest) {
	internal, ptr, err := decodeCRD(m.apiVersion, m.printed)
	if err != nil {
		c.reportAt(ruleCRDType, m.document, ptr, "%w", err)
		return
	}
	for _, e := range admission.Definition(internal) {
		if e.Field == "status.storedVersions" {
			continue // no version is the storage version, which is reported
		}
		rule, ptr := ruleCRD, fieldPointer(e.Field)
		if strings.Contains(e.Field, "openAPIV3Schema") || strings.Contains(e.Field, "status") {
			rule = ruleRefused
		}
		if m.apiVersion == crdV1 {
			ptr = v1Pointer(ptr)
		} else if rule == ruleRefused {
			continue
		}
		c.reportAt(rule, m.document, ptr, "%s", fieldMessage(e))
	}
}

// v1Pointer translates the pointer to a field of the internal type, which Kubernetes checks, to v1. The internal type
// is similar to v1beta1: values that are equal in all versions are outside of the versions, and the fields of a webhook
// are not in an object of their own.
func v1Pointer(ptr jsontext.Pointer) jsontext.Pointer {
	for _, moved := range [][2]jsontext.Pointer{
		{"/spec/validation", "/spec/versions/0/schema"},
		{"/spec/subresources", "/spec/versions/0/subresources"},
		{"/spec/additionalPrinterColumns", "/spec/versions/0/additionalPrinterColumns"},
		{"/spec/selectableFields", "/spec/versions/0/selectableFields"},
		{"/spec/conversion/webhookClientConfig", "/spec/conversion/webhook/clientConfig"},
		{"/spec/conversion/conversionReviewVersions", "/spec/conversion/webhook/conversionReviewVersions"},
	} {
		if moved[0].Contains(ptr) {
			return moved[1] + ptr[len(moved[0]):]
		}
	}
	return ptr
}

// checkHubAPIs reports manifests whose API does not exist on any cluster on which the operator can be installed.
func (c *checker) checkHubAPIs() {
	least, err := semver.ParseTolerant(c.csv.Spec.MinKubeVersion)
	if err != nil || strings.TrimSpace(c.csv.Spec.MinKubeVersion) == "" {
		return
	}
	lowest := platform.Version{Major: least.Major, Minor: least.Minor}
	for _, m := range c.manifests {
		if removed, ok := platform.RemovedIn(m.apiVersion, m.kind); ok && !removed.After(lowest) {
			c.reportCSV(ruleHub, "/spec/minKubeVersion", "Kubernetes %s removed %s, the API of %s",
				removed, m.apiVersion, m.file)
		}
	}
}

// checkOwned compares the kinds that the ClusterServiceVersion owns with the kinds that manifests define. If a kind is
// owned in one version, manifests may define others.
func (c *checker) checkOwned() {
	defined := c.definedKinds()
	owned := make(map[declcfg.GVK]bool) // without versions, and defined
	for i, crd := range c.csv.Spec.CustomResourceDefinitions.Owned {
		plural, group, ok := strings.Cut(crd.Name, ".")
		if !ok {
			continue // reported with the examples
		}
		api := declcfg.GVK{Group: group, Version: crd.Version, Kind: crd.Kind}
		kind, ok := defined[api]
		switch {
		case !ok && c.incomplete: // it may be in a file that cannot be read
		case !ok:
			c.reportCSV(ruleCRDMissing, crdPointer("owned", i), "no manifest defines %s", kindText(api))
		case kind.plural != plural:
			c.reportCSV(ruleCRDMissing, crdPointer("owned", i), "no manifest defines %s as %q: %s has %q",
				kindText(api), plural, kind.file, kind.plural)
		}
		owned[anyVersion(api)] = owned[anyVersion(api)] || ok
	}
	for api, kind := range defined {
		if !owned[anyVersion(api)] {
			c.reportAt(ruleCRDNotOwned, kind.document, "/spec", "%s does not own %s", c.csvFile.file, kindText(api))
		}
	}
}

func anyVersion(api declcfg.GVK) declcfg.GVK { return declcfg.GVK{Group: api.Group, Kind: api.Kind} }

// A definedKind is a kind, which is the key of a map, by the manifest that defines it.
type definedKind struct {
	*manifest
	plural string
}

// definedKinds returns the kinds that manifests define.
func (c *checker) definedKinds() map[declcfg.GVK]definedKind {
	defined := make(map[declcfg.GVK]definedKind)
	for _, m := range c.manifests {
		if m.kind != kindCRD {
			continue
		}
		var d definition
		if _, err := decode(m.printed, &d); err != nil {
			continue // reported as crd-type
		}
		for _, api := range d.kinds(m.apiVersion) {
			if first, ok := defined[api]; ok {
				c.reportAt(ruleCRDTwice, m.document, "/spec", "%s is defined in %s", kindText(api), first.file)
				continue
			}
			defined[api] = definedKind{m, d.Spec.Names.Plural}
		}
	}
	return defined
}

// kinds returns the kinds that a definition of that API version defines.
func (d *definition) kinds(apiVersion string) []declcfg.GVK {
	spec := &d.Spec
	var all []declcfg.GVK
	add := func(version string) {
		all = append(all, declcfg.GVK{Group: spec.Group, Version: version, Kind: spec.Names.Kind})
	}
	for _, v := range spec.Versions {
		add(v.Name)
	}
	if apiVersion == crdV1beta1 && len(spec.Versions) == 0 && spec.Version != "" {
		add(spec.Version)
	}
	return all
}
