package pipeline

import (
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

// TestRunOpensOnce checks that all steps read the catalog that one of them opened, and that it is closed.
func TestRunOpensOnce(t *testing.T) {
	const dir = "../../../examples/catalog"
	var opened, closed int
	open := func(_, ref string) (*render.Catalog, func(), error) {
		opened++
		c, err := render.Open(t.Context(), []string{ref}, render.Options{})
		return c, func() { closed++; c.Close() }, err
	}
	s, err := Run(t.Context(), Options{
		Sources: []string{dir}, Skip: []Step{CheckImages, Push, Sign, Tag}, Open: open,
		Validate: func() (validate.Options, error) { return validate.Options{}, nil },
		Reported: func(problems []*problem.Problem) ([]*problem.Problem, error) { return problems, nil },
		Resolve:  resolve.Check{Classic: true},
		Dependencies: func() ([]*resolve.Catalog, func(), error) {
			return nil, func() {}, nil
		},
		Platforms: []string{"linux/amd64"},
		OpenPlatforms: func() ([]publish.Platform, func(), error) {
			return []publish.Platform{{Name: "linux/amd64"}}, func() {}, nil
		},
		CheckBase:  func(string, []publish.Platform) error { return nil },
		Progress:   quiet{},
		Warn:       func(*declcfg.Error) {},
		WarnIfNone: func(int, string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil || s.Outcome != Checked || s.Digest == "" {
		t.Errorf("the outcome is %s, digest %q: %v", s.Outcome, s.Digest, err)
	}
	if opened != 1 || closed != 1 {
		t.Errorf("opened %d times, closed %d times", opened, closed)
	}
}
