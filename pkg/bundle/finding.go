package bundle

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Severity tells what a finding means for a bundle.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // upstream refuses the bundle
	Warning Severity = "warning" // upstream accepts it, and its author should know
)

// A Finding is one thing wrong with a bundle. It prints as
//
//	oak/manifests/csv.yaml:4:9: error: metadata.name: want a name such as oak.v1.0.0 [csv-name]
type Finding struct {
	Rule     string // the name of a [CheckRule]
	Severity Severity
	Pos      declcfg.Pos
	Pointer  jsontext.Pointer // to the value in its manifest, "" where it is about the whole
	Message  string
}

func (f *Finding) String() string {
	path := ""
	if f.Pointer != "" {
		path = declcfg.Path(f.Pointer) + ": "
	}
	return fmt.Sprintf("%s: %s: %s%s [%s]", f.Pos, f.Severity, path, f.Message, f.Rule)
}

// HasErrors tells whether a bundle is refused for what was found.
func HasErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
}

// A printFinding is a finding with the keys that it is printed with, which are those of the problems of a catalog.
type printFinding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitzero"`
	Column   int      `json:"column,omitzero"`
	Path     string   `json:"path,omitzero"`
	Message  string   `json:"message"`
}

// WriteJSON writes findings as an object: passed, which is false where there are errors among them, and the list of
// problems, if there are any.
func WriteJSON(w io.Writer, findings []Finding) error {
	result := struct {
		Passed   bool           `json:"passed"`
		Problems []printFinding `json:"problems,omitempty"`
	}{Passed: !HasErrors(findings)}
	for _, f := range findings {
		p := printFinding{f.Rule, f.Severity, f.Pos.File, f.Pos.Line, f.Pos.Column, "", f.Message}
		if f.Pointer != "" {
			p.Path = declcfg.Path(f.Pointer)
		}
		result.Problems = append(result.Problems, p)
	}
	err := json.MarshalWrite(w, result, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// A CheckRule is something that a bundle should keep.
type CheckRule struct {
	Name     string
	Severity Severity
	Summary  string // what is asked for, as a sentence without an end
}

// CheckRules returns the rules that [Check] knows.
func CheckRules() []CheckRule { return slices.Clone(checkRules) }

var checkRules = []CheckRule{
	{"layout", Error, "a bundle has the directories manifests/ and metadata/, and files in both"},
	{"unreadable", Error, "every file is one document, YAML or JSON"},
	{"left-out", Warning, "nothing is passed over"},
	{"bundle-size", Warning, "compressed, the files fit into the ConfigMap that OLM unpacks them into"},

	{"annotations", Error, "a file in metadata/ has the annotations of a bundle, with values"},
	{"media-type", Error, "the annotation of the media type is that of the manifests"},
	{"directory", Warning, "the annotations of the directories say manifests/ and metadata/"},
	{"label", Warning, "the image of a bundle has its annotations as labels"},
	{"dependencies", Error, "dependencies are of a known type, and complete"},

	{"manifest-kind", Error, "a manifest is of a kind that OLM installs"},
	{"manifest-metadata", Error, "the metadata of a manifest is as Kubernetes demands it"},
	{"removed-api", Warning, "current versions of Kubernetes have the API of a manifest"},

	{"csv-count", Error, "there is one ClusterServiceVersion"},
	{"csv-type", Error, "the ClusterServiceVersion fits the API of OLM"},
	{"csv-name", Error, "the name can be that of an object and the value of a label"},
	{"csv-field-missing", Error, "required fields have a value"},
	{"csv-install-modes", Error, "an install mode is supported, and all namespaces alone where webhooks convert"},
	{"csv-install-mode-twice", Warning, "an install mode is listed once"},
	{"csv-min-kube-version", Error, "minKubeVersion is a semantic version"},
	{"csv-no-min-kube-version", Warning, "minKubeVersion is given"},
	{"csv-examples", Error, "alm-examples are objects of owned kinds, as a list in JSON"},
	{"csv-no-examples", Warning, "every owned kind has an example in alm-examples"},
	{"csv-annotation-case", Error, "annotations that OLM knows are spelled in its letter case"},
	{"csv-properties", Warning, "properties are in metadata/, not in the annotation olm.properties"},
	{"csv-release", Error, "a release is not used together with the annotation olm.substitutesFor"},

	{"crd-type", Error, "a CustomResourceDefinition fits the API of Kubernetes"},
	{"crd", Error, "a CustomResourceDefinition is one that Kubernetes accepts, its schema aside"},
	{"crd-missing", Error, "every owned kind is defined by a manifest"},
	{"crd-not-owned", Warning, "every kind that a manifest defines is owned"},
	{"crd-twice", Warning, "a kind is defined once"},

	{"bundle-name", Warning, "the name of a bundle with a release is PACKAGE-vVERSION-RELEASE"},
	{"service-account", Warning, "no manifest is a service account that the ClusterServiceVersion makes"},
	{"related-image", Warning, "related images are references of images"},

	{"object", Error, "manifests do not endanger the cluster: disruption budgets, priorities, permissions"},
	{"object-permission", Warning, "no role may change disruption budgets"},
	{"hub", Error, "the ClusterServiceVersion is complete, as OperatorHub.io demands"},
	{"hub-icon", Warning, "the ClusterServiceVersion has an icon"},
}

// severities are those of checkRules by name.
var severities = func() map[string]Severity {
	all := make(map[string]Severity, len(checkRules))
	for _, rule := range checkRules {
		all[rule.Name] = rule.Severity
	}
	return all
}()

// sortFindings orders findings by place. What two rules say in the same words, it leaves to the stricter one.
func sortFindings(list []Finding) []Finding {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Rule, b.Rule))
	})
	return slices.CompactFunc(list, func(a, b Finding) bool { return a.Pos == b.Pos && a.Message == b.Message })
}
