package validate

var deprecationsRules = []Rule{
	{
		Name:     "deprecations-package",
		Severity: Error,
		Summary:  "deprecations belong to a package of the catalog",
		Reason:   "Upstream refuses deprecations of what is not there.",
		Fix:      "correct the package",
	},
	{
		Name:     "duplicate-deprecations",
		Severity: Error,
		Summary:  "a package has at most one olm.deprecations",
		Reason:   "Upstream refuses a second one.",
		Fix:      "merge their entries",
	},
	{
		Name:     "deprecation-reference",
		Severity: Error,
		Summary:  "a deprecation refers to its package, or to a channel or bundle of it that exists",
		Reason:   "A message about something unknown reaches nobody.",
		Fix:      "correct the reference, or remove the deprecation",
	},
	{
		Name:     "duplicate-deprecation",
		Severity: Error,
		Summary:  "nothing is deprecated twice",
		Reason:   "Only one message can be shown.",
		Fix:      "merge the messages",
	},
	{
		Name:     "deprecation-message",
		Severity: Error,
		Summary:  "a deprecation has a message",
		Reason:   "The message tells users what to do.",
		Fix:      "write a message",
	},
}
