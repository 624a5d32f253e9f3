package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/catalogsource"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/simulate"
)

// simulate simulates what can be read of the state, even if that is not all.
func (f *simulateFlags) simulate(cmd *cobra.Command) error {
	done := progress(cmd, "simulating")
	defer done()
	if err := f.state.check(); err != nil {
		return err
	}
	state, refused := f.state.readState(cmd)
	if state == nil {
		return refused
	}
	problems, err := state.Check(cmd.Context())
	if err != nil {
		return err
	}
	refused = joinByPlace(refused, problems)
	catalogs, closeAll, err := f.images.readCatalogs(cmd, f.state.catalogs, warnOfInvalid)
	if err != nil {
		return err
	}
	defer closeAll()
	f.options.Cluster = f.state.options(catalogs)
	f.options.Cluster.Down = f.down
	r, err := simulate.Run(cmd.Context(), state, f.options)
	if err != nil {
		return err
	}
	if err := f.compare(state, r); err != nil {
		return err
	}
	done()
	warnOfTemplates(cmd, state)
	if err := writeSimulation(outputAs(cmd, f.format), r, f.format); err != nil {
		return err
	}
	if refused == nil && !r.Done() {
		return failed("the cluster does not reach the desired state: see the output")
	}
	return refused
}

// warnOfTemplates says which CatalogSources keep their image although they have a template for it.
func warnOfTemplates(cmd *cobra.Command, state *cluster.State) {
	for o := range state.CatalogSources.All() {
		template, ok := o.Value.Annotations[catalogsource.TemplateAnnotation]
		if !ok {
			continue
		}
		if err := catalogsource.CheckTemplate(template); err != nil {
			what := fmt.Sprintf("CatalogSource %q keeps spec.image: metadata.annotations[%q]: %v",
				o.Value.Namespace+"/"+o.Value.Name, catalogsource.TemplateAnnotation, err)
			fmt.Fprintln(cmd.ErrOrStderr(), placed(o.Pos, problem.Warning, what))
		}
	}
}

// joinByPlace joins errors, which may be joined themselves, with problems.
func joinByPlace(err error, problems []*declcfg.Error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	for _, p := range problems {
		all = append(all, p)
	}
	slices.SortStableFunc(all, declcfg.CompareErrors)
	return errors.Join(all...)
}

// compare adds the differences to the result, and writes its objects, as the flags say.
func (f *simulateFlags) compare(before *cluster.State, r *simulate.Result) (err error) {
	if f.diff {
		if r.Changes, err = cluster.Diff(before, r.State); err != nil {
			return err
		}
	}
	if f.write != "" {
		if err := atomicfile.NewDir(f.write, r.State.Write); err != nil {
			return fmt.Errorf("--write %s: %w", f.write, err)
		}
	}
	return nil
}

func writeSimulation(w io.Writer, r *simulate.Result, format string) error {
	if format == "prometheus" {
		return r.WriteMetrics(w)
	}
	return writeReport(w, r, format, r.WriteText, r.WriteMarkdown)
}
