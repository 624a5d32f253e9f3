package validate

import (
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// deprecations checks an olm.deprecations by itself.
func (s *scope) deprecations(d *declcfg.Deprecations) {
	if d.Package == "" {
		s.add("deprecations-package", "/package", "the deprecations have no package")
	}
	seen := map[[2]string]bool{}
	for i := range d.Entries {
		e := &d.Entries[i]
		at := index("/entries", i)
		ref := e.Reference
		switch {
		case ref.Schema == "":
			s.add("deprecation-reference", at+"/reference", "the reference has no schema")
		case ref.Schema == declcfg.SchemaPackage && ref.Name != "":
			s.add("deprecation-reference", at+"/reference/name",
				"a reference to the package itself has no name, found %q", ref.Name)
		case ref.Schema != declcfg.SchemaPackage && ref.Schema != declcfg.SchemaChannel && ref.Schema != declcfg.SchemaBundle:
			s.add("deprecation-reference", at+"/reference/schema",
				"nothing of schema %q can be deprecated%s", ref.Schema, nearest.Hint(ref.Schema, reserved[:3]))
		}
		key := [2]string{ref.Schema, ref.Name}
		if seen[key] {
			s.add("duplicate-deprecation", at+"/reference", "%s %q is deprecated twice", ref.Schema, ref.Name)
		}
		seen[key] = true
		if e.Message == "" {
			s.add("deprecation-message", at+"/message", "the deprecation of %s %q has no message", ref.Schema, ref.Name)
		}
	}
}
