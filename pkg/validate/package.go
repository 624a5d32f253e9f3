package validate

import (
	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func (s *scope) pkg(p *declcfg.Package) {
	if p.Name == "" {
		s.add(rulePackageName, "/name", "config contains package with no name")
	} else if err := k8sname.Label(p.Name); err != nil {
		s.add(rulePackageName, "/name", "invalid package name %q: %v", p.Name, err)
	}
	if p.DefaultChannel == "" {
		s.add(ruleDefaultChannel, "/defaultChannel", "default channel must be set")
	}
	if p.Icon != nil {
		found := icon.Type(p.Icon.Data)
		if found == "" {
			what := "not an image of a known type"
			if len(p.Icon.Data) == 0 {
				what = "empty"
			}
			s.add(ruleIconData, "/icon/base64data", "the icon is %s", what)
		}
		switch {
		case p.Icon.MediaType == "":
			s.add(ruleIconType, "/icon/mediatype", "the icon has no media type")
		case found != "" && !icon.SameType(p.Icon.MediaType, found):
			s.add(ruleIconType, "/icon/mediatype", "the media type is %q, but the data is %s", p.Icon.MediaType, found)
		}
	}
	s.otherProperties(p.Properties)
}

// DefaultChannel is the name of the rule about default channels that do not exist.
const DefaultChannel = "default-channel"

var packageRules = &problem.Group{Title: "Packages", Rules: []*problem.Rule{
	rulePackageName, ruleDuplicatePackage, rulePackageChannels, ruleDefaultChannel, ruleDuplicateVersion, ruleIconData,
	ruleIconType,
}}

var (
	rulePackageName = &problem.Rule{Name: "package-name", Severity: problem.Error,
		Summary: "the name of a package is a DNS label",
		Reason:  "Package names become labels of Kubernetes objects: 1 to 63 lower-case letters, digits and inner hyphens.",
		Fix:     "rename the package"}
	ruleDuplicatePackage = &problem.Rule{Name: "duplicate-package", Severity: problem.Error,
		Summary: "a package is defined once",
		Reason:  "Upstream rejects a second definition.",
		Fix:     "remove one of the definitions"}
	rulePackageChannels = &problem.Rule{Name: "package-channels", Severity: problem.Error,
		Summary: "a package has a channel",
		Reason:  "Bundles are only installed and updated through channels.",
		Fix:     "add an olm.channel"}
	ruleDefaultChannel = &problem.Rule{Name: DefaultChannel, Severity: problem.Error,
		Summary: "the default channel of a package exists",
		Reason:  "Users who do not name a channel get the default channel.",
		Fix:     "set defaultChannel to a channel of the package"}
	ruleDuplicateVersion = &problem.Rule{Name: "duplicate-version", Severity: problem.Error,
		Summary: "no two bundles of a package have the same version",
		Reason:  "A version must identify one bundle; build metadata and releases distinguish versions.",
		Fix:     "give one of them another version or a release"}
	ruleIconData = &problem.Rule{Name: "icon-data", Severity: problem.Warning,
		Summary: "an icon holds an image",
		Reason:  "Consoles show a broken image.",
		Fix:     "put the image in base64data, or remove the icon"}
	ruleIconType = &problem.Rule{Name: "icon-type", Severity: problem.Warning,
		Summary: "the media type of an icon matches its data",
		Reason:  "Browsers do not show an image with the wrong type.",
		Fix:     "correct the mediatype"}
)
