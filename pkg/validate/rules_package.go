package validate

var packageRules = []Rule{
	{
		Name:     "package-name",
		Severity: Error,
		Summary:  "the name of a package is a DNS label",
		Reason: "Names of packages become labels of Kubernetes objects: 1 to 63 lower-case letters, digits and " +
			"inner hyphens.",
		Fix: "rename the package",
	},
	{
		Name:     "duplicate-package",
		Severity: Error,
		Summary:  "a package is defined once",
		Reason:   "Upstream cannot tell which of two definitions counts.",
		Fix:      "remove one of the definitions",
	},
	{
		Name:     "package-channels",
		Severity: Error,
		Summary:  "a package has a channel",
		Reason:   "Bundles are installed and updated through channels only.",
		Fix:      "add an olm.channel",
	},
	{
		Name:     "default-channel",
		Severity: Error,
		Summary:  "the default channel of a package exists",
		Reason:   "Whoever installs a package without naming a channel gets the default channel.",
		Fix:      "set defaultChannel to a channel of the package",
	},
	{
		Name:     "duplicate-version",
		Severity: Error,
		Summary:  "no two bundles of a package have the same version",
		Reason:   "A version must lead to one bundle; build metadata and releases tell versions apart.",
		Fix:      "give one of them another version or a release",
	},
	{
		Name:     "icon-data",
		Severity: Warning,
		Summary:  "an icon holds an image",
		Reason:   "Consoles show a broken picture in its place.",
		Fix:      "put the image in base64data, or remove the icon",
	},
	{
		Name:     "icon-type",
		Severity: Warning,
		Summary:  "the media type of an icon is that of its data",
		Reason:   "Browsers do not show an image under the wrong type.",
		Fix:      "correct the mediatype",
	},
}
