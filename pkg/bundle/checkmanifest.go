package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	olmrelease "github.com/operator-framework/api/pkg/lib/release"
	olmversion "github.com/operator-framework/api/pkg/lib/version"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An installableKind is a kind that OLM installs from a bundle of type registry+v1.
type installableKind struct {
	group      string // the API group that clusters serve it in
	namespaced bool
}

// installable is the list of kinds that both OLMs go by. They ignore the group when they decide, but nothing applies a
// kind of another group, such as a Role that is a custom resource.
var installable = map[string]installableKind{
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
)

// Installable reports whether OLM v1 installs manifests of a kind, and puts them into the namespace of the operator:
// all namespaced kinds but a VerticalPodAutoscaler, which keeps the namespace that it has.
func Installable(kind string) (namespaced, ok bool) {
	k, ok := installable[kind]
	return k.namespaced && kind != kindAutoscaler, ok
}

// InstallableByClassic reports the same of OLM Classic. It does not know a PodMonitor, and asks the cluster which kinds
// are in a namespace.
func InstallableByClassic(kind string) (namespaced, ok bool) {
	k, ok := installable[kind]
	if kind == kindPodMonitor {
		return false, false
	}
	return k.namespaced, ok
}

// CheckAPIVersion returns why a cluster does not accept a manifest of an installable kind, nil for other kinds: OLM v1
// finds no resource for it when it applies the bundle.
func CheckAPIVersion(apiVersion, kind string) error {
	k, ok := installable[kind]
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
		c.find("unreadable", m.document, "", "not a manifest: the object has no kind")
		return
	}
	if _, ok := Installable(m.kind); !ok && mediaType == MediaTypeRegistry {
		c.find("manifest-kind", m.document, "/kind", "OLM does not install a %s", m.kind)
		return
	}
	c.checkRemoved(m)
	switch m.kind {
	case kindCSV:
		c.decodeOne(m)
	case kindCRD:
		c.checkDefinition(m)
	default:
		if err := CheckAPIVersion(m.apiVersion, m.kind); err != nil {
			c.find("manifest-api", m.document, "/apiVersion", "%w", err)
		}
		c.checkObjectMeta(m)
	}
	if c.opts.BundleObjects {
		c.checkObject(m)
	}
}

// decodeOne decodes the ClusterServiceVersion, of which there is one.
func (c *checker) decodeOne(m *manifest) {
	if c.csvFile != nil {
		c.find("csv-count", m.document, "", "second %s: the first is in %s", kindCSV, c.csvFile.file)
		return
	}
	c.csvFile = m
	csv, ptr, err := decodeCSV(m.printed)
	if err != nil {
		c.find("csv-type", m.document, ptr, "%w", versionError(m.printed, ptr, err))
		return
	}
	c.csv = csv
}

// versionError returns why a version or a release at ptr is invalid, which err does not say.
func versionError(csv jsontext.Value, ptr jsontext.Pointer, err error) error {
	var versions struct {
		Spec struct {
			Version jsontext.Value `json:"version"`
			Release jsontext.Value `json:"release"`
		} `json:"spec"`
	}
	_, _ = decode(csv, &versions) // if it is not an object, ptr is another
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

// checkObjectMeta checks the metadata of any object. As in upstream its name may be anything, and it has no namespace:
// OLM chooses it.
func (c *checker) checkObjectMeta(m *manifest) {
	var object metav1.PartialObjectMetadata
	if ptr, err := decode(m.printed, &object); err != nil {
		c.find("manifest-metadata", m.document, ptr, "%w", err)
		return
	}
	anyName := func(string, bool) []string { return nil }
	const namespaced = false
	meta := field.NewPath("metadata")
	for _, err := range validation.ValidateObjectMeta(&object.ObjectMeta, namespaced, anyName, meta) {
		c.find("manifest-metadata", m.document, fieldPointer(err.Field), "%s", fieldMessage(err))
	}
}

// fieldMessage returns the error of Kubernetes about a field, without objects and lists, which have a place.
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
