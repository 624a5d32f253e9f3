package validate

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// A Rule is something that a catalog should keep. Problems, the flags that mute them, the reference that opm validate
// --rules prints and tests all come from it.
type Rule struct {
	Name     string
	Severity Severity
	Summary  string // what is asked for, as a sentence without an end
	Reason   string // what goes wrong otherwise
	Fix      string // what to do about a problem; "" where its message says that

	// Bad and Good are files that, added to [Example], break or keep the rule. They hold YAML documents, each of which
	// takes the place of the object with the same schema, package and name; what cannot be read takes no place.
	Bad, Good string

	// Abridged says why Bad only shows what breaks the rule and does not break it itself; "" where it does.
	Abridged string

	// Schema is a CUE file of the user that the examples are about, "" for none.
	Schema string
}

// A group is rules about one kind of thing.
type group struct {
	title string
	rules []Rule
}

var groups = []group{
	{"Any object", loadRules},
	{"Packages", packageRules},
	{"Channels", channelRules},
	{"Updates", updateRules},
	{"Bundles", bundleRules},
	{"Properties", propertyRules},
	{"Deprecations", deprecationsRules},
}

// Rules returns all rules, in the order of the reference: by what they are about.
func Rules() []Rule { return slices.Clone(rules) }

var rules = func() []Rule {
	var all []Rule
	for _, g := range groups {
		all = append(all, g.rules...)
	}
	return all
}()

var rulesByName = func() map[string]*Rule {
	m := make(map[string]*Rule, len(rules))
	for i := range rules {
		m[rules[i].Name] = &rules[i]
	}
	return m
}()

// ruleByName returns a rule that this package reports.
func ruleByName(name string) *Rule {
	r := rulesByName[name]
	if r == nil {
		panic("validate: no rule " + name)
	}
	return r
}

// CheckNames returns an error about the first name that is not that of a rule.
func CheckNames(names []string) error {
	for _, name := range names {
		if rulesByName[name] == nil {
			var known []string
			for _, r := range rules {
				known = append(known, r.Name)
			}
			return fmt.Errorf("unknown rule %q%s; opm validate --rules lists them", name, nearest.Hint(name, known))
		}
	}
	return nil
}
