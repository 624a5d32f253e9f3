package template

import (
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Rules returns the rules of [Check]: the rules for catalogs, because a template contains catalog objects, and the
// rules for templates.
var Rules = sync.OnceValue(func() *problem.Rules {
	catalog := validate.Rules()
	return problem.NewRules(catalog.Example, append(slices.Clone(catalog.Groups), templateRules)...)
})

// These are the parts of examples.
const (
	baseTemplate = `schema: olm.template.substitutes
entries:
- {schema: olm.package, name: demo, defaultChannel: stable}
- {schema: olm.channel, package: demo, name: stable, entries: [{name: demo.v1.0.0}]}
- schema: olm.bundle
  package: demo
  name: demo.v1.0.0
  image: registry.example/demo-bundle@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
  properties:
  - {type: olm.package, value: {packageName: demo, version: 1.0.0}}
substitutions:
- name: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
`
	semverImage = "  - image: registry.example/demo-bundle@" +
		"sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175\n"
	basicEntry = `schema: olm.template.basic
entries:
- schema: olm.bundle
  image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
`
	semverStable = `schema: olm.semver
stable:
  bundles:
`
)

var templateRules = &problem.Group{Title: "Templates", Rules: []*problem.Rule{
	ruleTemplate, ruleTemplateKey, ruleTemplateTag, ruleTemplateImageTwice, ruleTemplateVersionTwice, ruleTemplateBase,
}}

var (
	ruleTemplate = &problem.Rule{Name: "template", Severity: problem.Error,
		Summary: "a template has a known schema, and values of the types that it says",
		Reason: "Nothing can be rendered otherwise. What keeps single objects of it from being rendered is reported by " +
			"this rule, too.",
		Bad: `schema: olm.semver
stabel:
  bundles:
` + semverImage,
		Good: semverStable + semverImage}
	ruleTemplateKey = &problem.Rule{Name: "template-key", Severity: problem.Warning,
		Summary: "every key of a template means something",
		Reason: "Upstream ignores unknown keys of basic and substitutes templates and of the objects in them. It is often " +
			"a typo.",
		Bad: `schema: olm.template.basic
entries:
- schema: olm.channel
  package: demo
  name: stable
  entries:
  - {name: demo.v1.0.0, replace: demo.v0.9.0}
- {schema: olm.package, name: demo, defaultChannel: stable}`,
		Repair: [2]string{"- {name: demo.v1.0.0, replace: demo.v0.9.0}", "- {name: demo.v1.0.0, replaces: demo.v0.9.0}"}}
	ruleTemplateTag = &problem.Rule{Name: "template-tag", Severity: problem.Info,
		Summary: "images of bundles are named by digest",
		Reason: "A tag can be moved: the same template then renders to another catalog. A lock file (--lock of " +
			"render-template) helps, too.",
		Bad:  semverStable + "  - image: registry.example/demo-bundle:v1.0.0",
		Good: semverStable + semverImage}
	ruleTemplateImageTwice = &problem.Rule{Name: "template-image-twice", Severity: problem.Error,
		Summary: "a template lists an image once",
		Reason: "The same bundle would be in the catalog twice, which is not valid. A semver template may list it once in " +
			"each stage.",
		Fix: "remove one of them",
		Bad: basicEntry + `- schema: olm.bundle
  image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175`,
		Good: basicEntry + `- schema: olm.bundle
  image: registry.example/demo-bundle@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef`}
	ruleTemplateVersionTwice = &problem.Rule{Name: "template-version-twice", Severity: problem.Warning,
		Summary: "tags do not say that two images are bundles of one version",
		Reason:  "A package has one bundle of a version; a semver template with two cannot be rendered.",
		Bad: semverStable + `  - image: registry.example/demo-bundle:1.0.0
  - image: registry.example/demo-bundle:v1.0.0`,
		Good: semverStable + `  - image: registry.example/demo-bundle:1.0.0
  - image: registry.example/demo-bundle:1.0.1`}
	ruleTemplateBase = &problem.Rule{Name: "template-base", Severity: problem.Error,
		Summary: "the base of a substitution is a bundle of the catalog",
		Reason:  "There is nothing to put a substitute in the place of.",
		Bad:     baseTemplate + "  base: demo.v1.0",
		Good:    baseTemplate + "  base: demo.v1.0.0"}
)
