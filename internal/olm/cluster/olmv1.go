package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opm-toolchain/opm/internal/resolve"
)

// Unavailable is the availabilityMode of a ClusterCatalog that OLM v1 ignores.
const Unavailable = "Unavailable"

// Values of fields in the API.
const (
	sourceCatalog = "Catalog"
	selfCertified = "SelfCertified"
)

// A Catalog is a ClusterCatalog of OLM v1. It declares all fields of the spec, and the fields of the status that matter
// to resolution. Others are kept in Unknown. The Go module of the API has too many dependencies for two types.
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Priority         int32  `json:"priority,omitzero"`
		AvailabilityMode string `json:"availabilityMode,omitzero"` // "" is Available
		Source           struct {
			Type    string         `json:"type,omitzero"`
			Image   ImageSource    `json:"image,omitzero"`
			Unknown jsontext.Value `json:",embed"`
		} `json:"source"`
		Unknown jsontext.Value `json:",embed"`
	} `json:"spec"`
	Status struct {
		Conditions     []metav1.Condition `json:"conditions,omitempty"`
		ResolvedSource struct {
			Image   ImageSource    `json:"image,omitzero"`
			Unknown jsontext.Value `json:",embed"`
		} `json:"resolvedSource,omitzero"`
		Unknown jsontext.Value `json:",embed"`
	} `json:"status,omitzero"`
}

// An ImageSource is the image of a ClusterCatalog.
type ImageSource struct {
	Ref                 string         `json:"ref"`
	PollIntervalMinutes jsontext.Value `json:"pollIntervalMinutes,omitzero"`
	Unknown             jsontext.Value `json:",embed"`
}

// An Extension is a ClusterExtension of OLM v1, declared like a Catalog.
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name    string         `json:"name"`
			Unknown jsontext.Value `json:",embed"`
		} `json:"serviceAccount,omitzero"`
		Source struct {
			SourceType string         `json:"sourceType"`
			Catalog    *CatalogFilter `json:"catalog,omitempty"`
			Unknown    jsontext.Value `json:",embed"`
		} `json:"source"`
		Config *struct {
			ConfigType string         `json:"configType"`
			Inline     jsontext.Value `json:"inline,omitempty"`
			Unknown    jsontext.Value `json:",embed"`
		} `json:"config,omitempty"`
		Install *struct {
			Preflight *struct {
				CRDUpgradeSafety *struct {
					Enforcement string         `json:"enforcement"`
					Unknown     jsontext.Value `json:",embed"`
				} `json:"crdUpgradeSafety,omitempty"`
				Unknown jsontext.Value `json:",embed"`
			} `json:"preflight,omitempty"`
			Unknown jsontext.Value `json:",embed"`
		} `json:"install,omitempty"`
		ProgressDeadlineMinutes jsontext.Value `json:"progressDeadlineMinutes,omitzero"`
		Unknown                 jsontext.Value `json:",embed"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		Install    struct {
			Bundle struct {
				Name    string         `json:"name"` // "" if nothing is installed
				Version string         `json:"version"`
				Release string         `json:"release,omitzero"`
				Unknown jsontext.Value `json:",embed"`
			} `json:"bundle"`
			Unknown jsontext.Value `json:",embed"`
		} `json:"install,omitzero"`
		Unknown jsontext.Value `json:",embed"`
	} `json:"status,omitzero"`
}

// A CatalogFilter selects the bundles that a ClusterExtension accepts.
type CatalogFilter struct {
	PackageName             string                `json:"packageName"`
	Version                 *string               `json:"version,omitempty"` // nil is any version
	Channels                []string              `json:"channels,omitempty"`
	Selector                *metav1.LabelSelector `json:"selector,omitempty"`
	UpgradeConstraintPolicy string                `json:"upgradeConstraintPolicy,omitzero"` // "" is CatalogProvided
	Unknown                 jsontext.Value        `json:",embed"`
}

// DeepCopyObject returns a copy that shares the spec, as runtime.Object requires.
func (c *Catalog) DeepCopyObject() runtime.Object {
	clone := *c
	clone.ObjectMeta, clone.Status.Conditions = *c.ObjectMeta.DeepCopy(), slices.Clone(c.Status.Conditions)
	return &clone
}

// DeepCopyObject returns a copy that shares the spec, as runtime.Object requires.
func (e *Extension) DeepCopyObject() runtime.Object {
	clone := *e
	clone.ObjectMeta, clone.Status.Conditions = *e.ObjectMeta.DeepCopy(), slices.Clone(e.Status.Conditions)
	return &clone
}

func (c *Catalog) check() flaws {
	var all flaws
	if t := c.Spec.Source.Type; t != "" && t != "Image" {
		all = append(all, flaw{"/spec/source/type", fmt.Errorf("want Image, found %q", t)})
	}
	switch c.Spec.AvailabilityMode {
	case "", "Available", Unavailable:
		return all
	}
	return append(all, flaw{
		"/spec/availabilityMode", fmt.Errorf("want Available or Unavailable, found %q", c.Spec.AvailabilityMode),
	})
}

// check returns the problems for which a cluster would reject the ClusterExtension.
func (e *Extension) check() flaws {
	all := flaws(nil).require("/spec/namespace", e.Spec.Namespace).
		require("/spec/source/sourceType", e.Spec.Source.SourceType)
	switch source := e.Spec.Source.SourceType; source {
	case sourceCatalog:
	case "":
		return all
	default:
		return append(all, flaw{"/spec/source/sourceType", fmt.Errorf("want %s, found %q", sourceCatalog, source)})
	}
	all = append(all, e.checkConfig()...)
	all = append(all, e.checkInstall()...)
	if e.Spec.Source.Catalog == nil {
		return append(all, flaw{"/spec/source/catalog", errors.New("required for the sourceType Catalog")})
	}
	if v := e.Spec.Source.Catalog.Version; v != nil && *v == "" {
		all = append(all, flaw{"/spec/source/catalog/version", errors.New("want a version range, or no version")})
	}
	switch policy := e.Spec.Source.Catalog.UpgradeConstraintPolicy; policy {
	case "", "CatalogProvided", selfCertified:
	default:
		all = append(all, flaw{
			"/spec/source/catalog/upgradeConstraintPolicy",
			fmt.Errorf("want CatalogProvided or SelfCertified, found %q", policy),
		})
	}
	for _, err := range e.Request().Admit() {
		path := strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(err.Field)
		all = append(all, flaw{jsontext.Pointer("/" + path), errors.New(err.ErrorBody())})
	}
	return all
}

// checkInstall returns the problem for which a cluster would reject the check of CustomResourceDefinitions.
func (e *Extension) checkInstall() flaws {
	i := e.Spec.Install
	if i == nil || i.Preflight == nil || i.Preflight.CRDUpgradeSafety == nil {
		return nil
	}
	switch enforcement := i.Preflight.CRDUpgradeSafety.Enforcement; enforcement {
	case "None", "Strict":
		return nil
	default:
		return flaws{{
			"/spec/install/preflight/crdUpgradeSafety/enforcement", fmt.Errorf("want None or Strict, found %q", enforcement),
		}}
	}
}

// checkConfig returns the problem for which a cluster would reject the configuration.
func (e *Extension) checkConfig() flaws {
	c := e.Spec.Config
	if c == nil {
		return nil
	}
	if c.ConfigType != "Inline" {
		return flaws{{"/spec/config/configType", fmt.Errorf("want Inline, found %q", c.ConfigType)}}
	}
	const inline = "/spec/config/inline"
	var fields map[string]jsontext.Value
	if c.Inline.Kind() != jsontext.KindBeginObject || json.Unmarshal(c.Inline, &fields) != nil {
		return flaws{{inline, errors.New("want an object")}}
	}
	if len(fields) == 0 {
		return flaws{{inline, errors.New("want at least one field")}}
	}
	return nil
}

// Request returns the resolution request of the ClusterExtension, nil if it names an image instead of a package.
func (e *Extension) Request() *resolve.V1Request {
	filter := e.Spec.Source.Catalog
	if e.Spec.Source.SourceType != sourceCatalog || filter == nil {
		return nil
	}
	var version string
	if filter.Version != nil {
		version = *filter.Version
	}
	q := &resolve.V1Request{
		Name: e.Name, Package: filter.PackageName, Version: version, Channels: filter.Channels,
		Selector: filter.Selector, SelfCertified: filter.UpgradeConstraintPolicy == selfCertified,
		Namespace: e.Spec.Namespace,
	}
	if e.Spec.Config != nil {
		q.Config = e.Spec.Config.Inline
	}
	if b := e.Status.Install.Bundle; b.Name != "" {
		q.Installed = &resolve.InstalledBundle{Name: b.Name, Version: b.Version, Release: b.Release, Image: e.image()}
	}
	return q
}

// image returns the image of the installed bundle, "" if it is not known. Only the message of a condition has it.
func (e *Extension) image() string {
	for _, c := range e.Status.Conditions {
		if c.Type == "Installed" && c.Status == metav1.ConditionTrue {
			image, ok := strings.CutPrefix(c.Message, "Installed bundle ")
			image, ok2 := strings.CutSuffix(image, " successfully")
			if ok && ok2 {
				return image
			}
		}
	}
	return ""
}
