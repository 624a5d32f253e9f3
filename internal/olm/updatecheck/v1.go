package updatecheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
	"sigs.k8s.io/crdify/pkg/validators/crd"
	"sigs.k8s.io/crdify/pkg/validators/version"
	"sigs.k8s.io/crdify/pkg/validators/version/same"
	"sigs.k8s.io/crdify/pkg/validators/version/served"
)

// v1Config is the crdify configuration of OLM v1.
var v1Config = config.Config{
	Conversion: config.ConversionPolicyIgnore,
	Validations: []config.ValidationConfig{
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		{
			Name:          "enum",
			Enforcement:   config.EnforcementPolicyError,
			Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow},
		},
	},
}

// A v1Checker runs the checks of crdify.
type v1Checker struct {
	crd    *crd.Validator
	same   *same.Validator
	served *served.Validator
}

// v1Check returns the checks of OLM v1, which may run concurrently.
var v1Check = sync.OnceValue(func() *v1Checker {
	registry := runner.DefaultRegistry()
	all, err := validations.LoadValidationsFromRegistry(registry)
	if err == nil {
		all, err = validations.ConfigureValidations(all, registry, v1Config)
	}
	if err != nil {
		panic(err) // the configuration is part of the program
	}
	delete(all, "required") // replaced
	checks := make([]validations.Validation, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		checks = append(checks, all[name])
	}
	properties := append(validations.ComparatorsForValidations[props](checks...), ourChecks...)
	return &v1Checker{
		crd.New(crd.WithComparators(validations.ComparatorsForValidations[definition](checks...)...)),
		same.New(same.WithComparators(properties...)),
		served.New(served.WithComparators(properties...), served.WithConversionPolicy(v1Config.Conversion)),
	}
})

type (
	definition = apiextensionsv1.CustomResourceDefinition
	props      = apiextensionsv1.JSONSchemaProps
)

// compareV1 returns the findings of OLM v1. It skips definitions of version v1beta1, which a cluster does not accept.
func compareV1(before, after *definition) []Finding {
	if !isV1(after) {
		return nil
	}
	check := v1Check()
	var found []Finding
	add := func(field string, results []validations.ComparisonResult) {
		for _, r := range results {
			slices.Sort(r.Errors)
			for _, text := range r.Errors {
				f := Finding{Rule: Rules().Of("v1-" + kebab(r.Name)), Object: after.Name, Field: field}
				text = r.Name + ": " + text
				if field != "" {
					text = field + ": " + text
				}
				if f.Rule == ruleV1ExistingFieldRemoval {
					// The message ends with the field, as in "… : v1.^.spec.size".
					f.Field = strings.Replace(text[strings.LastIndex(text, " ")+1:], ".^", ": ^", 1)
				}
				f.Message = fmt.Sprintf("validating upgrade for CRD %q: %s", after.Name, text)
				found = append(found, f)
			}
		}
	}
	add("", check.crd.Validate(before, after))
	for _, versions := range [][]version.VersionedPropertyComparisonResult{
		check.same.Validate(dropEqual(before, after)), check.served.Validate(before, after),
	} {
		slices.SortStableFunc(versions, func(a, b version.VersionedPropertyComparisonResult) int {
			return cmp.Compare(a.Version, b.Version)
		})
		for _, v := range versions {
			slices.SortFunc(v.PropertyComparisons, func(a, b validations.PropertyComparisonResult) int {
				return cmp.Compare(a.Property, b.Property)
			})
			for _, p := range v.PropertyComparisons {
				add(v.Version+": "+p.Property, p.ComparisonResults)
			}
		}
	}
	return withoutConsequences(found)
}

// withoutConsequences removes the findings that follow from a removed field: about its type and about the fields in it.
func withoutConsequences(found []Finding) []Finding {
	removed := map[string]bool{}
	for _, f := range found {
		removed[f.Field] = removed[f.Field] || f.Rule == ruleV1ExistingFieldRemoval
	}
	return slices.DeleteFunc(found, func(f Finding) bool {
		if f.Rule != ruleV1ExistingFieldRemoval && removed[f.Field] {
			return true
		}
		for around := f.Field; around != ""; {
			around = around[:max(0, strings.LastIndexAny(around, ".["))]
			if removed[around] {
				return true
			}
		}
		return false
	})
}

// kebab converts camelCase to kebab-case, such as maxItems to max-items.
func kebab(name string) string {
	var words strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			words.WriteByte('-')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	return words.String()
}
