package installmode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// CheckConfig returns the error with which OLM refuses the inline configuration of a ClusterExtension, or nil. config
// is a JSON value; nil means that the ClusterExtension has no configuration, which OLM reads as {}. The operator has
// these modes and is installed in the namespace installed.
//
// OLM states the rules as a JSON Schema. The order and the wording of its errors depend on the library that checks it,
// so the same library is used here. The only field is watchNamespace: deploymentConfig needs the feature gate
// DeploymentConfig, which is off.
func (m Modes) CheckConfig(config []byte, installed string) error {
	if config == nil {
		config = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		return invalidConfig(err)
	}
	schema, err := m.configSchema(installed)
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return invalidConfig(describe(err))
	}
	return nil
}

// ConfigOf returns the inline configuration with which an operator watches one namespace, which need not be valid.
func ConfigOf(namespace string) jsontext.Value {
	config, _ := jsontext.AppendQuote([]byte(`{"`+watchNamespace+`":`), namespace)
	return append(config, '}')
}

func invalidConfig(err error) error {
	return fmt.Errorf("invalid ClusterExtension configuration: invalid configuration: %w", err)
}

// The formats of watchNamespace, for operators that support only one of the two modes.
const (
	ownFormat    = "ownNamespaceInstallMode"
	singleFormat = "singleNamespaceInstallMode"
)

const watchNamespace = "watchNamespace"

// configSchema returns the schema of the configuration.
func (m Modes) configSchema(installed string) (*jsonschema.Schema, error) {
	namespace := map[string]any{
		"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
	}
	switch {
	case m.Own && !m.Single:
		namespace["format"] = ownFormat
	case m.Single && !m.Own:
		namespace["format"] = singleFormat
	}
	properties := map[string]any{}
	config := map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": properties,
		"additionalProperties": false,
	}
	switch {
	case !m.Own && !m.Single:
	case m.All:
		properties[watchNamespace] = map[string]any{"anyOf": []any{map[string]any{"type": "null"}, namespace}}
	default:
		properties[watchNamespace] = namespace
		config["required"] = []any{watchNamespace}
	}
	return compile(config, installed)
}

func compile(schema map[string]any, installed string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.RegisterFormat(&jsonschema.Format{Name: ownFormat, Validate: func(v any) error {
		if v != installed {
			return fmt.Errorf("invalid value %q: must be %q (the namespace where the operator is installed) "+
				"because this operator only supports OwnNamespace install mode", v, installed)
		}
		return nil
	}})
	c.RegisterFormat(&jsonschema.Format{Name: singleFormat, Validate: func(v any) error {
		if v == installed {
			return fmt.Errorf("invalid value %q: must be different from %q (the install namespace) "+
				"because this operator uses SingleNamespace install mode to watch a different namespace", v, installed)
		}
		return nil
	}})
	const url = "config:schema"
	if err := c.AddResource(url, schema); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// describe returns the errors of the library in the wording of OLM.
func describe(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	var messages []string
	for _, unit := range invalid.BasicOutput().Errors {
		messages = append(messages, message(unit))
	}
	if len(messages) == 1 {
		return errors.New(messages[0])
	}
	const next = "\n  - "
	return errors.New("multiple errors found:" + next + strings.Join(messages, next))
}

// message returns the message of OLM for one error. An error about the configuration itself has no field.
func message(unit jsonschema.OutputUnit) string {
	text := unit.Error.String()
	field := strings.ReplaceAll(strings.TrimPrefix(unit.InstanceLocation, "/"), "/", ".")
	switch k := unit.Error.Kind.(type) {
	case *kind.Required:
		return fmt.Sprintf("required field %q is missing", k.Missing[0])
	case *kind.AdditionalProperties:
		return fmt.Sprintf("unknown field %q", slices.Min(k.Properties)) // OLM names any of them
	case *kind.Type:
		switch {
		case field == "":
			return "invalid type: " + text
		case k.Got == "null":
			return fmt.Sprintf("required field %q is missing", field)
		}
		return fmt.Sprintf("invalid type for field %q: %s", field, text)
	case *kind.Format:
		return fmt.Sprintf("invalid format for field %q: %s", field, text)
	case *kind.AnyOf:
		return fmt.Sprintf("invalid value for field %q", field)
	case *kind.MinLength:
		return fmt.Sprintf("field %q must have minimum length of %d (len=%d)", field, k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("field %q must have maximum length of %d (len=%d)", field, k.Want, k.Got)
	case *kind.Pattern:
		return fmt.Sprintf("field %q must match pattern %q", field, k.Want)
	}
	return text
}
