// Package constraint reads olm.constraint, the property by which a bundle requires others, as OLM does.
package constraint

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// MaxSize is how many bytes OLM accepts; its documentation, which says 64 KB, is wrong.
const MaxSize = 2 << 16

// A Constraint is the value of olm.constraint, or a term of one. Of the kinds of terms, OLM uses the first that is set.
type Constraint struct {
	FailureMessage string `json:"failureMessage"` // OLM shows it for CEL terms only

	GVK     *declcfg.GVK             `json:"gvk"`
	Package *declcfg.PackageRequired `json:"package"`
	All     *Terms                   `json:"all"` // one bundle satisfies all
	Any     *Terms                   `json:"any"` // a bundle satisfies one of them
	Not     *Terms                   `json:"not"` // a bundle satisfies none of them
	CEL     *CEL                     `json:"cel"`
}

// Terms are the terms of a compound constraint.
type Terms struct {
	Constraints []Constraint `json:"constraints"`
}

// CEL is a condition on the properties of a bundle.
type CEL struct {
	Rule string `json:"rule"`
}

// Parse reads the value of an olm.constraint. The error has the words of OLM, which rejects unknown keys.
func Parse(value []byte) (*Constraint, error) {
	if len(value) > MaxSize {
		return nil, fmt.Errorf("olm.constraint value is greater than max constraint size %d bytes", MaxSize)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	c := new(Constraint)
	return c, d.Decode(c)
}
