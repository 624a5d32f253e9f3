package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Severity tells what a problem means for the catalog.
type Severity string

const (
	// Error is for what upstream rejects: no registry serves such a catalog.
	Error Severity = "error"

	// Warning is for what upstream accepts and a cluster, a registry or a user trips over.
	Warning Severity = "warning"
)

// A Problem is one thing wrong with a catalog. It prints as
//
//	catalog/foo.yaml:6:9: error: package "foo": channel "stable": entries[2].name: no bundle "foo.v2.0.0"; add the
//	olm.bundle, or remove the entry [entry-bundle]
//
// on one line.
type Problem struct {
	Rule     string      // the name of the rule that is broken; see [Rules]
	Severity Severity    // of the rule, unless warnings count as errors
	Pos      declcfg.Pos // where the value starts
	Package  string      // that it is about, "" for none
	Path     string      // the way to the value, from the package down
	Message  string      // what is wrong
	Fix      string      // what to do about it
}

func (p *Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: ", legible.Name(p.Pos.String()), p.Severity)
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", legible.Name(p.Path))
	}
	b.WriteString(legible.Text(p.Message))
	if p.Fix != "" {
		fmt.Fprintf(&b, "; %s", legible.Text(p.Fix))
	}
	fmt.Fprintf(&b, " [%s]", p.Rule)
	return b.String()
}

// sortProblems orders problems by place, and drops those that say the same at the same place.
func sortProblems(problems []*Problem) []*Problem {
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(
			a.Pos.Compare(b.Pos),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(problems, func(a, b *Problem) bool { return *a == *b })
}
