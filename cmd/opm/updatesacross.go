package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/problem"
)

const acrossHelp = `With --across, plan the upgrade of the platform, such as OpenShift, with a catalog for each of its
versions, the oldest first: which installed bundles get to the last version, which must be updated
first, who has to switch to another channel, and who is stuck. Text and Markdown have only plans
with another step than upgrades of the platform; --all has the rest. The version is the target of
the catalog in opm.yaml, or is at the end of its name, as in catalogs/v4.18 or v4.18=CATALOG. A
catalog that cannot be read is left out, and the exit status is 1. It is also 1 if an operator is
stuck.
Rules, baselines and opm.yaml, beside the last catalog, are as in opm validate.`

// acrossFlags are the flags of updates --across.
type acrossFlags struct {
	reportFlags
	on        bool
	installed []string
	state     stateFlags
}

func (f *acrossFlags) add(cmd *cobra.Command) {
	f.rules = across.Rules
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "across", false, "plan the upgrade of the platform over the CATALOGs of its versions")
	flags.StringArrayVar(&f.installed, "installed", nil, "plan for this installed `BUNDLE` only; may be repeated")
	flags.StringArrayVar(&f.state.paths, "state", nil,
		"plan for the operators of the cluster with the manifests in this `PATH`; may be repeated")
	exclude(cmd, "installed", "state")
	f.reportFlags.add(cmd)
}

// runAcross plans the upgrade of a platform, and prints plans and problems. It fails if an operator is stuck.
func (f *updatesFlags) runAcross(cmd *cobra.Command, args []string) error {
	refs, err := parseNamedRefs(args)
	if err != nil {
		return err
	}
	c, err := f.across.read(refs[len(refs)-1].ref)
	if err != nil {
		return err
	}
	report, leftOut, err := f.planAcross(cmd, refs)
	if err != nil {
		return err
	}
	result := report.Report()
	if fail, ok := errors.AsType[*failure](leftOut); ok {
		result.Incomplete = fail.reason
	}
	plans := report.Plans
	if !f.all && f.across.installed == nil && f.across.state.paths == nil {
		plans = slices.DeleteFunc(slices.Clone(plans), (*across.Plan).Direct)
	}
	out := outputAs(cmd, f.format)
	switch {
	case f.across.writeBaseline || len(plans) == 0:
	case f.format == string(problem.Text):
		err = report.Table(plans).Text(out)
	case f.format == string(problem.Markdown):
		err = report.Table(plans).Markdown(out)
		fmt.Fprintln(out)
	}
	if err != nil {
		return err
	}
	err = f.across.print(cmd, cmd.ErrOrStderr(), f.format, c, result, report.Summary())
	return cmp.Or(err, leftOut)
}

// planAcross reads the catalogs and makes the plans. failure is the error about catalogs that are left out.
func (f *updatesFlags) planAcross(cmd *cobra.Command, refs []*namedRef) (r *across.Report, failure, err error) {
	opts := across.Options{Package: f.pkg, Bundles: f.across.installed, OLM: f.olm.semantics()}
	if f.across.state.paths != nil {
		state, err := f.across.state.readState(cmd)
		if err != nil {
			return nil, nil, err
		}
		opts.Operators = across.Operators(state)
		warnIfNone(cmd, len(opts.Operators), "installed operators", f.across.state.paths...)
	}
	catalogs, failure, err := f.readAcross(cmd, refs)
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

// readAcross reads the catalogs of the versions of a platform with readEach.
func (f *updatesFlags) readAcross(cmd *cobra.Command, refs []*namedRef) (all []*across.Catalog, failure, err error) {
	if err := checkDistinct(refs); err != nil {
		return nil, nil, err
	}
	for _, r := range refs {
		p, unknown, err := catalogPlatform(f.across.config, r)
		if err := cmp.Or(err, unknown); err != nil {
			return nil, nil, err
		}
		all = append(all, &across.Catalog{Name: r.name, Platform: p})
	}
	if err := across.Check(all); err != nil {
		return nil, nil, usageError{err}
	}
	return readEach(cmd, refs, "the plans leave out ", func(i int) (*across.Catalog, error) {
		use := func(opened *catalog, done func()) error {
			err := all[i].Read(cmd.Context(), opened.Sources...)
			done()
			return opened.check(all[i].Index, err)
		}
		return all[i], f.images.withCatalog(cmd, "reading", openOptions(cmd), []string{refs[i].ref}, use)
	})
}

// versionAtEnd finds the version of a platform at the end of the name of a catalog or of an image.
var versionAtEnd = regexp.MustCompile(`(?:^|[/:=_-])v?([0-9]+\.[0-9]+)$`)

// catalogPlatform returns the platform of a catalog: the version at the end of the name that it is given, the target in
// the named configuration or in the opm.yaml beside it, or the version at the end of its directory or tag. unknown is
// the reason why it is not known.
func catalogPlatform(config string, r *namedRef) (p platform.Platform, unknown, err error) {
	named, errNamed := platformOf(r)
	if errNamed == nil && r.name != baseName(r.ref) {
		return named, nil, nil
	}
	c, err := readConfig(config, r.ref)
	if err != nil {
		return platform.Platform{}, nil, err
	}
	if p, err := c.targetOf(r.ref); err != nil || p != (platform.Platform{}) {
		return p, nil, err
	}
	return named, errNamed, nil
}

// platformOf returns the platform in the name of a catalog or in the tag of its image.
func platformOf(r *namedRef) (platform.Platform, error) {
	for _, text := range []string{r.name, r.ref} {
		found := versionAtEnd.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		v, err := platform.ParseVersion(found[1])
		switch {
		case err != nil:
			return platform.Platform{}, usageError{err}
		case v.Major < 4:
			return platform.Platform{Kubernetes: v}, nil
		}
		return platform.OpenShift(v), nil
	}
	return platform.Platform{}, usageError{
		fmt.Errorf("no version of a platform at the end of %q; name it, as in v4.18=%[1]s", r.ref),
	}
}
