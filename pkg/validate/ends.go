package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// One mistake in a channel may have consequences for many bundles, each of which breaks further rules. A consequence is
// part of the problem that caused it, unless [Options] lists its rule in Alone.

// An affected is a bundle that breaks an update rule, with its description for the message.
type affected struct {
	bundle *graph.Bundle
	text   string
}

// checkEnds follows the updates of every bundle to their end. It reports the bundles that do not end at the head (OLM
// Classic) or at the highest version (OLM v1), and the bundles that OLM Classic and OLM v1 update differently.
func (u *channelUpdates) checkEnds() {
	latest, links := u.latestOfMinors(), u.skippedLinks()
	var classic, v1, loops, stuck, differing []affected
	stuckAt, v1Ends := map[string]*graph.Bundle{}, map[string]bool{}
	for _, b := range u.channel.Members() {
		at, _, ok := u.classic.End(b)
		switch {
		case !ok:
			loops = append(loops, affected{b, b.Name})
		case at != u.head:
			u.addCauseNamed(b, links, at.Name)
			classic = append(classic, affected{b, b.Name})
			if z := latest[minorOf(b)]; z != nil && b.Version != nil && isBelow(b, z) && isBelow(at, z) {
				stuck = append(stuck, affected{b, b.Name + " never reaches " + z.Name})
				stuckAt[at.Name] = b
			}
		}
		if at, _, _ := u.v1.End(b); u.top != nil && b.Version != nil && isBelow(at, u.top) {
			u.addCauseNamed(b, u.lower, at.Name)
			u.addCauseNamed(b, u.lower, u.top.Name)
			v1 = append(v1, affected{b, b.Name})
			v1Ends[at.Name] = true
		}
		one, _ := u.classic.Next(b)
		other, _ := u.v1.Next(b)
		if one.To != other.To {
			u.addCauseNamed(b, u.lower, b.Name)
			differing = append(differing, affected{b, fmt.Sprintf("%s to %s or %s", b.Name, nameOf(one), nameOf(other))})
		}
	}
	u.report(stuck, len(stuck), ruleZRelease, "", "")
	for _, a := range classic { // a problem that stops one bundle stops every bundle that ends at the same one
		at, _, _ := u.classic.End(a.bundle)
		if i, ok := u.causes[stuckAt[at.Name]]; ok {
			u.addCause(i, a.bundle)
		}
	}
	u.report(classic, len(classic), ruleUpdateClassic, "OLM Classic does not update to the head "+u.head.Name+" from ", "")
	u.report(loops, len(loops), ruleUpdateLoop, "OLM Classic never stops updating from ", "")
	if u.top != nil {
		u.report(v1, len(v1), ruleUpdateV1, "OLM v1 does not update to the highest version "+u.top.Name+" from ",
			u.deprecatedAfter(v1Ends))
	}
	u.report(differing, 1, ruleUpdatesDiffer, "OLM Classic and OLM v1 update differently: ", "")
	for i := range u.found {
		f := &u.found[i]
		if len(f.rules) > 0 {
			f.msg += " (consequences: " + strings.Join(f.rules, ", ") + ")"
		}
		slices.Sort(f.names)
		f.names = slices.Compact(f.names)
	}
}

// skippedLinks returns the problems about entries that are both replaced and skipped. The key is the name of a bundle
// that such an entry updates.
func (u *channelUpdates) skippedLinks() map[string]int {
	links := map[string]int{}
	for _, e := range u.channel.Entries() {
		i, ok := u.skipped[e.Name]
		if !ok {
			continue
		}
		for _, name := range append([]string{e.Replaces}, e.Skips...) {
			links[name] = i
		}
	}
	return links
}

// deprecatedAfter lists the deprecated bundles whose entries replace or skip one of the named bundles, as text.
func (u *channelUpdates) deprecatedAfter(names map[string]bool) string {
	var deprecated []string
	for _, e := range u.channel.Entries() {
		b := u.pkg.Bundle(e.Name)
		follows := names[e.Replaces] || slices.ContainsFunc(e.Skips, func(name string) bool { return names[name] })
		if b != nil && b.Deprecated && follows {
			deprecated = append(deprecated, e.Name)
		}
	}
	if len(deprecated) == 0 {
		return ""
	}
	return "; deprecated in between: " + strings.Join(deprecated, ", ")
}

// cause reports a problem of the update from the named bundle to an entry, and records it in causes as a possible cause
// of other problems.
func (u *channelUpdates) cause(
	causes map[string]int, entry, name string, rule *problem.Rule, ptr jsontext.Pointer, format string, args ...any,
) {
	if f := u.add(rule, ptr, format, args...); f != nil {
		causes[name] = len(u.found) - 1
		f.names = []string{entry, name}
	}
}

// addCauseNamed makes the problem about the named bundle, if there is one, the cause of the problems of b.
func (u *channelUpdates) addCauseNamed(b *graph.Bundle, causes map[string]int, name string) {
	if i, ok := causes[name]; ok {
		u.addCause(i, b)
	}
}

// addCause makes a problem the cause of the problems of b, unless they already have a cause.
func (u *channelUpdates) addCause(cause int, b *graph.Bundle) {
	if _, known := u.causes[b]; !known {
		u.causes[b] = cause
	}
}

// maxConsequences is the maximum number of bundles that a message names as a consequence of its problem.
const maxConsequences = 5

// report reports the bundles that break a rule. A bundle with a known cause becomes a consequence of it, unless the
// cause is less severe. The other bundles share one problem, which becomes the cause of their later problems. Its
// message names at most limit of them.
func (u *channelUpdates) report(all []affected, limit int, rule *problem.Rule, what, why string) {
	if u.v.isOff(rule) {
		return
	}
	var own []affected
	caused := map[int][]affected{}
	for _, a := range all {
		i, ok := u.causes[a.bundle]
		if ok && !u.v.alone[rule.Name] && u.found[i].rule.Severity.AtLeast(rule.Severity) {
			caused[i] = append(caused[i], a)
		} else {
			own = append(own, a)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(caused)) {
		f := &u.found[i]
		if len(f.rules) == 0 && !f.ends { // the message describes only the first consequence
			f.msg += ", so that " + legible.Value(what+list(caused[i], maxConsequences))
		}
		f.rules = append(f.rules, rule.Name)
		for _, a := range caused[i] {
			f.names = append(f.names, a.bundle.Name)
		}
	}
	if len(own) == 0 {
		return
	}
	f := u.add(rule, "/entries", "%s%s%s", what, list(own, limit), why)
	if f == nil {
		return
	}
	f.ends = true
	for _, a := range own {
		f.names = append(f.names, a.bundle.Name)
		u.causes[a.bundle] = len(u.found) - 1
	}
}

// list returns the texts of the first bundles, up to limit, and the number of the others.
func list(all []affected, limit int) string {
	var texts []string
	for _, a := range all[:min(limit, len(all))] {
		texts = append(texts, a.text)
	}
	text := strings.Join(texts, ", ")
	if more := len(all) - len(texts); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
