package resolve

import (
	"cmp"
	"context"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Explanation explains an answer of OLM Classic.
type Explanation struct {
	// Decisions are the chosen bundles with the reasons: first for the Subscriptions, then for the requirements of
	// bundles.
	Decisions []Decision `json:"decisions,omitempty"`

	// Reasons explain why nothing can be installed.
	Reasons []*Reason `json:"reasons,omitempty"`

	// Changes lists changes that would help if nothing can be installed, the smallest first. Each was tried.
	Changes []Change `json:"changes,omitempty"`

	// Other is an answer that OLM may give instead, because it takes Subscriptions and operators in a random order.
	Other []Choice `json:"other,omitempty"`

	// Incomplete means that there was not enough time for all reasons, or that there were too many changes to try.
	Incomplete bool `json:"incomplete,omitempty"`
}

// A Decision explains the choice of a bundle for a Subscription, or for a requirement of another bundle.
type Decision struct {
	Subscription string      `json:"subscription,omitempty"`
	Bundle       string      `json:"bundle,omitempty"`   // the identifier of the bundle with the requirement
	Requires     string      `json:"requires,omitempty"` // the requirement
	Place        declcfg.Pos `json:"place,omitzero"`     // of the Subscription or the requirement

	Chosen    string `json:"chosen"`              // an identifier, like all bundles here
	Installed bool   `json:"installed,omitempty"` // the chosen bundle is installed and stays
	Reused    bool   `json:"reused,omitempty"`    // the bundle was chosen by an earlier decision

	// Preferred lists the less preferred candidates: the first one for each rule.
	Preferred []Preference `json:"preferred,omitempty"`

	// Rejected explains why newer or more preferred bundles were not chosen, up to 20. MoreRejected counts the others.
	Rejected     []*Reason `json:"rejected,omitempty"`
	MoreRejected int       `json:"moreRejected,omitempty"`

	// Wanted is the most preferred candidate of a Subscription that was rejected; each of Changes would make OLM choose
	// it.
	Wanted  string   `json:"wanted,omitempty"`
	Changes []Change `json:"changes,omitempty"`

	who, chosen, wanted string // for people
	explained           int    // number of bundles in Rejected
}

// A Preference is the rule by which the chosen bundle sorts before another candidate.
type Preference struct {
	Over string `json:"over"`
	Rule string `json:"rule"`

	over string // for people
}

// A Reason explains why bundles cannot be chosen or must be chosen, with the reasons for that in turn.
type Reason struct {
	Kind     FactKind      `json:"kind"`
	Subjects []string      `json:"subjects,omitempty"` // the bundles, or the Subscription
	Text     string        `json:"text"`
	Places   []declcfg.Pos `json:"places,omitempty"`
	Because  []*Reason     `json:"because,omitempty"`

	variables []int    // the subjects as variables of the problem
	names     []string // of the subjects, for people
	what      string   // the predicate of the text, in the singular
}

// The kinds of facts that occur in reasons only.
const (
	FactChosen     FactKind = "chosen"      // the bundle was chosen by an earlier decision
	FactNotOffered FactKind = "not-offered" // the bundle is not a candidate of the Subscription
)

// maxRejected is the maximum number of rejected bundles that a decision explains.
const maxRejected = 20

// explain explains the answer to the question. It has as much time as the answer had.
func (q *question) explain(ctx context.Context, answer *ClassicResult, opts Options) (*Explanation, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(opts.Timeout, defaultTimeout))
	defer cancel()
	e := &Explanation{}
	var err error
	switch answer.Outcome {
	case Resolved:
		err = newExplainer(q.solved).explainChosen(limited, e)
	case Unsatisfiable:
		x := newExplainer(q.solved)
		e.Reasons = x.conflict(x.Constraints, x.core).reasons()
		e.Changes, err = x.changes(limited, x.core, nil)
	case Undecided: // nothing to explain
		return e, ctx.Err()
	default:
		for _, f := range answer.Core {
			e.Reasons = append(e.Reasons, &Reason{
				Kind: f.Kind, Subjects: []string{f.Subject}, Text: f.Subject + ": " + f.Message, Places: f.Places,
			})
		}
		if e.Reasons == nil {
			e.Reasons = []*Reason{{Kind: FactBroken, Text: answer.Message}}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if limited.Err() != nil {
		e.Incomplete, err = true, nil
	}
	if answer.OrderSensitive && q.solved.other == nil { // there was no time to find it
		e.Incomplete = true
	}
	return e, err
}

// An explainer explains the solution of a problem.
type explainer struct {
	*problem
	subjects  [][]int        // the constraints of each variable, apart from Mandatory ones
	names     map[string]int // number of variables with each name
	trials    int            // number of tried changes
	exhausted bool           // there were more changes than maxTrials
}

func newExplainer(p *problem) *explainer {
	x := &explainer{problem: p, subjects: make([][]int, p.Variables), names: map[string]int{}}
	for i, c := range x.Constraints {
		if c.Kind != solver.AtMostOne && c.Kind != solver.Mandatory {
			x.subjects[c.Subject] = append(x.subjects[c.Subject], i)
		}
	}
	for _, v := range x.variables {
		x.names[v.bundle.name]++
	}
	return x
}

// explainChosen explains why the chosen bundles are chosen.
func (x *explainer) explainChosen(ctx context.Context, e *Explanation) error {
	if x.other != nil {
		var other ClassicResult
		x.q.steps(&other, x.bundles(x.other))
		e.Other = other.Install
	}
	defer func() { e.Incomplete = x.exhausted }()
	for _, d := range x.replay(x.chosen) {
		if x.subscription(d.Subject) == nil && x.variables[d.Subject].bundle.installed != nil {
			continue // a requirement of an installed operator
		}
		decision, err := x.explain(ctx, d)
		e.Decisions = append(e.Decisions, decision)
		if err != nil {
			return err
		}
	}
	return nil
}
