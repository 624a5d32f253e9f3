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
	switch {
	case len(packages) == 0:
		return notFound("no", Package, p.name, nil)
	case packages[0].DefaultChannel == e.Channel:
		p.note("the default channel of package %q is already %q", p.name, e.Channel)
		return nil
	}
	return items[0].unit.set(items[0].ptr("/defaultChannel"), encoded(e.Channel))
}
