package problem_test

import (
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/pkg/problem"
)

func TestAlways(t *testing.T) {
	rules := problem.NewRules("", nil, &problem.Group{Rules: []*problem.Rule{
		{Name: "a", Severity: problem.Info}, {Name: "b", Severity: problem.Warning}, {Name: "c", Severity: problem.Error},
	}})
	of := func(rule string, s problem.Severity) map[string]problem.Severity {
		return map[string]problem.Severity{rule: s}
	}
	elsewhere := map[string]map[string]problem.Severity{"p": of("b", problem.Info), "q": of("b", problem.Off)}
	for _, tt := range []struct {
		levels    problem.Levels
		info, off []string
	}{
		{problem.Levels{}, []string{"a"}, nil},
		{problem.Levels{Rules: of("b", problem.Info)}, []string{"a", "b"}, nil},
		{problem.Levels{Rules: of("b", problem.Info), Packages: elsewhere}, []string{"a"}, nil},
		{problem.Levels{Rules: of("a", problem.Off)}, nil, []string{"a"}},
		{problem.Levels{Rules: of("a", problem.Warning), Strict: true}, nil, nil},
	} {
		info, off := tt.levels.Always(problem.Info, rules), tt.levels.Always(problem.Off, rules)
		if !slices.Equal(info, tt.info) || !slices.Equal(off, tt.off) {
			t.Errorf("%v: always info %q, always off %q; want %q and %q", tt.levels, info, off, tt.info, tt.off)
		}
	}
}
