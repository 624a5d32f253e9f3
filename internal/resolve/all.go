package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	problems "github.com/opm-toolchain/opm/pkg/problem"
)

// A Check resolves, for every channel of a catalog, a new installation, and the update of each bundle when that bundle
// is the only installed operator.
type Check struct {
	Classic bool // check with OLM Classic
	V1      bool // check with OLM v1, if the target has it, against this catalog only: OLM v1 installs no dependencies

	// Namespace has the catalogs for OLM Classic: the first one is checked, the others provide dependencies. It must
	// have no Subscriptions and no installed operators.
	Namespace ClassicRequest

	SingleOwnNamespace, Releases bool // the feature gates of OLM v1, see [V1Request]

	Target platform.Platform // of the cluster with OLM v1, see [V1Request]

	// ByChannel lists what OLM v1 installs for each channel, not for each package.
	ByChannel bool

	// Lenient makes what only OLM v1 cannot install info even if OLM Classic is not asked.
	Lenient bool

	// Images reads the bundles that OLM v1 installs, of which the catalog has no manifests, from their images. It calls
	// found for each reference. Nil reads none.
	Images func(ctx context.Context, refs []string, found FoundImage) error
	// Memo has the bundles that were read from images, for further checks; nil if there are none.
	Memo V1Memo

	Package string           // the only package to check; "" for all packages
	Options Options          // of each resolution
	Start   func(total int)  // called with the number of packages; may be nil
	Checked func(pkg string) // called after each package, in order; may be nil
}

// Checked is the result of a Check.
type Checked struct {
	// Problems are sorted. Each cause in a package is one problem, regardless of the number of questions it affects.
	Problems    []*problems.Problem
	Classic, V1 Tally

	// Answers of OLM v1 are in the order of packages and channels.
	Answers []V1Answer

	check *Check
}

// A Tally counts questions by their outcome.
type Tally struct {
	Questions  int // new installations and installed bundles
	HeldBack   int // questions in which a dependency keeps OLM from a newer bundle
	Unresolved int // questions that OLM answers with an error
}

// Summary returns the counts as a sentence.
func (t Tally) Summary() string {
	return fmt.Sprintf("%s new installations and updates: %s as they should be, %s held back, %s unresolved",
		plural.Number(t.Questions), plural.Number(t.Questions-t.HeldBack-t.Unresolved), plural.Number(t.HeldBack),
		plural.Number(t.Unresolved))
}

// A NamedTally is the Tally of a version of OLM.
type NamedTally struct {
	OLM string // "OLM Classic" or "OLM v1"
	Tally
}

// Tallies returns the tallies with questions.
func (c *Checked) Tallies() []NamedTally {
	all := []NamedTally{{"OLM Classic", c.Classic}, {"OLM v1", c.V1}}
	return slices.DeleteFunc(all, func(t NamedTally) bool { return t.Questions == 0 })
}

// Report returns the problems as a report that has the tallies as counts. If only OLM v1 was asked, its answers are
// counted in the summary.
func (c *Checked) Report() *problems.Report {
	r := &problems.Report{Subject: "catalog", Rules: Rules(), Problems: c.Problems, Counts: map[string]int{}}
	for key, t := range map[string]Tally{"classic": c.Classic, "v1": c.V1} {
		if t.Questions > 0 {
			r.Counts[key+"Questions"], r.Counts[key+"HeldBack"] = t.Questions, t.HeldBack
			r.Counts[key+"Unresolved"] = t.Unresolved
		}
	}
	for key, n := range c.countInstalls() {
		r.Counts["v1"+key] = n
	}
	for _, t := range c.Tallies() {
		r.Summary = append(r.Summary, t.OLM+": "+t.Summary())
	}
	switch {
	case !c.check.Classic:
		r.Summary = append(r.Summary, c.v1Summary())
	case c.check.V1 && c.check.Target.OLMv1 == platform.OLMv1Absent:
		r.Summary = append(r.Summary, fmt.Sprintf("%s has no OLM v1, which is not asked", c.check.Target))
	}
	return r
}

// countInstalls counts the answers of OLM v1, by a word for JSON; nil if there are none.
func (c *Checked) countInstalls() map[string]int {
	if len(c.Answers) == 0 {
		return nil
	}
	words := map[Installs]string{InstallsYes: "Installs", InstallsNo: "Refuses", InstallsUnknown: "Unknown"}
	counts := map[string]int{"Installs": 0, "Refuses": 0, "Unknown": 0}
	for _, a := range c.Answers {
		counts[words[a.Installs]]++
	}
	return counts
}

// Table adds the answers of OLM v1 to a report as a table.
func (c *Checked) Table(out *report.Report) {
	columns := []string{"package", "channel", "bundle", "installed by OLM v1"}
	var rows [][]string
	for _, a := range c.Answers {
		rows = append(rows, []string{report.Name(a.Package), report.Name(a.Channel), report.Name(a.Bundle), a.verdict()})
	}
	if !c.check.ByChannel {
		columns = slices.Delete(columns, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	out.Table(columns, rows)
}

// verdict returns whether OLM v1 installs the bundle, and the reasons against it.
func (a *V1Answer) verdict() string {
	var reasons []string
	for _, r := range a.Reasons {
		reasons = append(reasons, strings.ReplaceAll(r.Message, "\n", "; "))
	}
	why := strings.Join(reasons, "; ")
	switch {
	case a.Installs == InstallsUnknown:
		return why
	case why != "":
		return string(a.Installs) + ": " + why
	}
	return string(a.Installs)
}

// v1Summary returns the counts of the answers of OLM v1 as a sentence. They are about packages or channels.
func (c *Checked) v1Summary() string {
	noun, n := "package", c.countInstalls()
	if c.check.ByChannel {
		noun = "channel"
	}
	text := fmt.Sprintf("OLM v1 installs %s of %s, and refuses %s", plural.Number(n["Installs"]),
		plural.Of(len(c.Answers), noun), plural.Number(n["Refuses"]))
	if unknown := n["Unknown"]; unknown > 0 {
		text += fmt.Sprintf("; %s not known", plural.Words(unknown, "is", "are"))
		if slices.ContainsFunc(c.Answers, func(a V1Answer) bool { return a.needsImage }) {
			text += " without --images"
		}
	}
	return text
}

// Run answers all questions. Packages are checked in parallel. The error is the error of ctx, or [ErrEvaluations].
func (c *Check) Run(ctx context.Context) (*Checked, error) {
	var packages []*declcfg.PackageIndex
	for _, x := range c.Namespace.Catalogs[0].Index.Packages() {
		if x.Name != "" && (c.Package == "" || c.Package == x.Name) {
			packages = append(packages, x)
		}
	}
	if c.Start != nil {
		c.Start(len(packages))
	}
	result, requirements := &Checked{check: c}, newRequirementReader()
	if c.V1 && c.Images != nil && c.Target.OLMv1 != platform.OLMv1Absent {
		if err := c.readImages(ctx, packages); err != nil {
			return nil, err
		}
	}
	var err error
	for p := range parallel.Map(ctx, 0, slices.Values(packages), c.check(ctx, requirements)) {
		result.add(p)
		err = errors.Join(err, p.err)
		if c.Checked != nil {
			c.Checked(p.x.Name)
		}
	}
	result.Problems = problems.Sort(result.Problems)
	if err := cmp.Or(ctx.Err(), requirements.compiler.Err()); err != nil {
		return nil, err
	}
	return result, err
}

func (c *Checked) add(p *packageCheck) {
	for _, cause := range p.causes {
		found := cause.problem(p.x.Name)
		if found.Pos.File == "" && len(p.x.Packages) > 0 {
			found.Pos = p.x.Packages[0].Meta.Pos
		}
		if cause.rule == ruleV1NotInstallable && (p.Check.Classic || p.Lenient) {
			found.Severity = problems.Info
		}
		c.Problems = append(c.Problems, found)
	}
	c.Answers = append(c.Answers, p.answers...)
	c.Classic.add(p.classicTally)
	c.V1.add(p.v1Tally)
}

func (t *Tally) add(u Tally) {
	t.Questions += u.Questions
	t.HeldBack += u.HeldBack
	t.Unresolved += u.Unresolved
}

// A packageCheck is the check of one package.
type packageCheck struct {
	*Check
	x       *declcfg.PackageIndex
	catalog *Catalog

	requirements requirementReader // its limits apply to all packages together

	causes map[[2]string]*cause
	err    error

	classicTally, v1Tally Tally
	answers               []V1Answer
}

func (c *Check) check(ctx context.Context, requirements requirementReader) func(*declcfg.PackageIndex) *packageCheck {
	return func(x *declcfg.PackageIndex) *packageCheck {
		p := &packageCheck{Check: c, x: x, requirements: requirements}
		p.catalog, p.causes = c.Namespace.Catalogs[0], map[[2]string]*cause{}
		if c.Classic {
			p.err = p.askClassic(ctx)
		}
		if c.V1 && c.Target.OLMv1 != platform.OLMv1Absent {
			p.askV1()
		}
		return p
	}
}

// askClassic resolves all questions of every channel with OLM Classic.
func (p *packageCheck) askClassic(ctx context.Context) error {
	inChannel := map[string][]*entry{}
	for _, e := range p.catalog.list().byPackage[p.x.Name] {
		inChannel[e.channel.name] = append(inChannel[e.channel.name], e)
	}
	// The limit of CEL evaluations is shared; nothing else is safe for concurrent use.
	requirements := requirementReader{p.requirements.compiler.Another(), map[string]*readRequirement{}}
	for _, o := range p.x.Channels {
		if o.Value == nil {
			continue
		}
		offered := inChannel[o.Value.Name]
		own := keep(offered, func(e *entry) bool { return e.pkg == p.x.Name })
		p.classicTally.Questions += 1 + len(own)
		if isPlain(offered) {
			continue
		}
		for _, installed := range append([]*entry{nil}, own...) {
			err := p.askSolver(ctx, p.question(o.Value.Name, installed, requirements))
			if err = cmp.Or(err, p.requirements.compiler.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPlain reports whether OLM installs the first candidate of a Subscription to the entries, so that no solver is
// needed: the entries are in one channel with a valid order, require nothing, and can all be installed.
func isPlain(entries []*entry) bool {
	if len(entries) == 0 || slices.ContainsFunc(entries, func(e *entry) bool { return e.channel != entries[0].channel }) {
		return false
	}
	requires := func(p Property) bool { return requirementParsers[p.Type] != nil }
	name := func(p packageVersion) string { return p.name }
	same := func(gvk declcfg.GVK) declcfg.GVK { return gvk }
	for _, e := range entries {
		if e.deprecated || slices.ContainsFunc(e.properties, requires) || repeats(e.gvks, same) || repeats(e.packages, name) {
			return false
		}
	}
	_, err := entries[0].channel.order()
	return err == nil
}

// repeats reports whether two values have the same key.
func repeats[T any, K comparable](values []T, key func(T) K) bool {
	seen := make(map[K]bool, len(values))
	for _, v := range values {
		if seen[key(v)] {
			return true
		}
		seen[key(v)] = true
	}
	return false
}

// question returns the question about a Subscription to a channel, with the entry installed unless it is nil.
func (p *packageCheck) question(channel string, installed *entry, requirements requirementReader) *question {
	ns := p.Namespace
	s := Subscription{
		Name: "sub", Package: p.x.Name, Channel: channel, Catalog: p.catalog.Name, CatalogNamespace: p.catalog.Namespace,
	}
	if installed != nil {
		in, _ := p.catalog.Operator(p.x.Name, installed.bundle.name)
		in.Pos = installed.bundle.meta.Pos
		ns.Installed = []Installed{in}
		s.InstalledCSV, s.CurrentCSV = in.Name, in.Name
	}
	ns.Subscriptions = []Subscription{s}
	q := ns.question()
	q.requirements = requirements
	return q
}

// askSolver answers one question. It calls the solver only if the dead ends do not already decide the answer.
func (p *packageCheck) askSolver(ctx context.Context, q *question) error {
	s := q.Subscriptions[0]
	failed := effect{channel: s.Channel, installed: s.InstalledCSV}
	var dead *deadEnds
	var candidates []*entry
	answer, err := p.Options.bound(ctx, func(ctx context.Context) (*ClassicResult, error) {
		if err := q.addVariables(ctx); err != nil {
			return nil, err
		}
		candidates, dead = q.subscriptions[0].candidates, q.deadEnds()
		if dead.explains(candidates) {
			return &ClassicResult{Outcome: Unsatisfiable}, nil
		}
		return q.solve(ctx)
	})
	if err != nil {
		return err
	}
	if answer.Outcome != Resolved {
		p.classicTally.Unresolved++
		p.addEffect(dead, candidates, answer, ruleClassicUnresolved, failed)
		return nil
	}
	got := s.InstalledCSV
	for _, c := range slices.Concat(answer.Install, answer.Unchanged) {
		if s.follows(c) {
			got = c.Bundle
		}
	}
	best := slices.IndexFunc(candidates, func(e *entry) bool { return !e.deprecated })
	if best < 0 || got == candidates[best].bundle.name {
		return nil
	}
	p.classicTally.HeldBack++
	wanted := candidates[best].bundle.name
	candidates = candidates[best : best+1]
	if !dead.explains(candidates) {
		q.subscriptions[0].candidates = candidates
		if answer, err = p.Options.bound(ctx, q.solve); err != nil {
			return err
		}
	}
	p.addEffect(dead, candidates, answer, ruleClassicHeldBack, effect{s.Channel, s.InstalledCSV, got, wanted})
	return nil
}

// deadEnds are the entries that can never be chosen: deprecated bundles, and bundles with a requirement that no bundle
// satisfies, or only dead ends.
type deadEnds struct {
	question *question
	entries  map[*entry]bool
}

func (q *question) deadEnds() *deadEnds {
	s := &deadEnds{q, map[*entry]bool{}}
	isBlocked := func(d dependency) bool { return s.all(d.candidates) }
	for found := true; found; {
		found = false
		for e, v := range q.variables {
			if !s.entries[e] && (e.deprecated || slices.ContainsFunc(v.dependencies, isBlocked)) {
				s.entries[e], found = true, true
			}
		}
	}
	return s
}

// explains reports whether there are candidates and all of them are dead ends. It returns false for a nil receiver.
func (s *deadEnds) explains(candidates []*entry) bool {
	return s != nil && len(candidates) > 0 && s.all(candidates)
}

// all reports whether all entries are dead ends; it is true for an empty list.
func (s *deadEnds) all(entries []*entry) bool {
	return !slices.ContainsFunc(entries, func(e *entry) bool { return !s.entries[e] })
}

// roots finds the root causes why entries are dead ends. It calls found with each variable that is a root cause, and
// with its dependency that has no provider, or with nil if its bundle is deprecated.
func (s *deadEnds) roots(entries []*entry, found func(*variable, *dependency)) {
	seen := map[*entry]bool{}
	for todo := entries; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		if seen[e] {
			continue
		}
		seen[e] = true
		v := s.question.variables[e]
		if e.deprecated {
			found(v, nil)
		}
		for i := range v.dependencies {
			switch d := &v.dependencies[i]; {
			case len(d.candidates) == 0:
				found(v, d)
			case s.all(d.candidates):
				todo = append(slices.Clip(todo), d.candidates...)
			}
		}
	}
}
