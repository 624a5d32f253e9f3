package problem

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
)

// A Baseline is problems that are known, so that only new ones count. A problem is known by its rule, package and path;
// it may move in its file, and to another one.
type Baseline struct {
	Problems []Known `json:"problems"`
}

// A Known is a problem in a baseline.
type Known struct {
	Rule    string `json:"rule"`
	Package string `json:"package,omitzero"`
	Path    string `json:"path,omitzero"`
	File    string `json:"file,omitzero"` // of problems without a path, which only differ by place
}

func knownAs(p *Problem) Known {
	k := Known{Rule: p.Rule, Package: p.Package, Path: p.Path}
	if p.Path == "" {
		k.File = p.Pos.File
	}
	return k
}

// NewBaseline returns the baseline in which all problems are known.
func NewBaseline(problems []*Problem) *Baseline {
	b := &Baseline{Problems: []Known{}}
	for _, p := range problems {
		b.Problems = append(b.Problems, knownAs(p))
	}
	slices.SortFunc(b.Problems, func(x, y Known) int {
		return cmp.Or(cmp.Compare(x.Package, y.Package), cmp.Compare(x.Path, y.Path),
			cmp.Compare(x.File, y.File), cmp.Compare(x.Rule, y.Rule))
	})
	b.Problems = slices.Compact(b.Problems)
	return b
}

// ReadBaseline reads what [Baseline.Write] wrote.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b := new(Baseline)
	if err := json.UnmarshalRead(r, b, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a baseline: %w", err)
	}
	return b, nil
}

// Write writes the baseline as JSON, the same for the same problems.
func (b *Baseline) Write(w io.Writer) error {
	return writeJSON(w, b)
}

// Filter returns the problems that are not known.
func (b *Baseline) Filter(problems []*Problem) []*Problem {
	all := make(map[Known]bool, len(b.Problems))
	for _, k := range b.Problems {
		all[k] = true
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p *Problem) bool { return all[knownAs(p)] })
}
