package edit

import (
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// DefaultChannel makes a channel the default of its package.
type DefaultChannel struct {
	Channel string
}

func (e DefaultChannel) subject() (schema, name string) { return declcfg.SchemaChannel, e.Channel }

func (e DefaultChannel) apply(p *pkg) error {
	if p.template == template.Semver {
		return errSemver
	}
	if _, _, err := p.channel(e.Channel); err != nil {
		return err
	}
	packages, items := values[declcfg.Package](p)
	for i, v := range packages {
		if v.DefaultChannel == e.Channel {
			p.note("the default channel of package %q is already %q", p.name, e.Channel)
			return nil
		}
		return items[i].unit.set(items[i].ptr("/defaultChannel"), encoded(e.Channel))
	}
	return p.unknown(Package, p.name, nil)
}
