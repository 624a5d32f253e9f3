package pipeline

import (
	"fmt"
	"testing"

	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A quiet progress shows nothing.
type quiet struct{}

func (quiet) Start(string, ...string) func() { return func() {} }
func (quiet) Count(int, string)              {}
func (quiet) Did(string)                     {}

// testOptions returns the options of a run with a catalog, which open opens, without a registry.
func testOptions(dir string, open func(_, ref string) (*render.Catalog, func(), error)) Options {
	return Options{
		Sources: []string{dir}, Skip: []Step{CheckImages, Push, Sign, Tag}, Open: open,
		Validate: func() (validate.Options, error) { return validate.Options{}, nil },
		Reported: func(problems []*problem.Problem) ([]*problem.Problem, error) { return problems, nil },
		Resolve:  resolve.Check{Classic: true},
		Dependencies: func() ([]*resolve.Catalog, func(), error) {
			return nil, func() {}, nil
		},
		Platforms: []string{"linux/amd64"},
		OpenPlatforms: func() ([]publish.Platform, error) {
			return []publish.Platform{{Name: "linux/amd64"}}, nil
		},
		CheckBase:  func(string, []publish.Platform) error { return nil },
		Progress:   quiet{},
		Warn:       func(*declcfg.Error) {},
		WarnIfNone: func(int, string) {},
	}
}

// TestRunOpensOnce checks that all steps read the catalog that one of them opened, and that it is closed.
func TestRunOpensOnce(t *testing.T) {
	var opened, closed int
	open := func(_, ref string) (*render.Catalog, func(), error) {
		opened++
		c, err := render.Open(t.Context(), []string{ref}, render.Options{})
		return c, func() { closed++; c.Close() }, err
	}
	all, err := Run(t.Context(), testOptions("../../../examples/catalog", open))
	if err != nil {
		t.Fatal(err)
	}
	s := all[0]
	if err := s.Err(); err != nil || s.Outcome != Checked || s.Digest == "" {
		t.Errorf("the outcome is %s, digest %q: %v", s.Outcome, s.Digest, err)
	}
	if opened != 1 || closed != 1 {
		t.Errorf("opened %d times, closed %d times", opened, closed)
	}
}

// TestRunMustEnd checks that no catalog is read after one whose validation took too much time, and that each step says
// why.
func TestRunMustEnd(t *testing.T) {
	var opened []string
	open := func(_, ref string) (*render.Catalog, func(), error) {
		opened = append(opened, ref)
		c, err := render.Open(t.Context(), []string{"../../../examples/catalog"}, render.Options{})
		return c, func() { c.Close() }, err
	}
	a, b, c := testOptions("a", open), testOptions("b", open), testOptions("c", open)
	b.Validate = func() (validate.Options, error) { return validate.Options{}, validate.ErrSchemas }
	all, err := Run(t.Context(), a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(opened); got != "[a]" {
		t.Errorf("opened %s", got)
	}
	if r := resultOf(all[2].Steps, Validate); r.Status != Blocked || r.Note != "needs the catalog b" {
		t.Errorf("got %+v", r)
	}
	if all[0].Outcome != Checked || all[1].Outcome != Broken || all[2].Outcome != Broken {
		t.Errorf("the outcomes are %s, %s, %s", all[0].Outcome, all[1].Outcome, all[2].Outcome)
	}
}
