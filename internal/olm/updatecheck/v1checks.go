package updatecheck

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/validations"
)

// ourChecks are checks in addition to those of crdify v0.6.0: oneOf, which later versions have, and replacements for
// two checks whose messages differ from run to run, so that equal findings could not be recognized by their text. The
// check unhandled must be the last.
var ourChecks = []validations.Comparator[props]{
	check{"oneOf", compareOneOf},
	check{"required", compareRequired},
	check{"unhandled", compareRest},
}

// A check compares one property of a schema, and resets it in both schemas.
type check struct {
	name    string
	compare func(before, after *props) error
}

// Compare implements [validations.Comparator].
func (c check) Compare(before, after *props) validations.ComparisonResult {
	return validations.HandleErrors(c.name, config.EnforcementPolicyError, c.compare(before, after))
}

func compareRequired(before, after *props) error {
	added := slices.DeleteFunc(slices.Sorted(slices.Values(after.Required)), func(name string) bool {
		return slices.Contains(before.Required, name)
	})
	before.Required, after.Required = nil, nil
	if len(added) == 0 {
		return nil
	}
	return fmt.Errorf("new required fields: %v", slices.Compact(added))
}

func compareOneOf(before, after *props) error {
	had, has := texts(before.OneOf), texts(after.OneOf)
	before.OneOf, after.OneOf = nil, nil
	if len(had) == 0 && len(has) > 0 {
		return fmt.Errorf("oneOf constraint added when there was none previously: %v", has)
	}
	removed := slices.DeleteFunc(had, func(text string) bool { return slices.Contains(has, text) })
	if len(removed) == 0 {
		return nil
	}
	return fmt.Errorf("allowed oneOf schemas removed: %v", removed)
}

// texts returns schemas as sorted JSON texts, without their documentation.
func texts(schemas []props) []string {
	var all []string
	for i := range schemas {
		s := schemas[i]
		s.Description, s.Title, s.Example, s.ExternalDocs = "", "", nil, nil
		text, err := json.Marshal(&s)
		if err != nil {
			panic(err) // impossible: it was decoded from JSON
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}

// compareRest reports changes that no other check has compared and reset.
func compareRest(before, after *props) error {
	var changes []string
	had, has := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range had.NumField() {
		if equality.Semantic.DeepEqual(had.Field(i).Interface(), has.Field(i).Interface()) {
			continue
		}
		name, _, _ := strings.Cut(had.Type().Field(i).Tag.Get("json"), ",")
		changes = append(changes, name+" "+change(had.Field(i), has.Field(i)))
	}
	*before, *after = apiextensionsv1.JSONSchemaProps{}, apiextensionsv1.JSONSchemaProps{}
	if changes == nil {
		return nil
	}
	return fmt.Errorf("unhandled changes found (%s)", strings.Join(changes, "; "))
}

// change describes the change of a value, with both values if they are short.
func change(before, after reflect.Value) string {
	was, errWas := json.Marshal(before.Interface())
	is, errIs := json.Marshal(after.Interface())
	const short = 40
	if errWas != nil || errIs != nil || len(was)+len(is) > short {
		return "changed"
	}
	return fmt.Sprintf("%s -> %s", was, is)
}
