package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func planCmd() *cobra.Command {
	var f planFlags
	each := eachFlag{purpose: "plan over these catalogs, too"}
	return command{
		Use:   "plan [VERSION=]CATALOG...",
		Short: "Plan the updates of operators for the upgrade of a platform",
		Long: `Plan the upgrade of a platform, such as OpenShift, with a catalog for each of its versions, the
oldest first: which installed bundles get to the last version, which must be updated first, who
has to switch to another channel, and who is stuck. Text and Markdown have only plans with another
step than upgrades of the platform; --all has the rest. The version is the target of the catalog
in opm.yaml, or is at the end of its name, as in catalogs/v4.18 or v4.18=CATALOG. A catalog that
cannot be read is left out, and the exit status is 1. It is also 1 if an operator is stuck.
Rules, baselines and opm.yaml, beside the last catalog, are as in opm validate.` + catalogNote,
		Example: `  opm plan v4.18=catalog/kiln v4.19=catalog --all
  opm plan v4.18=catalog/kiln v4.19=catalog --installed kiln.v1.0.0 -o markdown`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVar(&f.pkg, "package", "", "plan for this `PACKAGE` only")
			flags.BoolVar(&f.all, "all", false, "show all plans in text too")
			f.olm.add(cmd, "which OLM to ask")
			addProblemFormat(cmd)
			f.images.addKeepGoing(cmd)
			f.add(cmd)
		},
		images: &f.images,
		each:   &each,
		do: func(cmd *cobra.Command, args []string) error {
			refs, err := each.refs(args...)
			if err != nil {
				return err
			}
			return f.run(cmd, refs)
		},
	}.cobra()
}

// planFlags are the flags of plan.
type planFlags struct {
	report    reportFlags
	pkg       string
	olm       olmFlag
	all       bool
	installed []string
	state     stateFlags
	images    imageFlags
}

// add adds the flags of plan that updates has only for its former spelling, updates --across.
func (f *planFlags) add(cmd *cobra.Command) {
	f.report.Rules = across.Rules
	flags := cmd.Flags()
	flags.StringArrayVar(&f.installed, "installed", nil, "plan for this installed `BUNDLE` only; repeatable")
	flags.StringArrayVar(&f.state.paths, "state", nil,
		"plan for the operators of the cluster with the manifests in this `PATH`, or the live cluster kube:[CONTEXT]; "+
			"repeatable")
	f.state.live.add(flags)
	cmdline.Exclude(cmd, "installed", "state")
	f.report.add(cmd)
}

// run plans the upgrade of a platform, and prints plans and problems. It fails if an operator is stuck.
func (f *planFlags) run(cmd *cobra.Command, refs []*reference.Named) error {
	var leftOut error
	err := f.report.run(cmd, refs[len(refs)-1].Ref, func(*opmyaml.Config) (*problem.Report, error) {
		plans, missing, err := f.plan(cmd, refs)
		if err != nil {
			return nil, err
		}
		report := plans.Report(f.all || f.installed != nil || f.state.paths != nil)
		if fail, ok := errors.AsType[*failure.Error](missing); ok {
			report.Incomplete, leftOut = fail.Reason, missing
		}
		return report, nil
	})
	return cmp.Or(err, leftOut)
}

// plan reads the catalogs and makes the plans. failure is the error about catalogs that are left out.
func (f *planFlags) plan(cmd *cobra.Command, refs []*reference.Named) (r *across.Report, failure, err error) {
	if err := f.state.live.check(f.state.paths); err != nil {
		return nil, nil, err
	}
	opts := across.Options{Package: f.pkg, Bundles: f.installed, OLM: f.olm.semantics()}
	if f.state.paths != nil {
		f.state.question = "plan"
		state, err := f.state.readState(cmd)
		if err != nil {
			return nil, nil, err
		}
		opts.Operators = across.Operators(state)
		warnIfNone(cmd, len(opts.Operators), "installed operators", f.state.paths...)
	}
	catalogs, failure, err := f.read(cmd, refs)
	if err != nil {
		return nil, nil, err
	}
	r, err = across.Run(cmd.Context(), catalogs, opts)
	if err != nil {
		return nil, nil, cmp.Or(failure, err)
	}
	for _, gap := range across.Gaps(catalogs) {
		warn(cmd, "no catalog for the versions between %s: operators are assumed to stay as they are on "+
			"them", gap)
	}
	return r, failure, nil
}

// read reads the catalogs of the versions of a platform with readEach.
func (f *planFlags) read(cmd *cobra.Command, refs []*reference.Named) (all []*across.Catalog, failure, err error) {
	if err := checkDistinct(refs); err != nil {
		return nil, nil, err
	}
	for _, r := range refs {
		p, unknown, err := catalogPlatform(f.report.config, r)
		if err != nil {
			return nil, nil, err
		}
		if unknown != nil {
			return nil, nil, cmdline.Invalid(unknown)
		}
		all = append(all, &across.Catalog{Name: r.Name, Platform: p})
	}
	if err := across.Check(all); err != nil {
		return nil, nil, cmdline.Invalid(err)
	}
	return readEach(cmd, refs, "the plans leave out ", func(i int) (*across.Catalog, error) {
		c, err := f.images.openIndex(cmd, all[i].Read, refs[i].Ref)
		if err != nil {
			return nil, err
		}
		c.close()
		return all[i], nil
	})
}

// catalogPlatform returns the platform of a catalog, by its name or the named configuration; see [opmyaml.PlatformOf].
func catalogPlatform(config string, r *reference.Named) (p platform.Platform, unknown, err error) {
	return opmyaml.PlatformOf(r, func() (*opmyaml.Config, error) { return readConfig(config, r.Ref) })
}
