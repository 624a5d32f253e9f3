package resolve

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/k8sname"
)

// The limits of a ClusterExtension.
const (
	maxVersionRange = 64 // characters
	maxChannels     = 256
)

// Admit returns the errors with which a cluster refuses the ClusterExtension, each at its field. A range may be refused
// although OLM could resolve it, such as "1.0 - 2.0", and the reverse; an invalid selector is accepted.
func (e *Extension) Admit() field.ErrorList {
	var errs field.ErrorList
	catalog := field.NewPath("spec", "source", "catalog")
	if err := k8sname.Subdomain(e.Package); err != nil {
		errs = append(errs, field.Invalid(catalog.Child("packageName"), e.Package, err.Error()))
	}
	version := catalog.Child("version")
	if utf8.RuneCountInString(e.Version) > maxVersionRange {
		errs = append(errs, field.TooLong(version, e.Version, maxVersionRange))
	}
	if e.Version != "" && !versionRange().MatchString(e.Version) {
		errs = append(errs, field.Invalid(version, e.Version, "invalid version expression"))
	}
	channels := catalog.Child("channels")
	if len(e.Channels) > maxChannels {
		errs = append(errs, field.TooMany(channels, len(e.Channels), maxChannels))
	}
	for i, c := range e.Channels {
		if err := k8sname.Subdomain(c); err != nil {
			errs = append(errs, field.Invalid(channels.Index(i), c, err.Error()))
		}
	}
	return errs
}

// versionRange is the form of a version range that the CustomResourceDefinition asks for. It keeps the slips of the
// original, where a bracket is misplaced: * can be the wildcard of the major version and the patch in the first
// comparator, and of the minor version in the others, elsewhere it is "*]"; and | may be a wildcard like x.
var versionRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` +
		`\s*` + comparator(`[xX|*]`, `[xX]|\*\]`, `[xX*]`) +
		`(?:(?:\s+|,\s*|\s*\|\|\s*)` + comparator(`[xX]|\*\]`, `[xX*]`, `[xX]|\*\]`) + `)*$`)
})

// comparator returns the form of a comparator with these wildcards for the parts of its version.
func comparator(major, minor, patch string) string {
	const (
		operator    = `(?:!=|>=?|=>|<=?|=<|~>?|\^|=)?`
		number      = `0|[1-9]\d*`
		identifiers = `[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`
	)
	return strings.Join([]string{
		operator, `\s*v?(?:`, number, `|`, major, `)(?:\.(?:`, number, `|`, minor, `))?(?:\.(?:`, number, `|`, patch, `))?`,
		`(?:-`, identifiers, `)?(?:\+`, identifiers, `)?\s*`,
	}, "")
}
