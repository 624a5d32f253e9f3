package updatecheck

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Report is the result of a check.
type Report struct {
	// Problems are sorted by position. Their names are the definition, the field, and the bundles updated by the
	// bundle at the position.
	Problems []*problem.Problem

	Updates   int // pairs of bundles
	Unchecked int // updates that were not or only partly checked
	Refused   map[graph.Semantics]int
	Compared  int // pairs of objects

	olm            []graph.Semantics
	knowsResources bool
	comparesEqual  bool
}

// Report returns the problems, with the numbers of updates as counts.
func (r *Report) Report() *problem.Report {
	return &problem.Report{
		Subject: "updates", Problems: r.Problems, Rules: Rules(), Summary: []string{r.Summary()},
		Counts: map[string]int{
			"updates": r.Updates, "unchecked": r.Unchecked,
			"refusedByClassic": r.Refused[graph.Classic], "refusedByV1": r.Refused[graph.V1],
		},
	}
}

// Summary returns a sentence with the numbers of updates, of refused updates, and of unchecked updates.
func (r *Report) Summary() string {
	var refused []string
	for _, olm := range r.olm {
		refused = append(refused, fmt.Sprintf("%s refuses %s", olm.Title(), plural.Number(r.Refused[olm])))
	}
	text := fmt.Sprintf("of %s %s", plural.Of(r.Updates, "update"), strings.Join(refused, " and "))
	if r.Unchecked > 0 {
		text += fmt.Sprintf("; %s cannot be checked", plural.Number(r.Unchecked))
	}
	if !r.evaluatesResources() {
		text += "; custom resources were not evaluated"
	}
	return text
}

// evaluatesResources reports whether custom resources were evaluated, or need not be, because only OLM v1 was checked.
func (r *Report) evaluatesResources() bool {
	return r.knowsResources || !slices.Contains(r.olm, graph.Classic)
}

// A reporter collects the problems of the updates to one bundle.
type reporter struct {
	report   *Report
	verdicts map[pair]verdict
	to       *node
	refusals []*refusal
	byText   map[string]*refusal // by rule and text
}

// A refusal is a problem of the updates from one or more bundles. Its message is before, the names of these bundles,
// and after.
type refusal struct {
	*problem.Problem
	before, after string
	from          []string
}

func newReport(updates []update, verdicts map[pair]verdict, opts Options) *Report {
	r := &Report{
		Compared: len(verdicts), Refused: map[graph.Semantics]int{}, olm: opts.OLM, knowsResources: opts.State != nil,
		comparesEqual: opts.comparesEqual(),
	}
	unread := map[*node]int{} // the number of updates, by the bundle that cannot be read
	hidden := 0
	for _, u := range updates {
		r.Updates += len(u.from)
		p := reporter{report: r, verdicts: verdicts, to: u.to, byText: map[string]*refusal{}}
		for _, from := range u.from {
			p.update(from, unread)
		}
		found := p.problems()
		room := min(len(found), maxProblems-len(r.Problems))
		r.Problems = append(r.Problems, found[:room]...)
		hidden += len(found) - room
	}
	for n, count := range unread {
		p := n.problem(ruleManifests)
		p.Names = []string{n.ref}
		p.Message = fmt.Sprintf("%s not checked, since its manifests cannot be read: %v",
			plural.Words(count, "update is", "updates are"), n.err)
		p.Cause = n.cause()
		r.Problems = append(r.Problems, p)
	}
	if hidden > 0 {
		r.add(ruleTooMany, plural.Words(hidden, "more problem is", "more problems are")+" not reported")
	}
	isDefinition := func(p pair) bool { return p.kind == declcfg.KindCRD && p.before != none }
	if !r.evaluatesResources() && slices.ContainsFunc(slices.Collect(maps.Keys(verdicts)), isDefinition) {
		r.add(ruleResources, "custom resources are not known, so they were not evaluated for OLM Classic")
	}
	problem.Sort(r.Problems)
	return r
}

// add adds a problem that is not about a particular bundle.
func (r *Report) add(rule *problem.Rule, message string) {
	r.Problems = append(r.Problems, &problem.Problem{
		Rule: rule.Name, Severity: rule.Severity, Fix: rule.Fix, Message: message,
	})
}

// update adds the problems of the update from a bundle.
func (p *reporter) update(from *node, unread map[*node]int) {
	if from.err != nil || p.to.err != nil {
		p.report.Unchecked++
		if errors.Is(from.err, errNotInCatalog) {
			p.add(from, Finding{Rule: ruleNotInCatalog}, "the update from ", " is not checked: "+from.err.Error())
			return
		}
		for _, n := range []*node{from, p.to} {
			if n.err != nil {
				unread[n]++
			}
		}
		return
	}
	refused, broken := map[graph.Semantics]bool{}, false
	refuse := func(k key, errs map[graph.Semantics]error) {
		titles := map[string][]string{} // by message
		for _, olm := range p.report.olm {
			if err := errs[olm]; err != nil {
				refused[olm] = true
				titles[err.Error()] = append(titles[err.Error()], olm.Title())
			}
		}
		for _, message := range slices.Sorted(maps.Keys(titles)) {
			p.add(from, Finding{Rule: ruleRefused, Object: k.String()},
				strings.Join(titles[message], " and ")+" cannot finish the update from ", ": "+truncated(message))
		}
	}
	for _, o := range p.to.objects {
		err := o.changed
		if from.find(o.key) == nil {
			err = o.created
		}
		olm := p.report.olm
		if o.olm != nil {
			olm = o.olm
		}
		refuse(o.key, byAll(olm, err))
	}
	for d := range common(from, p.to, p.report.comparesEqual) {
		v := p.verdicts[d]
		if v.err != nil {
			broken = true
			p.add(from, Finding{Rule: ruleCRD, Object: d.name}, "the update from ", " is not checked: "+v.err.Error())
		}
		refuse(d.key, v.refused)
		for _, olm := range p.report.olm {
			found := v.findings[olm]
			refused[olm] = refused[olm] || found.refuses
			for _, f := range found.kept {
				p.add(from, f, olm.Title()+" refuses the update from ", ": "+truncated(f.Message))
			}
			if found.more > 0 {
				p.add(from, Finding{Rule: ruleTooMany, Object: d.name}, olm.Title()+" refuses the update from ", fmt.Sprintf(
					": %s of %q, which this report omits", plural.Words(found.more, "more change", "more changes"), d.name))
			}
		}
	}
	if broken {
		p.report.Unchecked++
	}
	for olm, ok := range refused {
		if ok {
			p.report.Refused[olm]++
		}
	}
}

// maxMessage is the maximum length of a reported message in bytes. An enum could fill most of a definition.
const maxMessage = 4096

// truncated returns a message or, if it is too long, its beginning and its length.
func truncated(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "… (" + plural.Of(len(message), "byte") + ")"
}

func (p *reporter) add(from *node, f Finding, before, after string) {
	key := f.Rule.Name + "\x00" + after
	r := p.byText[key]
	if r == nil {
		r = &refusal{Problem: p.to.problem(f.Rule), before: before, after: after}
		r.Severity = cmp.Or(f.Severity, r.Severity)
		for _, name := range []string{f.Object, f.Field} {
			if name != "" {
				r.Names = append(r.Names, name)
			}
		}
		p.byText[key] = r
		p.refusals = append(p.refusals, r)
	}
	r.from = append(r.from, from.Name)
}

func (p *reporter) problems() []*problem.Problem {
	var all []*problem.Problem
	for _, r := range p.refusals {
		last := len(r.from) - 1
		from := strconv.Quote(r.from[last])
		if last > 0 {
			from += " and " + plural.Words(last, "other", "others")
		}
		r.Message = r.before + from + r.after
		if r.Severity == problem.Error {
			r.Cause = r.Package + ": " + r.before + r.after // equal for the same change in updates of another bundle
		}
		r.Names = append(r.Names, r.from...)
		all = append(all, r.Problem)
	}
	return all
}

// cause returns the read error of the manifests without the image reference, so that it is equal for all images of an
// unavailable registry. It is "" for an image that does not exist.
func (n *node) cause() string {
	text := n.err.Error()
	switch {
	case errors.Is(n.err, image.ErrNotFound):
		return ""
	case n.ref == "":
		return text
	}
	return strings.ReplaceAll(text, n.ref, "")
}

// problem returns a problem of the bundle.
func (n *node) problem(rule *problem.Rule) *problem.Problem {
	return &problem.Problem{
		Rule: rule.Name, Severity: rule.Severity, Pos: n.pos, Package: n.pkg,
		Path: fmt.Sprintf("package %q: bundle %q", n.pkg, n.Name),
	}
}
