// Package constraint reads olm.constraint, a property with a requirement of a bundle, as OLM does.
package constraint

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// MaxSize is OLM's size limit in bytes; its documentation, which says 64 KB, is wrong.
const MaxSize = 2 << 16

// A Constraint is the value of olm.constraint, or one of its terms. OLM uses the first term that is set.
type Constraint struct {
	FailureMessage string `json:"failureMessage"` // OLM shows it for CEL terms only

	GVK     *declcfg.GVK             `json:"gvk"`
	Package *declcfg.PackageRequired `json:"package"`
	All     *Terms                   `json:"all"` // one bundle satisfies all of them
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

// Parse reads the value of an olm.constraint. Like OLM, it rejects unknown keys, and the error has OLM's words.
func Parse(value []byte) (*Constraint, error) {
	if len(value) > MaxSize {
		return nil, fmt.Errorf("olm.constraint value is greater than max constraint size %d bytes", MaxSize)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	c := new(Constraint)
	return c, d.Decode(c)
}
