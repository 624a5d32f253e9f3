package template

import (
	"embed"
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Rules returns the rules of [Check]: the rules for catalogs, because a template contains catalog objects, and the
// rules for templates.
var Rules = sync.OnceValue(func() *problem.Rules {
	catalog := validate.Rules()
	return problem.NewRules(catalog.Example, ruleFiles, append(slices.Clone(catalog.Groups), templateRules)...)
})

//go:embed rules/*.txtar
var ruleFiles embed.FS

var templateRules = &problem.Group{Title: "Templates", Rules: []*problem.Rule{
	ruleTemplate, ruleTemplateKey, ruleTemplateTag, ruleTemplateImageTwice, ruleTemplateVersionTwice, ruleTemplateBase,
}}

var (
	ruleTemplate = &problem.Rule{Name: "template", Severity: problem.Error,
		Summary: "a template has a known schema, and values of the types that it says",
		Reason: "Nothing can be rendered otherwise. What keeps single objects of it from being rendered is reported by " +
			"this rule, too."}
	ruleTemplateKey = &problem.Rule{Name: "template-key", Severity: problem.Warning,
		Summary: "every key of a template means something",
		Reason: "Upstream ignores unknown keys of basic and substitutes templates and of the objects in them. It is often " +
			"a typo."}
	ruleTemplateTag = &problem.Rule{Name: "template-tag", Severity: problem.Info,
		Summary: "images of bundles are named by digest",
		Reason: "A tag can be moved: the same template then renders to another catalog. A lock file (--lock of " +
			"render-template) helps, too."}
	ruleTemplateImageTwice = &problem.Rule{Name: "template-image-twice", Severity: problem.Error,
		Summary: "a template lists an image once",
		Reason: "The same bundle would be in the catalog twice, which is not valid. A semver template may list it once in " +
			"each stage.",
		Fix: "remove one of them"}
	ruleTemplateVersionTwice = &problem.Rule{Name: "template-version-twice", Severity: problem.Warning,
		Summary: "tags do not say that two images are bundles of one version",
		Reason:  "A package has one bundle of a version; a semver template with two cannot be rendered."}
	ruleTemplateBase = &problem.Rule{Name: "template-base", Severity: problem.Error,
		Summary: "the base of a substitution is a bundle of the catalog",
		Reason:  "There is nothing to put a substitute in the place of."}
)
