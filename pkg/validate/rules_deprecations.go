package validate

var deprecationsRules = []Rule{
	{
		Name:     "deprecations-package",
		Severity: Error,
		Summary:  "deprecations belong to a package of the catalog",
		Reason:   "Upstream refuses deprecations of what is not there.",
		Fix:      "correct the package",
		Bad: `schema: olm.deprecations
package: dem
entries:
- reference: {schema: olm.package}
  message: The operator is not developed any more.
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.package}
  message: The operator is not developed any more.
`,
	},
	{
		Name:     "duplicate-deprecations",
		Severity: Error,
		Summary:  "a package has at most one olm.deprecations",
		Reason:   "Upstream refuses a second one.",
		Fix:      "merge their entries",
		Bad: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.package}
  message: The operator is not developed any more.
---
schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.package}
  message: The operator is not developed any more.
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
`,
	},
	{
		Name:     "deprecation-reference",
		Severity: Error,
		Summary:  "a deprecation refers to its package, or to a channel or bundle of it that exists",
		Reason:   "A message about something unknown reaches nobody.",
		Fix:      "correct the reference, or remove the deprecation",
		Bad: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v0.9.0}
  message: Version 0.9.0 is out of support.
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
`,
	},
	{
		Name:     "duplicate-deprecation",
		Severity: Error,
		Summary:  "nothing is deprecated twice",
		Reason:   "Only one message can be shown.",
		Fix:      "merge the messages",
		Bad: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Support ends in May.
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Support ends in May. Update to 1.2.0.
`,
	},
	{
		Name:     "deprecation-message",
		Severity: Error,
		Summary:  "a deprecation has a message",
		Reason:   "The message tells users what to do.",
		Fix:      "write a message",
		Bad: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.package}
  message: ""
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.package}
  message: The operator is not developed any more.
`,
	},
}
