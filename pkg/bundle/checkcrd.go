package bundle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API versions of definitions.
const (
	crdV1      = "apiextensions.k8s.io/v1"
	crdV1beta1 = "apiextensions.k8s.io/v1beta1"
)

// A crdObject is a CustomResourceDefinition of version v1 or v1beta1, but for the schemas.
type crdObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     crdSpec           `json:"spec"`
}

type crdSpec struct {
	Group                 string         `json:"group"`
	Scope                 string         `json:"scope"`
	Names                 crdNames       `json:"names"`
	Versions              []crdVersion   `json:"versions"`
	Conversion            *crdConversion `json:"conversion"`
	PreserveUnknownFields *bool          `json:"preserveUnknownFields"`

	// What v1beta1 has for all versions together.
	Version string `json:"version"`
	crdShared
}

type crdNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	ShortNames []string `json:"shortNames"`
	Categories []string `json:"categories"`
}

type crdVersion struct {
	Name               string         `json:"name"`
	Storage            bool           `json:"storage"`
	Deprecated         bool           `json:"deprecated"`
	DeprecationWarning *string        `json:"deprecationWarning"`
	Schema             jsontext.Value `json:"schema"`
	crdShared
}

// crdShared is what versions may say each or, in v1beta1, together.
type crdShared struct {
	Validation   jsontext.Value `json:"validation"`
	Subresources jsontext.Value `json:"subresources"`
	Columns      jsontext.Value `json:"additionalPrinterColumns"`
	Selectable   jsontext.Value `json:"selectableFields"`
}

// A definitionChecker checks one CustomResourceDefinition.
type definitionChecker struct {
	*checker
	m    *manifest
	crd  crdObject
	beta bool
}

// checkDefinition checks what Kubernetes checks when it is given the definition, but for its schemas and its status.
func (c *checker) checkDefinition(m *manifest) {
	d := definitionChecker{checker: c, m: m, beta: m.apiVersion == crdV1beta1}
	if m.apiVersion != crdV1 && !d.beta {
		c.find("crd-type", m.document, "/apiVersion", "%q: want %s or %s", m.apiVersion, crdV1, crdV1beta1)
		return
	}
	typed := any(new(apiextensionsv1.CustomResourceDefinition))
	if d.beta {
		typed = new(apiextensionsv1beta1.CustomResourceDefinition)
	}
	for _, v := range []any{typed, &d.crd} {
		if ptr, err := decode(m.printed, v); err != nil {
			c.find("crd-type", m.document, ptr, "%w", err)
			return
		}
	}
	d.setDefaults()
	d.checkMetadata()
	d.checkGroup()
	d.checkNames()
	d.checkVersions()
	d.checkShared("/spec", &d.crd.Spec.crdShared)
	d.checkConversion()
	d.checkPreserving()
	if d.beta {
		d.checkBeta()
	}
}

func (d *definitionChecker) find(ptr jsontext.Pointer, format string, args ...any) {
	d.checker.find("crd", d.m.document, ptr, format, args...)
}

// setDefaults fills in what Kubernetes does.
func (d *definitionChecker) setDefaults() {
	spec := &d.crd.Spec
	if spec.Names.Singular == "" {
		spec.Names.Singular = strings.ToLower(spec.Names.Kind)
	}
	if spec.Names.ListKind == "" && spec.Names.Kind != "" {
		spec.Names.ListKind = spec.Names.Kind + "List"
	}
	if !d.beta {
		return
	}
	if spec.Scope == "" {
		spec.Scope = "Namespaced"
	}
	if len(spec.Versions) == 0 && spec.Version != "" {
		spec.Versions = []crdVersion{{Name: spec.Version, Storage: true}}
	}
	if spec.PreserveUnknownFields == nil {
		spec.PreserveUnknownFields = new(true)
	}
}

func (d *definitionChecker) checkMetadata() {
	want := d.crd.Spec.Names.Plural + "." + d.crd.Spec.Group
	name := func(name string, _ bool) []string {
		problems := validation.IsDNS1123Subdomain(name)
		if name != want {
			problems = append(problems, fmt.Sprintf("want %q, the plural name and the group", want))
		}
		return problems
	}
	const namespaced = false
	meta := field.NewPath("metadata")
	d.findFields("crd", d.m, apivalidation.ValidateObjectMeta(&d.crd.Metadata, namespaced, name, meta))
}

// annotationApproved is where those who define kinds in a group of Kubernetes itself say that they may.
const annotationApproved = "api-approved.kubernetes.io"

func (d *definitionChecker) checkGroup() {
	group := d.crd.Spec.Group
	switch {
	case group == "":
		d.find("/spec", "no group")
	case len(validation.IsDNS1123Subdomain(group)) > 0:
		d.find("/spec/group", "%q: %s", group, validation.IsDNS1123Subdomain(group)[0])
	case !strings.Contains(group, "."):
		d.find("/spec/group", "%q: want a domain with a dot", group)
	}
	if scope := d.crd.Spec.Scope; scope != "Cluster" && scope != "Namespaced" {
		d.find("/spec", "scope %q: want Cluster or Namespaced", scope)
	}
	if isKubernetesGroup(group) && !isApproval(d.crd.Metadata.Annotations[annotationApproved]) {
		d.find("/metadata", "group %q is one of Kubernetes: want the annotation %s with a URL", group, annotationApproved)
	}
}

func isKubernetesGroup(group string) bool {
	return group == "k8s.io" || group == "kubernetes.io" ||
		strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".kubernetes.io")
}

func (d *definitionChecker) checkNames() {
	names := &d.crd.Spec.Names
	for _, name := range []struct {
		key, value string
		anyCase    bool
	}{
		{"plural", names.Plural, false},
		{"singular", names.Singular, false},
		{"kind", names.Kind, true},
		{"listKind", names.ListKind, true},
	} {
		if name.value == "" {
			d.find("/spec/names", "no %s", name.key)
			continue
		}
		value := name.value
		if name.anyCase {
			value = strings.ToLower(value)
		}
		d.checkLabel(pointer("spec", "names", name.key), value)
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		d.find("/spec/names/listKind", "%q is the kind itself", names.ListKind)
	}
	for i, name := range names.ShortNames {
		d.checkLabel(element("/spec/names/shortNames", i), name)
	}
	for i, name := range names.Categories {
		d.checkLabel(element("/spec/names/categories", i), name)
	}
}

// checkLabel wants a name that begins with a letter and has no more than letters, digits and hyphens.
func (d *definitionChecker) checkLabel(ptr jsontext.Pointer, value string) {
	if problems := validation.IsDNS1035Label(value); len(problems) > 0 {
		d.find(ptr, "%q: %s", value, problems[0])
	}
}

func (d *definitionChecker) checkVersions() {
	stored := 0
	seen := make(map[string]bool)
	for i := range d.crd.Spec.Versions {
		version := &d.crd.Spec.Versions[i]
		ptr := element("/spec/versions", i)
		d.checkLabel(ptr.AppendToken("name"), version.Name)
		if seen[version.Name] {
			d.find(ptr.AppendToken("name"), "version %q stands twice", version.Name)
		}
		seen[version.Name] = true
		if version.Storage {
			stored++
		}
		d.checkDeprecation(ptr, version)
		d.checkShared(ptr, &version.crdShared)
	}
	if stored != 1 {
		d.find("/spec/versions", "%d versions are marked as the one that is stored: want 1", stored)
	}
}

func (d *definitionChecker) checkDeprecation(ptr jsontext.Pointer, version *crdVersion) {
	const maxWarning = 256
	warning := version.DeprecationWarning
	if warning == nil {
		return
	}
	ptr = ptr.AppendToken("deprecationWarning")
	if !version.Deprecated {
		d.find(ptr, "the version is not deprecated")
		return
	}
	switch {
	case *warning == "", len(*warning) > maxWarning:
		d.find(ptr, "want 1 to %d bytes, found %d", maxWarning, len(*warning))
	case strings.ContainsFunc(*warning, func(r rune) bool { return !unicode.IsPrint(r) }):
		d.find(ptr, "want printable characters")
	}
}

// checkPreserving refuses definitions under which clusters keep what the schema does not know.
func (d *definitionChecker) checkPreserving() {
	preserving := d.crd.Spec.PreserveUnknownFields
	if preserving == nil || !*preserving {
		return
	}
	d.find("/spec", "preserveUnknownFields: want x-kubernetes-preserve-unknown-fields in the schema instead")
}

// checkBeta checks that what v1beta1 says of all versions is not said of one, and the other way round.
func (d *definitionChecker) checkBeta() {
	spec := &d.crd.Spec
	if len(spec.Version) > 0 {
		d.checkLabel("/spec/version", spec.Version)
		if len(spec.Versions) > 0 && spec.Versions[0].Name != spec.Version {
			d.find("/spec/version", "want %q, the first of spec.versions", spec.Versions[0].Name)
		}
	}
	for _, shared := range []struct {
		key  string
		all  jsontext.Value
		each func(*crdVersion) jsontext.Value
	}{
		{"validation", spec.Validation, func(v *crdVersion) jsontext.Value { return v.Schema }},
		{"subresources", spec.Subresources, func(v *crdVersion) jsontext.Value { return v.Subresources }},
		{"additionalPrinterColumns", spec.Columns, func(v *crdVersion) jsontext.Value { return v.Columns }},
	} {
		var values []jsontext.Value
		for i := range spec.Versions {
			values = append(values, shared.each(&spec.Versions[i]))
		}
		switch {
		case given(shared.all) && slices.ContainsFunc(values, given):
			d.find(pointer("spec", shared.key), "versions have their own")
		case len(values) > 0 && !slices.ContainsFunc(values, differs(values[0])):
			d.find("/spec/versions", "all have equal %s: want them in spec.%[1]s", shared.key)
		}
	}
}

// given tells whether a value is there and holds anything.
func given(v jsontext.Value) bool { return v != nil && string(v) != "null" && string(v) != "[]" }

// differs returns a function that tells whether a value is missing or other than v.
func differs(v jsontext.Value) func(jsontext.Value) bool {
	return func(w jsontext.Value) bool { return !given(w) || !bytes.Equal(v, w) }
}
