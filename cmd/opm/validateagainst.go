package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// validateRules returns the rules of validate: for catalogs, for templates and for --against.
var validateRules = sync.OnceValue(func() *problem.Rules {
	own := template.Rules()
	return problem.NewRules(own.Example, nil, slices.Concat(own.Groups, diff.Rules().Groups)...)
})

// compare marks the problems of a catalog that are known from the catalog --against, and adds the losses of its users.
// A catalog with unreadable parts is not compared, since nothing is known to be lost.
func (f *validateFlags) compare(
	cmd *cobra.Command, opts validate.Options, problems []*problem.Problem, after []declcfg.Source,
) ([]*problem.Problem, error) {
	index, err := f.images.openCatalog(cmd, openOptions(cmd), f.each.counterpart(f.against))
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	defer index.close()
	changes := &diff.Report{}
	if !slices.ContainsFunc(problems, func(p *problem.Problem) bool { return p.Rule == validate.Unreadable }) {
		changes, err = diff.Compare(cmd.Context(), index.Sources, after)
		if err == nil && f.pkg != "" {
			err = changes.Limit(f.pkg)
		}
		if err := cmp.Or(index.Unchanged(), err); err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
	}
	found, err := validate.Catalog(cmd.Context(), opts, index.Sources...)
	if err := cmp.Or(index.Unchanged(), err); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	problem.NewBaseline(found.Problems).Mark(problems)
	return problem.Sort(append(problems, changes.Problems()...)), nil
}

// compareTemplate adds to the problems of a template those of the catalog that it makes, with the place of the
// template.
func (f *validateFlags) compareTemplate(
	cmd *cobra.Command, opts validate.Options, problems []*problem.Problem, file string, text []byte,
) ([]*problem.Problem, error) {
	t, err := template.Parse(file, text, template.Detect, warnOnce(cmd))
	if err != nil {
		return nil, err
	}
	rendering := bundleRendering{images: f.images}
	bundles, closeAll, err := rendering.pull(cmd, t)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	made, err := t.Render(cmd.Context(), bundles, template.Options{})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "opm-validate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	write := declcfg.WriteOptions{Format: declcfg.YAML, Edit: made.Edit}
	if err := declcfg.WriteDir(cmd.Context(), dir, made.Metas, write); err != nil {
		return nil, err
	}
	after := []declcfg.Source{{Name: dir, FS: os.DirFS(dir)}}
	found, err := validate.Catalog(cmd.Context(), opts, after...)
	if err != nil {
		return nil, err
	}
	all, err := f.compare(cmd, opts, found.Problems, after)
	for _, p := range all {
		p.Pos = declcfg.Pos{File: file}
		same := func(q *problem.Problem) bool { return q.Rule == p.Rule && q.Message == p.Message }
		if i := slices.IndexFunc(problems, same); i >= 0 {
			problems[i].Known = problems[i].Known || p.Known
		} else {
			problems = append(problems, p)
		}
	}
	return problem.Sort(problems), err
}

// known returns a line about the problems that are known.
func (f *validateFlags) known(problems []*problem.Problem) []string {
	n := problem.CountKnown(problems)
	if n == 0 {
		return nil
	}
	are := plural.Words(n, "problem is", "problems are")
	return []string{fmt.Sprintf("%s known from %s: --info lists them", are, f.against)}
}
