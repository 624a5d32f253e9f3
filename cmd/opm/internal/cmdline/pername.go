package cmdline

import (
	"fmt"
	"strings"
)

// A PerName is the value of a flag that is given as VALUE for all, or as NAME=VALUE for one.
type PerName struct {
	All  string            // the last VALUE; the default if set before
	Each map[string]string // by name; nil if none is given
}

// Set implements [pflag.Value]. Text before "=" is a name unless it looks like a path or an address.
func (v *PerName) Set(text string) error {
	name, value, named := strings.Cut(text, "=")
	if !named || strings.ContainsAny(name, "/:@") {
		v.All = text
		return nil
	}
	if value == "" {
		return fmt.Errorf("nothing after the equals sign of %q", text)
	}
	if _, twice := v.Each[name]; twice {
		return fmt.Errorf("%s is given twice", name)
	}
	if v.Each == nil {
		v.Each = map[string]string{}
	}
	v.Each[name] = value
	return nil
}

// String returns All.
func (v *PerName) String() string { return v.All }

// Type returns the name of the type in help texts.
func (v *PerName) Type() string { return "string" }
