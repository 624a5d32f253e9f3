package validate

import (
	"strconv"

	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// pkg checks an olm.package on its own.
func (s *scope) pkg(p *declcfg.Package) {
	if p.Name == "" {
		s.add("package-name", "/name", "config contains package with no name")
	} else if err := k8sname.Label(p.Name); err != nil {
		s.add("package-name", "/name", "invalid package name %q: %v", p.Name, err)
	}
	if p.DefaultChannel == "" {
		s.add("default-channel", "/defaultChannel", "default channel must be set")
	}
	if p.Icon != nil {
		s.icon(p.Icon)
	}
	s.otherProperties(p.Properties)
}

func (s *scope) icon(i *declcfg.Icon) {
	found := icon.Type(i.Data)
	if found == "" {
		what := "not an image of a known type"
		if len(i.Data) == 0 {
			what = "empty"
		}
		s.add("icon-data", "/icon/base64data", "the icon is %s", what)
	}
	switch {
	case i.MediaType == "":
		s.add("icon-type", "/icon/mediatype", "the icon has no media type")
	case found != "" && !icon.SameType(i.MediaType, found):
		s.add("icon-type", "/icon/mediatype", "the media type is %q, but the data is %s", i.MediaType, found)
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

func quote(s string) string { return strconv.Quote(s) }
