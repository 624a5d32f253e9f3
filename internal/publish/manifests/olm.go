package manifests

import (
	"fmt"
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

// catalogSource sets extractContent, so that the cluster's opm serves the catalog whatever else is in the image.
func (o *Options) catalogSource() *v1alpha1.CatalogSource {
	pod := &v1alpha1.GrpcPodConfig{
		SecurityContextConfig: v1alpha1.SecurityConfig(o.Security),
		ExtractContent:        &v1alpha1.ExtractContentConfig{CatalogDir: catalogDir},
	}
	if o.ClusterOpm { // upstream's opm refuses our store and needs more memory
		pod.ExtractContent.CacheDir = cacheDir
		memory := memoryRequest(o.Size)
		pod.MemoryTarget = &memory
	}
	source := o.newCatalogSource()
	source.Spec.Image, source.Spec.GrpcPodConfig = o.Image, pod
	if o.ImageTemplate != "" {
		source.Annotations = map[string]string{catalogsource.TemplateAnnotation: o.ImageTemplate}
	}
	if o.PollInterval > 0 {
		source.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{
			RegistryPoll: &v1alpha1.RegistryPoll{RawInterval: o.PollInterval.String()},
		}
	}
	return source
}

// addressedCatalogSource returns a CatalogSource with the address of the Deployment's Service.
func (o *Options) addressedCatalogSource() *v1alpha1.CatalogSource {
	source := o.newCatalogSource()
	source.Spec.Address = fmt.Sprintf("%s.%s.svc:%d", o.Name, o.Namespace, grpcPort)
	return source
}

func (o *Options) newCatalogSource() *v1alpha1.CatalogSource {
	return &v1alpha1.CatalogSource{
		TypeMeta:   typeMeta(v1alpha1.CatalogSourceCRDAPIVersion, v1alpha1.CatalogSourceKind),
		ObjectMeta: o.meta(),
		Spec: v1alpha1.CatalogSourceSpec{
			SourceType: v1alpha1.SourceTypeGrpc, Priority: int(o.Priority), DisplayName: o.DisplayName, Publisher: o.Publisher,
		},
	}
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
