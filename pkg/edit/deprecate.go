package edit

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// Deprecate deprecates a package, a channel or a bundle with a message, or changes the message.
type Deprecate struct {
	Kind    Kind
	Name    string
	Message string
	Undo    bool // removes the deprecation instead
}

func (e Deprecate) subject() (schema, name string) { return e.Kind.Schema(), e.Name }

func (e Deprecate) apply(p *pkg) error {
	if p.template == template.Semver {
		return errSemver
	}
	if err := p.check(e.Kind, e.Name); err != nil {
		return err
	}
	reference := e.reference()
	if e.Undo {
		found, err := p.undeprecate(reference)
		if err == nil && !found {
			err = declcfg.NotFound(fmt.Sprintf("no deprecation of %s", e.Kind), e.Name, nil)
		}
		return err
	}
	all, items := values[declcfg.Deprecations](p)
	for i, d := range all {
		k := slices.IndexFunc(d.Entries, func(d declcfg.Deprecation) bool { return isSame(d.Reference, reference) })
		if k >= 0 {
			return items[i].unit.set(items[i].ptr(at("/entries", k))+"/message", encoded(e.Message))
		}
	}
	entry := joined([]member{{"reference", referenceObject(reference)}, {"message", encoded(e.Message)}})
	if len(items) > 0 {
		return items[0].unit.append(items[0].ptr("/entries"), entry)
	}
	return p.insert(p.end(), joined([]member{
		{"schema", encoded(declcfg.SchemaDeprecations)}, {"package", encoded(p.name)},
		{"entries", listOf(entry)},
	}))
}

// undeprecate removes the deprecations of all references, and reports whether there are any.
func (p *pkg) undeprecate(references ...declcfg.Reference) (found bool, err error) {
	all, items := values[declcfg.Deprecations](p)
	for i, d := range all {
		var indices []int
		for k, entry := range d.Entries {
			if slices.ContainsFunc(references, func(r declcfg.Reference) bool { return isSame(r, entry.Reference) }) {
				indices = append(indices, k)
			}
		}
		switch {
		case len(indices) == 0:
			continue
		case len(indices) == len(d.Entries):
			err = p.remove(items[i])
		default:
			err = items[i].unit.removeElements(items[i].ptr("/entries"), indices...)
		}
		if found = true; err != nil {
			return found, err
		}
	}
	return found, nil
}

func (e Deprecate) reference() declcfg.Reference {
	r := declcfg.Reference{Schema: e.Kind.Schema(), Name: e.Name}
	if e.Kind == Package {
		r.Name = ""
	}
	return r
}

func isSame(a, b declcfg.Reference) bool { return a.Schema == b.Schema && a.Name == b.Name }

// referenceObject returns a reference as it is written: that to the package has no name.
func referenceObject(r declcfg.Reference) jsontext.Value {
	members := []member{{"schema", encoded(r.Schema)}}
	if r.Name != "" {
		members = append(members, member{"name", encoded(r.Name)})
	}
	return joined(members)
}

// at returns the way to an element of a list.
func at(list jsontext.Pointer, i int) jsontext.Pointer { return list.AppendToken(fmt.Sprint(i)) }

// check returns an error unless the package has what a name is the name of, or is it.
func (p *pkg) check(kind Kind, name string) error {
	switch kind {
	case Package:
		return p.checkName(name)
	case Channel:
		_, _, err := p.channel(name)
		return err
	}
	if names := p.bundleNames(); !slices.Contains(names, name) {
		return p.unknown(kind, name, names)
	}
	return nil
}
