package bundle

import (
	"cmp"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// checkDependencies looks at those that a file of metadata/ lists.
func (c *checker) checkDependencies(doc *document, list []declaration) {
	for i, d := range list {
		c.checkDependency(doc, element("/dependencies", i), d)
	}
}

func (c *checker) checkDependency(doc *document, ptr jsontext.Pointer, d declaration) {
	check, ok := dependencyTypes[string(d.Type)]
	if !ok {
		c.find("dependencies", doc, ptr, "unknown type %q, want olm.gvk, olm.package, olm.label or olm.constraint", d.Type)
		return
	}
	if d.Value == nil {
		c.find("dependencies", doc, ptr, "value is required")
		return
	}
	at, problem := check(d.Value)
	if problem != "" {
		c.find("dependencies", doc, ptr+"/value"+at, "%s", problem)
	}
}

// dependencyTypes holds the checks of the values of all types. They return the first problem, "" for none.
var dependencyTypes = map[string]func(jsontext.Value) (jsontext.Pointer, string){
	declcfg.PropertyGVK:        checkGVK,
	declcfg.PropertyPackage:    checkPackage,
	"olm.label":                checkLabel,
	declcfg.PropertyConstraint: checkConstraint,
}

func checkGVK(value jsontext.Value) (jsontext.Pointer, string) {
	var api declcfg.GVK
	if ptr, err := decode(value, &api); err != nil {
		return ptr, err.Error()
	}
	return "", cmp.Or(missing("group", api.Group), missing("kind", api.Kind), missing("version", api.Version))
}

func checkPackage(value jsontext.Value) (jsontext.Pointer, string) {
	var pkg declcfg.PackageProperty
	if ptr, err := decode(value, &pkg); err != nil {
		return ptr, err.Error()
	}
	if problem := cmp.Or(missing("packageName", pkg.PackageName), missing("version", pkg.Version)); problem != "" {
		return "", problem
	}
	if _, err := semver.ParseRange(pkg.Version); err != nil {
		return "/version", "not a valid version range: " + err.Error()
	}
	return "", ""
}

func checkLabel(value jsontext.Value) (jsontext.Pointer, string) {
	var label struct {
		Label string `json:"label"`
	}
	if ptr, err := decode(value, &label); err != nil {
		return ptr, err.Error()
	}
	return "", missing("label", label.Label)
}

// checkConstraint looks at the outermost constraint. Where it is CEL, validating the catalog compiles it.
func checkConstraint(value jsontext.Value) (jsontext.Pointer, string) {
	var constraint struct {
		CEL *struct {
			Rule string `json:"rule"`
		} `json:"cel"`
		GVK     jsontext.Value `json:"gvk"`
		Package jsontext.Value `json:"package"`
		All     jsontext.Value `json:"all"`
		Any     jsontext.Value `json:"any"`
		Not     jsontext.Value `json:"not"`
	}
	if ptr, err := decode(value, &constraint); err != nil {
		return ptr, err.Error()
	}
	kinds := 0
	for _, kind := range []jsontext.Value{
		constraint.GVK, constraint.Package, constraint.All, constraint.Any, constraint.Not,
	} {
		if kind != nil {
			kinds++
		}
	}
	if constraint.CEL != nil {
		kinds++
		if constraint.CEL.Rule == "" {
			return "/cel", missing("rule", "")
		}
	}
	if kinds != 1 {
		return "", "want one of cel, gvk, package, all, any or not"
	}
	return "", ""
}

func missing(key, value string) string {
	if value == "" {
		return key + " is required"
	}
	return ""
}
