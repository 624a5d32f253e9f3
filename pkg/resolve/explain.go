package resolve

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/opm-toolchain/opm/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Explanation says why OLM Classic answers as it does.
type Explanation struct {
	// Decisions says what is chosen and why: for the Subscriptions, then for what the chosen bundles require.
	Decisions []Decision `json:"decisions,omitempty"`

	// Reasons says why nothing can be installed.
	Reasons []*Reason `json:"reasons,omitempty"`

	// Changes lists what would help where nothing can be installed, the smallest change first. Each was tried.
	Changes []Change `json:"changes,omitempty"`

	// Other is what OLM may install instead, as it considers Subscriptions and operators in a random order.
	Other []Choice `json:"other,omitempty"`

	// Incomplete is set where the time was not enough for all reasons, or too many changes would have to be tried.
	Incomplete bool `json:"incomplete,omitempty"`
}

// A Decision is why a bundle was chosen for a Subscription, or for what another bundle requires.
type Decision struct {
	Subscription string      `json:"subscription,omitempty"`
	Bundle       string      `json:"bundle,omitempty"`   // the identifier of the bundle that requires something
	Requires     string      `json:"requires,omitempty"` // what it requires
	Place        declcfg.Pos `json:"place,omitzero"`     // of the Subscription or the requirement

	Chosen    string `json:"chosen"`              // an identifier, like all bundles here
	Installed bool   `json:"installed,omitempty"` // what is chosen is installed: it stays
	Reused    bool   `json:"reused,omitempty"`    // what is chosen was chosen for an earlier decision

	// Preferred lists the candidates that are less preferred: for each rule, the first one.
	Preferred []Preference `json:"preferred,omitempty"`

	// Rejected says why newer or more preferred bundles were not chosen, up to 20. MoreRejected is the number of others.
	Rejected     []*Reason `json:"rejected,omitempty"`
	MoreRejected int       `json:"moreRejected,omitempty"`

	// Wanted is the most preferred candidate of a Subscription that was rejected; with any of Changes, it is chosen.
	Wanted  string   `json:"wanted,omitempty"`
	Changes []Change `json:"changes,omitempty"`

	who, chosen, wanted string // for people
	told                int    // rejected bundles
}

// A Preference is a rule by which the chosen bundle comes before another candidate.
type Preference struct {
	Over string `json:"over"`
	Rule string `json:"rule"`

	over string // for people
}

// A Reason is why bundles cannot be chosen or have to be, and the reasons of that.
type Reason struct {
	Kind     FactKind      `json:"kind"`
	Subjects []string      `json:"subjects,omitempty"` // the bundles, or the Subscription
	Text     string        `json:"text"`
	Places   []declcfg.Pos `json:"places,omitempty"`
	Because  []*Reason     `json:"because,omitempty"`

	names []string // of the subjects, for people
	what  string   // what the text says of one of them
}

// The kinds of facts that are only in reasons.
const (
	FactChosen     FactKind = "chosen"      // the bundle was chosen by an earlier decision
	FactNotOffered FactKind = "not-offered" // the bundle is no candidate of the Subscription
)

// maxRejected is how many rejected candidates of a decision are explained.
const maxRejected = 20

// Explain says why the answer of Classic is as it is. It takes at most as long as Classic may.
func (ns *Namespace) Explain(ctx context.Context, answer *Classic, opts Options) (*Explanation, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(opts.Timeout, defaultTimeout))
	defer cancel()
	explanation := &Explanation{}
	var err error
	switch answer.Outcome {
	case Resolved, Unsatisfiable:
		err = ns.explain(limited, explanation)
	case Undecided: // there is no more to say
		return explanation, ctx.Err()
	default:
		explanation.Reasons = errorReasons(answer)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if limited.Err() != nil {
		explanation.Incomplete, err = true, nil
	}
	return explanation, err
}

// errorReasons returns the reasons why OLM does not resolve at all.
func errorReasons(answer *Classic) []*Reason {
	var reasons []*Reason
	for _, f := range answer.Core {
		reasons = append(reasons, &Reason{
			Kind: f.Kind, Subjects: []string{f.Subject}, Text: f.Subject + ": " + f.Message, Places: f.Places,
		})
	}
	if reasons == nil {
		reasons = []*Reason{{Kind: FactBroken, Text: answer.Message}}
	}
	return reasons
}

// An explainer explains the answer to a question.
type explainer struct {
	*problem
	q            *question
	dependencies map[int]*dependency // by constraint
	subjects     [][]int             // the constraints of each variable, apart from Mandatory ones
	names        map[string]int      // how many variables have the name
	trials       int                 // changes that were tried
	exhausted    bool                // more of them are not tried
}

func newExplainer(q *question) *explainer {
	x := &explainer{problem: q.problem(), q: q, dependencies: map[int]*dependency{}, names: map[string]int{}}
	x.subjects = make([][]int, x.Variables)
	seen := make([]int, len(x.variables)) // dependencies of each variable
	for i, c := range x.Constraints {
		if c.Kind != solver.AtMostOne && c.Kind != solver.Mandatory {
			x.subjects[c.Subject] = append(x.subjects[c.Subject], i)
		}
		if c.Kind == solver.Dependency && c.Subject < len(x.variables) {
			x.dependencies[i] = &x.variables[c.Subject].dependencies[seen[c.Subject]]
			seen[c.Subject]++
		}
	}
	for _, v := range x.variables {
		x.names[v.bundle.name]++
	}
	return x
}

func (ns *Namespace) explain(ctx context.Context, explanation *Explanation) error {
	q := ns.question()
	if err := q.ask(ctx); err != nil {
		return err
	}
	x := newExplainer(q)
	chosen, err := x.Solve(ctx)
	if unsatisfiable, ok := errors.AsType[*solver.Unsatisfiable](err); ok {
		explanation.Reasons = x.story(x.Constraints, unsatisfiable.Core).tell()
		explanation.Changes, err = x.changes(ctx, unsatisfiable.Core, nil)
		return err
	}
	if err != nil {
		return err
	}
	if err := x.other(ctx, chosen, explanation); err != nil {
		return err
	}
	defer func() { explanation.Incomplete = x.exhausted }()
	for _, d := range x.replay(chosen) {
		if !x.isTold(d) {
			continue
		}
		decision, err := x.explain(ctx, d)
		explanation.Decisions = append(explanation.Decisions, decision)
		if err != nil {
			return err
		}
	}
	return nil
}

// isTold reports whether a decision is for a Subscription or for a bundle that is not installed yet.
func (x *explainer) isTold(d decision) bool {
	return x.request(d.Subject) != nil || x.variables[d.Subject].bundle.installed == nil
}

// other sets what OLM may install instead.
func (x *explainer) other(ctx context.Context, chosen []int, explanation *Explanation) error {
	other, err := x.solveReversed(ctx)
	if err == nil && !slices.Equal(chosen, other) {
		var answer Classic
		x.q.steps(&answer, x.bundles(other))
		explanation.Other = answer.Install
	}
	return err
}

// A decision is a choice of the search: a Dependency that is satisfied by one of its candidates.
type decision struct {
	constraint int
	solver.Constraint
	chosen int  // index of Others
	reused bool // chosen by an earlier decision
	before []int
}

// replay returns the decisions that led to what is chosen. Each takes its first candidate with which the earlier
// decisions can hold; so of its candidates that are chosen in the end, it is the first that was taken.
func (x *explainer) replay(chosen []int) []decision {
	dependencies := make([][]int, x.Variables)
	var guesses, queue []int
	for i, c := range x.Constraints {
		switch c.Kind {
		case solver.Mandatory:
			guesses = append(guesses, c.Subject)
		case solver.Dependency:
			dependencies[c.Subject] = append(dependencies[c.Subject], i)
		}
	}
	for _, v := range guesses {
		queue = append(queue, dependencies[v]...)
	}
	var decisions []decision
	for ; len(queue) > 0; queue = queue[1:] {
		d := decision{constraint: queue[0], Constraint: x.Constraints[queue[0]], before: slices.Clip(guesses)}
		d.chosen = slices.IndexFunc(d.Others, func(v int) bool { return slices.Contains(guesses, v) })
		d.reused = d.chosen >= 0
		if !d.reused {
			d.chosen = slices.IndexFunc(d.Others, func(v int) bool { _, ok := slices.BinarySearch(chosen, v); return ok })
			guess := d.Others[d.chosen]
			guesses = append(guesses, guess)
			queue = append(slices.Clip(queue), dependencies[guess]...)
		}
		decisions = append(decisions, d)
	}
	return decisions
}
