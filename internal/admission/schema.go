package admission

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Schema is the compiled schema of a version of a custom resource.
type Schema struct {
	Structural *structural.Structural
	validator  validation.SchemaValidator
}

// NewSchema compiles a schema. The error is about a schema that no API server accepts.
func NewSchema(props *apiextensions.JSONSchemaProps) (*Schema, error) {
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(props)
	if err != nil {
		return nil, err
	}
	return &Schema{s, validator}, nil
}

// Check returns the errors with which an API server refuses to create a custom resource, without those of CEL rules.
// Like the API server, it first removes unknown fields from the content, and adds defaults.
func (s *Schema) Check(content map[string]any) field.ErrorList {
	pruning.Prune(content, s.Structural, true)
	defaulting.Default(content, s.Structural)
	errs := validation.ValidateCustomResource(nil, content, s.validator)
	return append(errs, listtype.ValidateListSetsAndMaps(nil, s.Structural, content)...)
}

// csvSchema is the schema of ClusterServiceVersions in github.com/operator-framework/api/crds, without the status and
// without descriptions. It takes a hundredth of the time to read.
//
//go:embed csvschema.json
var csvSchema []byte

var compiledCSVSchema = sync.OnceValue(func() *Schema {
	var props apiextensionsv1.JSONSchemaProps
	internal := new(apiextensions.JSONSchemaProps)
	err := json.Unmarshal(csvSchema, &props)
	if err == nil {
		err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal, nil)
	}
	var schema *Schema
	if err == nil {
		schema, err = NewSchema(internal)
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return schema
})

// checkClusterServiceVersion checks the object as the client of OLM Classic sends it: a list without omitempty that is
// not set is null, which the schema does not allow. The only CEL rules are about the release, which was decoded.
func checkClusterServiceVersion(csv *v1alpha1.ClusterServiceVersion) field.ErrorList {
	var content map[string]any
	sent, err := json.Marshal(csv)
	if err == nil {
		err = utiljson.Unmarshal(sent, &content)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	delete(content, "status") // the API server ignores it
	return compiledCSVSchema().Check(content)
}
