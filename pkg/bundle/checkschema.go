package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// checkSchema reports the errors with which an API server refuses the ClusterServiceVersion, which OLM Classic creates.
// OLM v1 creates only the objects in it, with its annotations. It skips the values that other checks
// report.
func (c *checker) checkSchema() {
	csv := *c.csv
	csv.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	for _, err := range admission.Create(&csv) {
		ptr := fieldPointer(err.Field)
		if isPartOfDeployment(ptr) && err.Type != field.ErrorTypeDuplicate {
			continue // both OLMs create the Deployment, which has the same error
		}
		if !c.isReported(c.csvFile.pos(ptr)) {
			rule, text := ruleCSVSchema, "OLM Classic cannot create the "+kindCSV+": %s"
			if atAnnotations.Contains(ptr) {
				rule, text = ruleManifestMetadata, "%s" // OLM v1 copies them to pods
			}
			c.reportCSV(rule, ptr, text, schemaMessage(err))
		}
	}
}

// isPartOfDeployment reports whether a pointer into a ClusterServiceVersion leads into the spec of a Deployment.
func isPartOfDeployment(ptr jsontext.Pointer) bool {
	rest, ok := strings.CutPrefix(string(ptr), "/spec/install/spec/deployments/")
	_, field, _ := strings.Cut(rest, "/")
	return ok && strings.HasPrefix(field, "spec")
}

// isReported reports whether another problem at a position says that OLM Classic refuses the bundle.
func (c *checker) isReported(at declcfg.Pos) bool {
	refusing := []string{ruleCSVWebhookOLM.Name, ruleRefusedOLM.Name}
	return slices.ContainsFunc(c.problems, func(p *problem.Problem) bool {
		return p.Pos == at && (p.Severity == problem.Error || slices.Contains(refusing, p.Rule))
	})
}

// schemaMessage is fieldMessage about a custom resource: a list that is not set is null there, and the key of a
// duplicate in a list is an object.
func schemaMessage(err *field.Error) string {
	key, isObject := err.BadValue.(map[string]any)
	switch {
	case err.Type == field.ErrorTypeTypeInvalid && err.BadValue == "null":
		return err.Field[strings.LastIndexByte(err.Field, '.')+1:] + " is required"
	case err.Type == field.ErrorTypeDuplicate && isObject:
		if text, e := json.Marshal(key, json.Deterministic(true)); e == nil {
			return fmt.Sprintf("%s: %s", err.Type, text)
		}
	}
	return fieldMessage(err)
}
