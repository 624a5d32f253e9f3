package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// resolveAllFlags are the flags of resolve --all.
type resolveAllFlags struct {
	reportFlags
	on         bool
	byChannel  bool
	fromImages bool

	memo    resolve.V1Memo // of all catalogs
	answers []catalogAnswer
}

// A catalogAnswer is an answer of OLM v1, with its catalog.
type catalogAnswer struct {
	Catalog string `json:"catalog,omitzero"` // "" without --each
	resolve.V1Answer
}

// A resolveAllOutput is the output of resolve --all: the problems, as in other checks, and the packages.
type resolveAllOutput struct {
	problem.Result
	Packages []catalogAnswer `json:"packages,omitempty"` // that OLM v1 is asked about, or their channels
}

// resolveFormats are the output formats without --all.
var resolveFormats = []output.Format{output.Text, output.JSON, output.YAML, dot}

// dot is the output format for a drawing with Graphviz.
const dot output.Format = "dot"

func (f *resolveAllFlags) add(cmd *cobra.Command) {
	f.memo = resolve.V1Memo{}
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "all", false, "check what happens to every channel and bundle of the first CATALOG")
	flags.BoolVar(&f.byChannel, "channels", false, "list the channels that OLM v1 can follow, not the packages")
	flags.BoolVar(&f.fromImages, "images", false,
		"read the bundles that OLM v1 installs from their images, if the catalog does not have their manifests")
	f.reportFlags.add(cmd)
	f.addRules(cmd, "each")
}

// check returns an error for a format that is not available with or without --all.
func (f *resolveAllFlags) check(cmd *cobra.Command) error {
	switch format := cmdline.Format(cmd); {
	case format == dot && f.on:
		return cmdline.Errorf("--output dot is for one package, not for --all")
	case format == dot && cmd.Flags().Changed("state"):
		return cmdline.Errorf("--output dot is for one package, not for --state")
	case !f.on && !slices.Contains(resolveFormats, format):
		return cmdline.Errorf("--output %s needs --all", format)
	}
	return nil
}

// runAll checks all packages of the first catalog.
func (f *resolveFlags) runAll(cmd *cobra.Command, args []string) error {
	if (f.all.byChannel || f.all.fromImages) && f.olm == olmClassic {
		return cmdline.Errorf("--channels and --images are for OLM v1")
	}
	_, _, ref := resolve.SplitCatalogName(args[0])
	return f.all.run(cmd, ref, func(c *opmyaml.Config) (*problem.Report, error) {
		if err := f.readTarget(c, ref); err != nil {
			return nil, err
		}
		checked, err := f.checkAll(cmd, args)
		if err != nil {
			return nil, err
		}
		return f.all.report(checked, f.olm == olmV1), nil
	})
}

// checkAll checks the first catalog.
func (f *resolveFlags) checkAll(cmd *cobra.Command, args []string) (*resolve.Checked, error) {
	defer display(cmd).Start("resolving")()
	setup, closeAll, err := f.openSetup(cmd, args)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	if _, err := list.Choose(setup.Catalogs[0].Index, optional(f.setup.Package)...); err != nil {
		return nil, err
	}
	return f.check(cmd, setup).Run(cmd.Context())
}

// check returns the check of a catalog.
func (f *resolveFlags) check(cmd *cobra.Command, setup *resolve.Setup) *resolve.Check {
	w := display(cmd)
	check := &resolve.Check{
		Classic: f.olm != olmV1, V1: f.olm != olmClassic, Namespace: setup.Classic, Package: f.setup.Package,
		SingleOwnNamespace: f.state.opts.SingleOwnNamespace, Releases: f.state.opts.Releases, Target: f.setup.Target,
		ByChannel: f.all.byChannel, Memo: f.all.memo,

		Options: resolve.Options{Timeout: f.timeout},
		Start:   func(total int) { w.Count(total, "packages") }, Checked: w.Did,
	}
	check.Namespace.Subscriptions = nil
	if f.all.fromImages {
		check.Images = f.readImages(cmd)
	}
	return check
}

// readImages returns a function that reads bundles from images.
func (f *resolveFlags) readImages(
	cmd *cobra.Command,
) func(ctx context.Context, refs []string, found resolve.FoundImage) error {
	return func(ctx context.Context, refs []string, found resolve.FoundImage) error {
		from, err := f.images.open(cmd)
		if err != nil {
			return err
		}
		defer from.close()
		if _, err := from.opener(); err != nil {
			return err
		}
		opts := bundleImageOptions(cmd, from)
		opts.Skipped = func(ref string, err error) { found(ref, nil, err) }
		showOpening(cmd, &opts, refs)
		catalog, err := render.Open(ctx, refs, opts)
		if err != nil {
			return err
		}
		defer catalog.Close()
		read := func(o *declcfg.Object) (*bundle.Contents, error) { // the object is valid here only
			v, err := o.Decode()
			b, ok := v.(*declcfg.Bundle)
			if err != nil || !ok {
				return nil, cmp.Or(err, bundle.ErrNoManifests)
			}
			return bundle.ContentsOf(b), nil
		}
		for o, err := range declcfg.Convert(ctx, read, catalog.Sources...) {
			if err != nil {
				return err
			}
			found(o.Meta.Pos.File, o.Value, nil) // each image is its own source
		}
		return nil
	}
}

// report returns the problems with the answers of OLM v1, of all catalogs so far, for JSON and YAML. If listed is set,
// text and Markdown have the answers too.
func (f *resolveAllFlags) report(checked *resolve.Checked, listed bool) *problem.Report {
	name := ""
	if f.each.given() {
		name = f.each.now.Name
	}
	for _, a := range checked.Answers {
		f.answers = append(f.answers, catalogAnswer{name, a})
	}
	r := checked.Report()
	r.Wrap = func(result *problem.Result) any { return &resolveAllOutput{*result, f.answers} }
	if listed && len(checked.Answers) > 0 {
		table := &report.Report{}
		if f.each.given() {
			table.Heading(headingOfEach, report.Name(name))
		}
		checked.Table(table)
		r.Tables = append(r.Tables, table)
	}
	return r
}

// headingOfEach is the level of the heading of each catalog.
const headingOfEach = 3
