package bundle

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	olmrelease "github.com/operator-framework/api/pkg/lib/release"
	olmversion "github.com/operator-framework/api/pkg/lib/version"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// installable are the kinds that OLM installs from a bundle of type registry+v1, whatever their API. Those with true
// are in a namespace.
var installable = map[string]bool{
	kindCSV:               true,
	kindCRD:               false,
	"ClusterRole":         false,
	"ClusterRoleBinding":  false,
	"Role":                true,
	"RoleBinding":         true,
	"Service":             true,
	"ServiceAccount":      true,
	"Secret":              true,
	"ConfigMap":           true,
	"PrometheusRule":      true,
	"ServiceMonitor":      true,
	kindPodMonitor:        true,
	"PodDisruptionBudget": true,
	"PriorityClass":       false,
	kindAutoscaler:        true,
	"ConsoleYAMLSample":   false,
	"ConsoleQuickStart":   false,
	"ConsoleCLIDownload":  false,
	"ConsoleLink":         false,
	"ConsolePlugin":       false,
	"NetworkPolicy":       true,
}

// The kinds that OLM Classic and OLM v1 treat differently.
const (
	kindPodMonitor = "PodMonitor"
	kindAutoscaler = "VerticalPodAutoscaler"
)

// Installable reports whether OLM v1 installs manifests of a kind, and puts them into the namespace of the operator:
// all that are in one but a VerticalPodAutoscaler, which keeps the namespace that it has.
func Installable(kind string) (namespaced, ok bool) {
	namespaced, ok = installable[kind]
	return namespaced && kind != kindAutoscaler, ok
}

// InstallableByClassic reports the same of OLM Classic. It does not know a PodMonitor, and asks the cluster which kinds
// are in a namespace.
func InstallableByClassic(kind string) (namespaced, ok bool) {
	if kind == kindPodMonitor {
		return false, false
	}
	namespaced, ok = installable[kind]
	return namespaced, ok
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
