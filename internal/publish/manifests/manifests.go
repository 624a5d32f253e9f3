// Package manifests generates the objects a cluster needs to run a catalog image, or to render many images.
//
//	set, err := manifests.New(manifests.Options{
//		Kind: manifests.CatalogSource, Name: "crafts", Namespace: "olm", Image: "quay.io/org/catalog:v1",
//	})
//	if err != nil {
//		return err // the cluster would refuse it
//	}
//	text, err := set.Text(manifests.YAML)
//
// The objects are the Go types of Kubernetes and OLM. A Helm chart has the same objects, with values in place of the
// image and the resources. That of a Deployment has names from the release, and values for all that differs between
// clusters.
package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Kind selects the objects to generate.
type Kind string

// The kinds.
const (
	CatalogSource  Kind = "catalogsource"  // for OLM Classic, which runs the catalog
	ClusterCatalog Kind = "clustercatalog" // for OLM v1, which reads it
	Deployment     Kind = "deployment"     // several replicas of opm, with a Service and so on
	RenderJob      Kind = "render-job"     // an indexed Job that renders references in shards
	Reader         Kind = "reader"         // a ClusterRole for opm itself, to read a live cluster
)

// Kinds returns the kinds that run a catalog.
func Kinds() []Kind { return []Kind{CatalogSource, ClusterCatalog, Deployment} }

// Options configure the generated objects. Kind and Name are required, and Image except for a Reader.
type Options struct {
	Kind      Kind
	Name      string
	Namespace string // "" for the namespace of the kubectl context
	Image     string // the catalog image or, to render, the image of this opm; with a tag or a digest
	Size      int64  // of the catalog's files, in bytes; determines the memory request

	// For CatalogSources and ClusterCatalogs.
	Priority     int32
	PollInterval time.Duration // the interval between checks of the tag for a new image; 0 disables polling

	// For CatalogSources.
	Security      string // legacy, restricted, or "" to follow the namespace
	ImageTemplate string // an image reference with the cluster version as a variable; see [catalogsource.ResolveImage]
	Program       bool   // the image is run as it is, without extractContent: it has the program that serves the catalog
	ClusterOpm    bool   // the cluster runs this opm, which can use the store in the image
	Template      []byte // of [ParseTemplate]: a CatalogSource with the further fields; nil for none
	DisplayName   string
	Publisher     string

	// For Deployments.
	Replicas    int32 // minimum
	MaxReplicas int32 // no autoscaler unless greater than Replicas

	HTTPPort       int32    // the port to serve HTTP on too; 0 for gRPC only
	HTTPProbes     bool     // probe over HTTP instead of gRPC
	ServiceMonitor bool     // add a ServiceMonitor, for the metrics
	AllowFrom      []string // the namespaces whose pods may connect; nil for all

	// WithCatalogSource adds a CatalogSource with the address of the Deployment's Service. It needs a Namespace.
	WithCatalogSource bool

	// For Readers.
	Rules []rbacv1.PolicyRule

	// For render Jobs.
	References []string // of images in registries
	Shards     int32    // the number of pods
	AuthSecret string   // a secret of type kubernetes.io/dockerconfigjson with registry credentials; "" for none
}

// A Set is a set of generated objects that belong together.
type Set struct {
	opts    Options
	objects []any
	trees   []map[string]any // of the objects
}

// New generates the objects. It returns an error for options that a cluster would refuse.
func New(opts Options) (*Set, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Set{opts: opts}
	switch opts.Kind {
	case CatalogSource:
		source, err := opts.catalogSource()
		if err != nil {
			return nil, err
		}
		s.objects = []any{source}
	case ClusterCatalog:
		s.objects = []any{opts.clusterCatalog()}
	case Deployment:
		s.objects = opts.deployment()
	case RenderJob:
		s.objects = opts.renderJob()
	case Reader:
		s.objects = []any{&rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: opts.Name},
			Rules:      opts.Rules,
		}}
	}
	for _, o := range s.objects {
		t, err := treeOf(o)
		if err != nil {
			return nil, err
		}
		s.trees = append(s.trees, t)
	}
	return s, nil
}

func (o *Options) check() error {
	if err := o.checkNames(); err != nil {
		return err
	}
	if o.Kind == Reader {
		return nil
	}
	if err := checkImage(o.Image); err != nil {
		return fmt.Errorf("image %q: %w", o.Image, err)
	}
	switch o.Kind {
	case CatalogSource, ClusterCatalog:
		return o.checkPolled()
	case Deployment:
		if o.Replicas < 1 {
			return fmt.Errorf("%d replicas, want at least 1", o.Replicas)
		}
		if o.WithCatalogSource && o.Namespace == "" {
			return errors.New("a CatalogSource with the address of the Service needs its namespace")
		}
		return o.checkHTTP()
	case RenderJob:
		return o.checkRenderJob()
	}
	return fmt.Errorf("unknown kind %q, want one of %q", o.Kind, Kinds())
}

func (o *Options) checkNames() error {
	if o.Namespace != "" {
		switch o.Kind {
		case ClusterCatalog:
			return fmt.Errorf("namespace %q: a ClusterCatalog has none", o.Namespace)
		case Reader:
			return fmt.Errorf("namespace %q: a ClusterRole has none", o.Namespace)
		}
		if err := k8sname.Label(o.Namespace); err != nil {
			return fmt.Errorf("namespace %q: %w", o.Namespace, err)
		}
	}
	if err := k8sname.Subdomain(o.Name); err != nil {
		return fmt.Errorf("name %q: %w", o.Name, err)
	}
	service := o.Name
	switch o.Kind {
	case ClusterCatalog, RenderJob, Reader:
		return nil
	case CatalogSource:
		service = strings.ReplaceAll(service, ".", "-") // as OLM does
	}
	if wrong := validation.IsDNS1035Label(service); wrong != nil {
		return fmt.Errorf("name %q, of which the Service gets its own: %s", o.Name, wrong[0])
	}
	return nil
}

// checkImage checks that ref is complete, so that it names the same image in every cluster.
func checkImage(ref string) error {
	parsed, err := image.ParseReference(ref)
	if err == nil && !strings.HasSuffix(ref, parsed.Identifier()) {
		err = errors.New("want a tag or a digest")
	}
	return err
}

func isDigest(ref string) bool { return strings.Contains(ref, "@") }

func (o *Options) checkPolled() error {
	switch {
	case !slices.Contains([]string{"", "legacy", "restricted"}, o.Security):
		return fmt.Errorf("security %q: want legacy or restricted", o.Security)
	case o.PollInterval < 0:
		return fmt.Errorf("poll interval %v: want more than 0", o.PollInterval)
	case o.PollInterval > 0 && isDigest(o.Image):
		return fmt.Errorf("poll interval %v: there is never another image with the digest of %s", o.PollInterval, o.Image)
	case o.Kind == ClusterCatalog && o.PollInterval%time.Minute != 0:
		return fmt.Errorf("poll interval %v: a ClusterCatalog counts whole minutes", o.PollInterval)
	case o.ImageTemplate == "":
		return nil
	}
	if r := catalogsource.ResolveImage(o.ImageTemplate, version.MajorMinor(1, 30)); !r.Resolved {
		return fmt.Errorf("image template %q: %s", o.ImageTemplate, r.Conditions[0].Message)
	}
	return nil
}
