package manifests

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/catalogsource"
)

// Directories of the catalog and its store in a catalog image.
const (
	catalogDir = "/configs"
	cacheDir   = "/tmp/cache"
)

func (o *Options) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace}
}

// catalogSource sets extractContent, so that the cluster's opm serves the catalog whatever else is in the image, unless
// the image is run as it is. The template has further fields.
func (o *Options) catalogSource() (*v1alpha1.CatalogSource, error) {
	source, err := o.fromTemplate()
	if err != nil {
		return nil, err
	}
	pod := source.Spec.GrpcPodConfig
	if pod == nil {
		pod = new(v1alpha1.GrpcPodConfig)
	}
	pod.SecurityContextConfig = cmp.Or(v1alpha1.SecurityConfig(o.Security), pod.SecurityContextConfig)
	pod.ExtractContent = &v1alpha1.ExtractContentConfig{CatalogDir: catalogDir}
	if o.Program {
		pod.ExtractContent = nil
	} else if o.ClusterOpm { // upstream's opm refuses our store and needs more memory
		pod.ExtractContent.CacheDir = cacheDir
		memory := memoryRequest(o.Size)
		pod.MemoryTarget = &memory
	}
	o.fill(source)
	source.Spec.Image, source.Spec.GrpcPodConfig = o.Image, pod
	if reflect.ValueOf(*pod).IsZero() {
		source.Spec.GrpcPodConfig = nil
	}
	if o.ImageTemplate != "" {
		if source.Annotations == nil {
			source.Annotations = map[string]string{}
		}
		source.Annotations[catalogsource.TemplateAnnotation] = o.ImageTemplate
	}
	if o.PollInterval > 0 {
		source.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{
			RegistryPoll: &v1alpha1.RegistryPoll{RawInterval: o.PollInterval.String()},
		}
	}
	return source, nil
}

// addressedCatalogSource returns a CatalogSource with the address of the Deployment's Service.
func (o *Options) addressedCatalogSource() *v1alpha1.CatalogSource {
	source := new(v1alpha1.CatalogSource)
	o.fill(source)
	source.Spec.Address = fmt.Sprintf("%s.%s.svc:%d", o.Name, o.Namespace, catalogsource.Port)
	return source
}

// fill sets the fields of a CatalogSource that do not depend on its address. An empty option leaves a field as it is.
func (o *Options) fill(source *v1alpha1.CatalogSource) {
	source.TypeMeta = typeMeta(v1alpha1.CatalogSourceCRDAPIVersion, v1alpha1.CatalogSourceKind)
	source.Name, source.Namespace = o.Name, cmp.Or(o.Namespace, source.Namespace)
	spec := &source.Spec
	spec.SourceType, spec.Priority = v1alpha1.SourceTypeGrpc, cmp.Or(int(o.Priority), spec.Priority)
	spec.DisplayName, spec.Publisher = cmp.Or(o.DisplayName, spec.DisplayName), cmp.Or(o.Publisher, spec.Publisher)
}

// clusterCatalog returns a ClusterCatalog of OLM v1, without its type: the Go module of the API has too many
// dependencies.
func (o *Options) clusterCatalog() tree {
	image := tree{"ref": o.Image}
	if minutes := int(o.PollInterval / time.Minute); minutes != 0 {
		image["pollIntervalMinutes"] = minutes
	}
	spec := tree{"source": tree{"type": "Image", "image": image}}
	if o.Priority != 0 {
		spec["priority"] = o.Priority
	}
	return tree{
		"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": o.meta(), "spec": spec,
	}
}
