package manifests

import (
	"fmt"
	"time"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
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
func (o *Options) catalogSource() object {
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
	return object{v1alpha1.CatalogSourceKind, source}
}

// addressedCatalogSource returns a CatalogSource with the address of the Deployment's Service.
func (o *Options) addressedCatalogSource() object {
	source := o.newCatalogSource()
	source.Spec.Address = fmt.Sprintf("%s.%s.svc:%d", o.Name, o.Namespace, grpcPort)
	return object{v1alpha1.CatalogSourceKind, source}
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

// A clusterCatalog is a ClusterCatalog of OLM v1, with the generated fields only. The Go module of the API has too
// many dependencies for one type.
type clusterCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec clusterCatalogSpec `json:"spec"`
}

type clusterCatalogSpec struct {
	Priority int32 `json:"priority,omitempty"`
	Source   struct {
		Type  string `json:"type"`
		Image struct {
			Ref                 string `json:"ref"`
			PollIntervalMinutes int    `json:"pollIntervalMinutes,omitempty"`
		} `json:"image"`
	} `json:"source"`
}

func (o *Options) clusterCatalog() object {
	const kind = "ClusterCatalog"
	c := &clusterCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: "olm.operatorframework.io/v1", Kind: kind},
		ObjectMeta: o.meta(),
		Spec:       clusterCatalogSpec{Priority: o.Priority},
	}
	c.Spec.Source.Type = "Image"
	c.Spec.Source.Image.Ref = o.Image
	c.Spec.Source.Image.PollIntervalMinutes = int(o.PollInterval / time.Minute)
	return object{kind, c}
}
