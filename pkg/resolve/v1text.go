package resolve

import (
	"io"

	"github.com/opm-toolchain/opm/internal/plural"
)

// maxOthers is how many bundles of a catalog are told about that were not candidates.
const maxOthers = 5

// WriteText writes for people why the answer is as it is: what keeps catalogs from being chosen, and newer bundles from
// being candidates.
func (a *V1) WriteText(w io.Writer) error {
	t := &textWriter{}
	for i := range a.Catalogs {
		c := &a.Catalogs[i]
		if c.Why != "" {
			t.line(0, "not catalog %s: %s", c.Name, c.Why)
		}
		if c.offer == nil || c.Why != "" && len(c.Candidates) > 0 {
			continue
		}
		others := c.newer()
		for _, o := range others[:min(len(others), maxOthers)] {
			t.line(1, "not %s: %s", o.Bundle, o.Why)
		}
		if more := len(others) - maxOthers; more > 0 {
			t.line(1, "nor %s", plural.Of(more, "older bundle"))
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// Behind reports whether nothing is chosen, or a newer bundle of the chosen catalog is not.
func (a *V1) Behind() bool {
	for i := range a.Catalogs {
		if c := &a.Catalogs[i]; c.Why == "" && len(c.Candidates) > 0 {
			return a.Outcome != Resolved || len(c.newer()) > 0
		}
	}
	return true
}

// newer returns the bundles with a higher version than the first candidate that are not candidates; all without one.
func (c *V1Catalog) newer() []V1Candidate {
	others := c.Others()
	if len(c.Candidates) == 0 {
		return others
	}
	first := c.offer.steps[0].To.Version
	for i, o := range others { // the highest version first
		b := c.offer.pkg.Bundle(o.Bundle)
		if b.Version == nil || first != nil && b.Version.Compare(*first) <= 0 {
			return others[:i]
		}
	}
	return others
}
