package edit

import (
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// Promote puts a bundle of one channel into another one. It keeps what its entry skips, and replaces the head of the
// other channel unless Updates say otherwise. In a semver template it is an image that gets into another stage.
type Promote struct {
	Bundle  string
	To      string
	Updates Updates
}

func (e Promote) subject() (schema, name string) { return declcfg.SchemaBundle, e.Bundle }

func (e Promote) apply(p *pkg) error {
	if p.template == template.Semver {
		return p.promoteImage(e.Bundle, e.To, e.Updates)
	}
	if err := p.check(Bundle, e.Bundle); err != nil {
		return err
	}
	entry := declcfg.Entry{Name: e.Bundle}
	channels, _ := values[declcfg.Channel](p)
	for _, c := range channels {
		if i := entryOf(c, e.Bundle); i >= 0 && c.Name != e.To {
			entry = c.Entries[i]
			break
		}
	}
	return p.addEntry(entry, e.To, e.Updates)
}
