package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/olm/audit"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/report"
)

func permissionsCmd() *cobra.Command {
	var f permissionsFlags
	cmd := &cobra.Command{
		Use:   "permissions (STATE... | --catalog NAME=CATALOG)",
		Short: "Show what operators may do, and who may use their APIs",
		Long: `Show the permissions of each operator in STATE, and to which roles of Kubernetes its APIs are
opened; with --catalog, also those of the operators that catalogs would install. Operators of
catalogs with olm.csv.metadata in place of manifests say nothing about permissions.

` + stateNote + `

With --check-operatorgroup, show instead what an OperatorGroup would do to the operators of the
cluster if it was added. The exit status is 1 if one of them would fail.`,
		Example: `  opm permissions --catalog crafts=catalog
  opm permissions cluster.yaml --catalog crafts=catalog -o markdown
  opm permissions cluster.yaml --check-operatorgroup operatorgroup.yaml
  opm permissions kube:staging`,
		Args:              f.args,
		ValidArgsFunction: files,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.state.addCatalog(cmd.Flags())
	f.state.live.add(cmd.Flags())
	f.addGroup(cmd.Flags())
	addOutput(cmd, &f.format, output.Text, output.JSON, output.YAML, output.Markdown)
	addReadFlags(cmd, &f.images)
	permissionsModes.add(cmd)
	return cmd
}

// permissionsFlags are the flags of permissions.
type permissionsFlags struct {
	state  stateFlags
	images imageFlags
	group  string
	format string
}

// checkGroup is the name of a flag.
const checkGroup = "check-operatorgroup"

var permissionsModes = modes{"": "catalog" + liveModes, checkGroup: liveModes}

// addGroup adds --check-operatorgroup.
func (f *permissionsFlags) addGroup(flags *pflag.FlagSet) {
	flags.StringVar(&f.group, checkGroup, "",
		"show only what the OperatorGroup in this `FILE` would break if it was added")
}

// args checks the arguments, and requires a state unless the output is only about catalogs.
func (f *permissionsFlags) args(cmd *cobra.Command, args []string) error {
	if len(f.state.catalogs) > 0 {
		return nil
	}
	return atLeastOne("STATE")(cmd, args)
}

func (f *permissionsFlags) run(cmd *cobra.Command, args []string) error {
	f.state.paths = args
	f.state.question = "permissions"
	if f.group != "" {
		f.state.question = "simulate"
		return f.checkGroup(cmd)
	}
	return f.print(cmd)
}

// checkGroup prints the effects of adding the OperatorGroup in a file to the cluster.
func (f *permissionsFlags) checkGroup(cmd *cobra.Command) error {
	if err := f.state.check(); err != nil {
		return err
	}
	done := display{cmd}.Start("reading")
	defer done()
	state, err := f.state.readState(cmd)
	if err != nil {
		return err
	}
	added, err := (&stateFlags{paths: []string{f.group}}).readState(cmd)
	if err != nil {
		return err
	}
	check, err := audit.CheckGroup(cmd.Context(), state, added)
	if err != nil {
		return fmt.Errorf("--%s %s: %w", checkGroup, f.group, err)
	}
	done()
	if err := printResult(cmd, f.format, &output.Result{Value: check, Report: check.Report}); err != nil {
		return err
	}
	if !check.CanAdd() {
		return failed("the OperatorGroup would break operators: see the output")
	}
	return nil
}

// print prints the permissions of operators and the roles that may use their APIs:
// of the operators in the state, and of the operators that the catalogs would install.
func (f *permissionsFlags) print(cmd *cobra.Command) error {
	return f.state.with(cmd, &f.images, func(state *cluster.State, done func()) error {
		operators := audit.OfState(state)
		for _, c := range f.state.opts.Catalogs {
			if c.Failure == nil {
				operators = append(operators, audit.OfCatalog(c)...)
			}
		}
		done()
		about := func() *report.Report { return audit.ReportOf(operators) }
		return printResult(cmd, f.format, &output.Result{Value: operators, Report: about})
	})
}
