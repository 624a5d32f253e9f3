package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// substitutes is a substitutes template: a complete catalog, and bundles that substitute other bundles in it.
type substitutes struct {
	Schema        string           `json:"schema"`
	Entries       []jsontext.Value `json:"entries"`
	Substitutions []substitution   `json:"substitutions"`

	entries []entry
}

// A substitution replaces a bundle of the catalog by another bundle.
type substitution struct {
	Name string `json:"name"` // image of the substitute
	Base string `json:"base"` // name of the bundle that it substitutes
}

func (s *substitutes) check(t *Template) {
	s.entries = t.readEntries(s.Entries, false)
	used := map[string]jsontext.Pointer{} // key and value of a substitution, such as "base kiln.v1.0.0"
	for i, sub := range s.Substitutions {
		ptr := place.Item("/substitutions", i)
		switch {
		case sub.Name == "" && sub.Base == "":
			t.fail(ptr, "a substitution needs a name, which is an image, and a base, which is a bundle")
		case sub.Name == "":
			t.fail(ptr.AppendToken("name"), "the substitution for %q has no name: want the image of a bundle", sub.Base)
		case sub.Base == "":
			t.fail(ptr.AppendToken("base"), "the substitution by %q has no base: want the name of a bundle", sub.Name)
		case sub.Name == sub.Base:
			t.fail(ptr, "the name and the base are both %q: want an image and the name of a bundle", sub.Name)
		}
		for key, value := range map[string]string{"base": sub.Base, "name": sub.Name} {
			use := key + " " + value
			if first, again := used[use]; again && value != "" {
				t.fail(ptr.AppendToken(key), "%q is already the %s of the substitution at %s", value, key, t.file.Pos(first)[0])
			} else {
				used[use] = ptr
			}
		}
	}
}

func (s *substitutes) pkg() string { return onlyPackage(s.entries) }

func (s *substitutes) images() (all []reference) {
	for i, sub := range s.Substitutions {
		all = append(all, reference{sub.Name, place.Item("/substitutions", i).AppendToken("name")})
	}
	return all
}

// invalid returns the errors that Render can find without the images: problems of the entries as a catalog, and an
// unknown first base.
func (s *substitutes) invalid(ctx context.Context, file *strictyaml.File) []error {
	errs := layOut(file, s.entries).invalid(ctx)
	if err := s.firstBase(file); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// firstBase returns an error if the first base is not a bundle of the catalog. Later bases may be substitutes, whose
// names are only known from their images.
func (s *substitutes) firstBase(file *strictyaml.File) *declcfg.Error {
	if len(s.Substitutions) == 0 {
		return nil
	}
	base := s.Substitutions[0].Base
	var names []string
	for _, e := range s.entries {
		if e.Schema == declcfg.SchemaBundle {
			names = append(names, e.Name)
		}
	}
	if slices.Contains(names, base) {
		return nil
	}
	return file.Errorf(place.Item("/substitutions", 0).AppendToken("base"), noBase, base, nearest.Hint(base, names))
}

const noBase = "no bundle %q%s" // base, hint

func (s *substitutes) render(r *rendering) {
	if r.errs = append(r.errs, s.invalid(r.ctx, r.file)...); len(r.errs) > 0 {
		return
	}
	w := substituting{rendering: r}
	for _, e := range s.entries {
		switch v := e.value.(type) {
		case *declcfg.Channel:
			w.channels = append(w.channels, cloneChannel(v))
			r.add(w.channels[len(w.channels)-1])
		case *declcfg.Bundle:
			w.bundles = append(w.bundles, v)
			if r.includes(v.Package, v.Name, v.Image) {
				r.add(v)
			}
		default:
			r.add(e.object())
		}
	}
	for i, sub := range s.Substitutions {
		w.substitute(place.Item("/substitutions", i), sub)
	}
}

// cloneChannel returns a copy of a channel whose entries and skips can be changed.
func cloneChannel(c *declcfg.Channel) *declcfg.Channel {
	clone := *c
	clone.Entries = slices.Clone(c.Entries)
	for i := range clone.Entries {
		clone.Entries[i].Skips = slices.Clone(clone.Entries[i].Skips)
	}
	return &clone
}

// substituting is the state of a rendering that applies substitutions to a catalog, one after the other.
type substituting struct {
	*rendering
	channels []*declcfg.Channel
	bundles  []*declcfg.Bundle
}

func (w *substituting) substitute(ptr jsontext.Pointer, sub substitution) {
	i := slices.IndexFunc(w.bundles, func(b *declcfg.Bundle) bool { return b.Name == sub.Base })
	if i < 0 {
		var names []string
		for _, b := range w.bundles {
			names = append(names, b.Name)
		}
		w.fail(ptr.AppendToken("base"), noBase, sub.Base, w.hints.Hint(sub.Base, names))
		return
	}
	base := w.bundles[i]
	by := w.rendering.bundles.byImage[sub.Name]
	if !w.includes(by.meta.Package, by.Name, sub.Name) {
		return
	}
	v, err := w.rendering.bundles.decode(sub.Name)
	if err == nil {
		err = checkOrder(base, v)
	}
	if err != nil {
		w.fail(ptr, "%w", err)
		return
	}
	w.used = append(w.used, by.meta)
	w.bundles = append(w.bundles, v)
	for _, c := range w.channels {
		if c.Package == base.Package {
			substitute(c, base.Name, v.Name)
		}
	}
}

// checkOrder returns an error unless the version of the substitute is higher than the version of the base.
func checkOrder(base, by *declcfg.Bundle) error {
	old, err := versionWithRelease(base)
	if err != nil {
		return fmt.Errorf("bundle %q: %w", base.Name, err)
	}
	fresh, err := versionWithRelease(by)
	if err != nil {
		return fmt.Errorf("bundle %q: %w", by.Name, err)
	}
	if old.Compare(fresh) >= 0 {
		return fmt.Errorf("bundle %q has version %s, which is not higher than version %s of bundle %q",
			by.Name, fresh, old, base.Name)
	}
	return nil
}

// versionWithRelease returns the version of b. If b has no release but the annotation olm.substitutesFor, its build
// metadata is its release, as was common before releases existed.
func versionWithRelease(b *declcfg.Bundle) (declcfg.Version, error) {
	v, err := b.Version()
	if err != nil || len(v.Release) > 0 || len(v.Semver.Build) == 0 ||
		b.CSVMetadata().Annotations["olm.substitutesFor"] == "" {
		return v, err
	}
	v.Release, err = declcfg.ParseRelease(strings.Join(v.Semver.Build, "."))
	v.Semver.Build = nil
	return v, err
}

// substitute adds a substitute for the base to a channel that has the base. The substitute takes over the edges of the
// base, and skips the base.
func substitute(c *declcfg.Channel, base, by string) {
	i := slices.IndexFunc(c.Entries, func(e declcfg.Entry) bool { return e.Name == base })
	if i < 0 {
		return
	}
	for j := range c.Entries {
		e := &c.Entries[j]
		switch k := slices.Index(e.Skips, base); {
		case j == i:
		case e.Replaces == base:
			e.Replaces = by
			if k < 0 {
				e.Skips = append(e.Skips, base)
			}
		case k >= 0:
			e.Skips = append(slices.Delete(e.Skips, k, k+1), by)
		}
	}
	old := c.Entries[i]
	c.Entries[i] = declcfg.Entry{Name: base}
	c.Entries = append(c.Entries, declcfg.Entry{
		Name: by, Replaces: old.Replaces, Skips: append(old.Skips, base), SkipRange: old.SkipRange,
	})
}
