package problem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Baseline lists known problems, so that only new ones count. A problem is identified by its subject, not by its
// position: it may move within its file, within its list, and to another file. A problem without a rule is never known.
type Baseline struct {
	Problems []Known `json:"problems"`
}

// A Known is a problem in a baseline.
type Known struct {
	Rule    string   `json:"rule"`
	Package string   `json:"package,omitzero"`
	Channel string   `json:"channel,omitzero"`
	Path    string   `json:"path,omitzero"`   // without list indices
	Names   []string `json:"names,omitempty"` // the bundles, images or values that the problem is about
	File    string   `json:"file,omitzero"`   // for problems without a path, which only differ by position
}

func knownAs(p *Problem) Known {
	k := Known{Rule: p.Rule, Package: p.Package, Channel: p.Channel, Path: withoutIndices(p.Path)}
	k.Names = p.names()
	if p.Path == "" {
		k.File = filepath.ToSlash(p.Pos.File) // a baseline is for all systems
	}
	return k
}

// names returns the names that p is about: its Names, or else the quoted strings of its message. They exclude the hint,
// because it changes when another object gets a similar name.
func (p *Problem) names() []string {
	if len(p.Names) > 0 {
		return p.Names
	}
	message, _, _ := strings.Cut(p.Message, " (did you mean ")
	var names []string
	for _, quoted := range quotes.FindAllString(message, -1) {
		if name, err := strconv.Unquote(quoted); err == nil {
			names = append(names, name)
		}
	}
	return names
}

var quotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// key returns a string that is the same for equal problems only.
func (k Known) key() string {
	return fmt.Sprintf("%q", []any{k.Rule, k.Package, k.Channel, k.Path, k.File, k.Names})
}

func (k Known) compare(other Known) int {
	return cmp.Or(cmp.Compare(k.Package, other.Package), cmp.Compare(k.Channel, other.Channel),
		cmp.Compare(k.Path, other.Path), cmp.Compare(k.File, other.File), cmp.Compare(k.Rule, other.Rule),
		slices.Compare(k.Names, other.Names))
}

func (k Known) String() string {
	about := k.Path
	if about == "" {
		about = k.File
	}
	for _, name := range k.Names {
		about += fmt.Sprintf(" %q", name)
	}
	return fmt.Sprintf("%s [%s]", about, k.Rule)
}

// NewBaseline returns the baseline that contains all problems with a rule.
func NewBaseline(problems []*Problem) *Baseline {
	b := &Baseline{Problems: []Known{}}
	for _, p := range problems {
		if p.Rule != "" {
			b.Problems = append(b.Problems, knownAs(p))
		}
	}
	slices.SortFunc(b.Problems, Known.compare)
	return b
}

// Add adds known problems.
func (b *Baseline) Add(known []Known) {
	b.Problems = append(b.Problems, known...)
	slices.SortFunc(b.Problems, Known.compare)
}

// maxKnown is the maximum number of problems in a baseline.
const maxKnown = 100_000

var errKnown = errors.New("a baseline has at most 100,000 problems")

// ReadBaseline reads the output of [Baseline.Write].
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b, count := new(Baseline), 0
	limit := json.UnmarshalFromFunc(func(*jsontext.Decoder, *Known) error {
		if count++; count > maxKnown {
			return errKnown
		}
		return errors.ErrUnsupported // the default decoder reads it
	})
	err := json.UnmarshalRead(r, b, json.RejectUnknownMembers(true), json.WithUnmarshalers(limit))
	switch {
	case errors.Is(err, errKnown):
		return nil, errKnown
	case err != nil:
		return nil, fmt.Errorf("not a baseline: %w", err)
	}
	return b, nil
}

// Write writes the baseline as JSON. The same problems give the same bytes. It fails if there are too many problems for
// ReadBaseline.
func (b *Baseline) Write(w io.Writer) error {
	if len(b.Problems) > maxKnown {
		return errKnown
	}
	return writeJSON(w, b)
}

// Mark sets [Problem.Known] of the problems that are known. The baseline has those of the published catalog. Entries
// match as in [Baseline.Filter].
func (b *Baseline) Mark(problems []*Problem) {
	unknown, _ := b.Filter(problems)
	for _, p := range problems {
		if len(unknown) > 0 && unknown[0] == p {
			unknown = unknown[1:]
		} else {
			p.Known = true
		}
	}
}

// CountKnown returns the number of known errors and warnings. It must be called before levels make hints of them.
func CountKnown(problems []*Problem) (n int) {
	for _, p := range problems {
		if p.Known && p.Severity != Info {
			n++
		}
	}
	return n
}

// Filter returns the problems that are not known, and the known problems that no longer exist. Each entry of the
// baseline matches one problem: with two equal entries, the third equal problem is unknown.
func (b *Baseline) Filter(problems []*Problem) (unknown []*Problem, stale []Known) {
	left := make(map[string]int, len(b.Problems))
	for _, k := range b.Problems {
		left[k.key()]++
	}
	for _, p := range problems {
		if key := knownAs(p).key(); p.Rule != "" && left[key] > 0 {
			left[key]--
		} else {
			unknown = append(unknown, p)
		}
	}
	for _, k := range b.Problems {
		if key := k.key(); left[key] > 0 {
			left[key]--
			stale = append(stale, k)
		}
	}
	return unknown, stale
}
