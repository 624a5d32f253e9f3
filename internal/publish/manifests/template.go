package manifests

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/internal/strictyaml"
)

// ParseTemplate reads the template of a CatalogSource from a YAML or JSON file, and returns it as JSON. It is a
// CatalogSource of type grpc, by the rules of oc-mirror; name and image are not required. Errors have positions.
func ParseTemplate(file string, text []byte) ([]byte, error) {
	var source v1alpha1.CatalogSource
	parsed, err := strictyaml.Unmarshal(file, text, &source)
	if err != nil {
		return nil, err
	}
	var errs []error
	want := func(ok bool, f func() error) {
		if !ok {
			errs = append(errs, f())
		}
	}
	want(source.APIVersion == v1alpha1.CatalogSourceCRDAPIVersion, func() error {
		return parsed.Errorf("/apiVersion", "want %s, found %q", v1alpha1.CatalogSourceCRDAPIVersion, source.APIVersion)
	})
	want(source.Kind == v1alpha1.CatalogSourceKind, func() error {
		return parsed.Errorf("/kind", "want a %s, found %q", v1alpha1.CatalogSourceKind, source.Kind)
	})
	want(source.Spec.SourceType == "" || source.Spec.SourceType == v1alpha1.SourceTypeGrpc, func() error {
		return parsed.Errorf("/spec/sourceType", "want %s, found %q", v1alpha1.SourceTypeGrpc, source.Spec.SourceType)
	})
	want(source.Spec.ConfigMap == "", func() error {
		return parsed.Errorf("/spec/configMap", "remove this: the catalog is an image")
	})
	want(source.Spec.Address == "", func() error {
		return parsed.Errorf("/spec/address", "remove this: the catalog is an image")
	})
	return parsed.JSON(), errors.Join(errs...)
}

// fromTemplate returns the CatalogSource of the template, which is empty for no template.
func (o *Options) fromTemplate() (*v1alpha1.CatalogSource, error) {
	source := new(v1alpha1.CatalogSource)
	if o.Template == nil {
		return source, nil
	}
	if err := json.Unmarshal(o.Template, source); err != nil {
		return nil, fmt.Errorf("template of the CatalogSource: %w", err)
	}
	source.Status = v1alpha1.CatalogSourceStatus{}
	return source, nil
}
