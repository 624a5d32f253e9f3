package problem

import (
	"maps"
	"slices"
)

// Off is the level of a rule that is not reported.
const Off Severity = "off"

// Levels are the severities that a user sets for rules, by name. The zero value changes nothing.
type Levels struct {
	Rules    map[string]Severity            // for all packages
	Packages map[string]map[string]Severity // by package name; they override Rules
	Strict   bool                           // turns warnings into errors, after the other levels apply
}

// of returns the severity of a problem at these levels.
func (l Levels) of(p *Problem) Severity {
	level, ok := l.Packages[p.Package][p.Rule]
	if !ok {
		level, ok = l.Rules[p.Rule]
	}
	if !ok {
		level = p.Severity
	}
	if l.Strict && level == Warning {
		return Error
	}
	return level
}

// Apply sets the severities of problems and removes the problems that are [Off].
func (l Levels) Apply(problems []*Problem) []*Problem {
	for _, p := range problems {
		p.Severity = l.of(p)
	}
	return slices.DeleteFunc(problems, func(p *Problem) bool { return p.Severity == Off })
}

// Errors returns the rules that the user made errors in some package, in alphabetical order.
func (l Levels) Errors() []string {
	var names []string
	for _, rules := range append(slices.Collect(maps.Values(l.Packages)), l.Rules) {
		for name, level := range rules {
			if level == Error {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Always returns the names of the rules that have the severity in every package.
func (l Levels) Always(s Severity, rules *Rules) []string {
	var names []string
	for i := range rules.all {
		p := Problem{Rule: rules.all[i].Name, Severity: rules.all[i].Severity}
		always := l.of(&p) == s
		for p.Package = range l.Packages {
			always = always && l.of(&p) == s
		}
		if always {
			names = append(names, p.Rule)
		}
	}
	return names
}
