package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/resolve"
)

// A Content is the contents of a catalog of a cluster, or the reason why they could not be read.
type Content struct {
	Origin
	Catalog   *resolve.Catalog // from a registry or a pod, of any name; nil if it is not read, or given by the user
	ConfigMap bool             // the contents are a ConfigMap, and the Image is ""
}

// An Origin says where the contents of a catalog are from.
type Origin struct {
	Kind      string `json:"kind"` // CatalogSource or ClusterCatalog
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	From      Store  `json:"from"`
	Image     string `json:"image,omitempty"` // the reference in a registry; "" if the State has none
	Note      string `json:"note,omitempty"`  // says why it is this image
	Pod       string `json:"pod,omitempty"`   // the pod that serves it, in its namespace; "" if the State has none
	Error     string `json:"error,omitempty"` // why the contents could not be read, or not from the registry
}

// A Store has the contents of a catalog.
type Store string

// The Stores.
const (
	FromNowhere  Store = "none"
	FromFlag     Store = "flag"     // given by the user
	FromRegistry Store = "registry" // the image of the catalog
	FromPod      Store = "pod"      // the registry service of the pod
)

// Object returns the kind and the name: CatalogSource olm/crafts.
func (o *Origin) Object() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Text describes the origin in words.
func (o *Origin) Text() string {
	text := "none"
	switch o.From {
	case FromFlag:
		return "given by --catalog"
	case FromRegistry:
		text = o.Image + ", " + o.Note
	case FromPod:
		text = "served by pod " + o.Pod
	}
	if o.Error != "" {
		text += "; " + o.Error
	}
	return text
}

// matches reports whether the Origin is about a catalog.
func (o *Origin) matches(c *resolve.Catalog) bool {
	return o.Namespace == c.Namespace && o.Name == c.Name
}

// Origins returns the origins of contents, nil if there are none.
func Origins(contents []*Content) []Origin {
	var all []Origin
	for _, c := range contents {
		all = append(all, c.Origin)
	}
	return all
}

// Contents returns the catalogs on which the resolution depends, without their contents: the CatalogSources that a
// Subscription can see, by namespace and name, and then the available ClusterCatalogs, if there is a ClusterExtension,
// by name. Those in opts.Catalogs are from a flag, and the others from nowhere, with the Image and the Pod from which
// to read them. An Image without a tag and a digest gets the tag latest, as in Kubernetes.
func Contents(s *cluster.State, opts Options) []*Content {
	r, _ := NewRequest(s, opts) // a name that does not exist is an error of its user
	var all []*Content
	namespaces := r.Subscriptions.Namespaces()
	for o := range s.CatalogSources.All() {
		isSeen := func(namespace string) bool { return r.Sees(namespace, o.Value.Namespace) }
		if slices.ContainsFunc(namespaces, isSeen) {
			c := contentOf(r.target(o.Value.Namespace, o.Value.Name), v1alpha1.CatalogSourceKind)
			if c.From == FromNowhere {
				c.locate(s, o.Value)
			}
			all = append(all, c)
		}
	}
	if s.ClusterExtensions.Len() == 0 {
		return all
	}
	for o := range s.ClusterCatalogs.All() {
		i := slices.IndexFunc(r.clusterCatalogs, func(c *resolve.Catalog) bool { return c.Name == o.Value.Name })
		if r.clusterCatalogs[i].Unavailable {
			continue
		}
		c := contentOf(r.clusterCatalogs[i], "ClusterCatalog")
		if c.From == FromNowhere {
			c.resolved(o.Value)
		}
		all = append(all, c)
	}
	return all
}

func contentOf(c *resolve.Catalog, kind string) *Content {
	content := &Content{Origin: Origin{Kind: kind, Namespace: c.Namespace, Name: c.Name, From: FromNowhere}}
	if c.Index != nil {
		content.From = FromFlag
	}
	return content
}

// locate sets the image and the pod of a CatalogSource.
func (c *Content) locate(s *cluster.State, source *v1alpha1.CatalogSource) {
	pods := catalogPods(s, source)
	if c.ConfigMap = catalogsource.FromConfigMap(source); c.ConfigMap {
		if len(pods) > 0 {
			c.Pod = pods[0].Name
		}
		return
	}
	c.Image = catalogsource.Complete(source.Spec.Image)
	if len(pods) == 0 {
		c.Note = noDigest(c.Image, "the state has no pod of it")
		return
	}
	c.Pod, c.Note = pods[0].Name, noDigest(c.Image, "pod "+pods[0].Name+" does not say its digest")
	for _, pod := range pods {
		if image := catalogsource.RunningImage(pod); image != "" {
			c.Image, c.Pod, c.Note = image, pod.Name, "which pod "+pod.Name+" runs"
			return
		}
	}
}

// resolved sets the image of a ClusterCatalog.
func (c *Content) resolved(catalog *cluster.Catalog) {
	c.Image, c.Note = catalog.Status.ResolvedSource.Image.Ref, "which the cluster has resolved"
	if c.Image == "" {
		c.Image = catalogsource.Complete(catalog.Spec.Source.Image.Ref)
		c.Note = noDigest(c.Image, "the status has no digest")
	}
}

// noDigest explains the image of a spec.
func noDigest(image, why string) string {
	if strings.Contains(image, "@") {
		return "the image of its spec"
	}
	return "as the tag is now: " + why
}

var podKind = schema.GroupKind{Kind: "Pod"}

// catalogPods returns the pods that serve the current image of a CatalogSource: running ones first, and then the
// newest.
func catalogPods(s *cluster.State, source *v1alpha1.CatalogSource) []*corev1.Pod {
	var pods []*corev1.Pod
	for o := range s.In(podKind, source.Namespace) {
		pod := new(corev1.Pod)
		ofSource := o.Value.GetLabels()[catalogsource.LabelName] == source.Name
		if ofSource && cluster.As(o.Value, pod) == nil && catalogsource.Serves(pod, source) {
			pods = append(pods, pod)
		}
	}
	rank := func(pod *corev1.Pod) int {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
	})
	return pods
}
