package edit

import (
	"bytes"
	"context"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// problems returns the errors of the package as it will be.
func (p *pkg) problems(ctx context.Context) ([]*problem.Problem, error) {
	var found []*problem.Problem
	if p.template != "" {
		u := p.units[0]
		text := slices.Concat(p.content[:u.offset], u.bytes, p.content[int(u.offset)+len(u.old):])
		all, err := template.Check(ctx, u.file, text, validate.Options{ErrorsOnly: true})
		if err != nil {
			return nil, err
		}
		found = all
	} else if sources := p.sources(); len(sources) > 0 {
		report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, sources...)
		if err != nil {
			return nil, err
		}
		found = report.Problems
	}
	return slices.DeleteFunc(found, func(p *problem.Problem) bool { return p.Severity != problem.Error }), nil
}

// sources returns the objects of the package as they will be. They are at the lines that they will have, and nothing
// else is in the files.
func (p *pkg) sources() (all []declcfg.Source) {
	for _, units := range p.files() {
		var l lines
		grown := 0 // lines, by the documents before
		for _, u := range units {
			now := u.now()
			if len(now) > 0 {
				l.to(u.start.Line+grown, u.yaml)
				l.add(now)
			}
			grown += bytes.Count(now, []byte("\n")) - bytes.Count(u.old, []byte("\n"))
		}
		if len(l.text) > 0 {
			all = append(all, render.Text(units[0].file, l.text))
		}
	}
	return all
}

// now returns the document and those behind it as they will be.
func (u *unit) now() []byte {
	if u.removed {
		return nil
	}
	return slices.Concat(u.bytes, u.added)
}

// lines are a text and how many lines it has.
type lines struct {
	text []byte
	n    int
}

func (l *lines) add(text []byte) {
	l.text = append(l.text, text...)
	l.n += bytes.Count(text, []byte("\n"))
}

// to goes to the start of a line, counted from 1, if it is not beyond it, and separates what follows from what is
// there.
func (l *lines) to(line int, yaml bool) {
	if !yaml || line > 1 && l.n == 0 && len(l.text) == 0 {
		l.add([]byte{'\n'})
	}
	if yaml {
		line--
	}
	if missing := line - 1 - l.n; missing > 0 {
		l.add(bytes.Repeat([]byte("\n"), missing))
	}
	if yaml && line > 0 {
		l.add([]byte("---\n"))
	}
}
