package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/olm/audit"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/report"
)

func permissionsCmd() *cobra.Command {
	var f permissionsFlags
	return command{
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
		args:     f.args,
		complete: completion.Files,
		flags: func(cmd *cobra.Command) {
			f.state.addCatalog(cmd.Flags())
			f.state.live.add(cmd.Flags())
			f.addGroup(cmd.Flags())
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML, output.Markdown},
		images:  &f.images,
		modes:   permissionsModes,
		run:     f.run,
	}.cobra()
}

// permissionsFlags are the flags of permissions.
type permissionsFlags struct {
	state  stateFlags
	images imageFlags
	group  string
}

// checkGroup is the name of a flag.
const checkGroup = "check-operatorgroup"

var permissionsModes = cmdline.Modes{"": "catalog" + liveModes, checkGroup: liveModes}

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
	return cmdline.WantArgs("STATE...")(cmd, args)
}

func (f *permissionsFlags) run(cmd *cobra.Command, args []string) (*output.Result, error) {
	f.state.paths = args
	f.state.question = "permissions"
	if f.group != "" {
		f.state.question = "simulate"
		return f.checkGroup(cmd)
	}
	return f.permissions(cmd)
}

// checkGroup returns the effects of adding the OperatorGroup in a file to the cluster.
func (f *permissionsFlags) checkGroup(cmd *cobra.Command) (*output.Result, error) {
	if err := f.state.check(); err != nil {
		return nil, err
	}
	defer display(cmd).Start("reading")()
	state, err := f.state.readState(cmd)
	if err != nil {
		return nil, err
	}
	added, err := (&stateFlags{paths: []string{f.group}}).readState(cmd)
	if err != nil {
		return nil, err
	}
	check, err := audit.CheckGroup(cmd.Context(), state, added)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", checkGroup, f.group, err)
	}
	if !check.CanAdd() {
		err = failure.New("the OperatorGroup would break operators: see the output")
	}
	return &output.Result{Value: check, Report: check.Report}, err
}

// permissions returns the permissions of operators and the roles that may use their APIs: of the operators in the
// state, and of the operators that the catalogs would install.
func (f *permissionsFlags) permissions(cmd *cobra.Command) (*output.Result, error) {
	defer display(cmd).Start("reading")()
	state, contents, err := f.state.open(cmd, &f.images)
	if err != nil {
		return nil, err
	}
	defer contents.close()
	operators := audit.OfState(state)
	for _, c := range f.state.opts.Catalogs {
		if c.Failure == nil {
			operators = append(operators, audit.OfCatalog(c)...)
		}
	}
	return &output.Result{Value: operators, Report: func() *report.Report { return audit.ReportOf(operators) }}, nil
}
