package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func updatesCmd() *cobra.Command {
	var f updatesFlags
	return command{
		Use:   "updates CATALOG [FROM TO]",
		Short: "Show the updates of installed bundles",
		Long: `Show, for each bundle that can be installed and each channel that it can follow, its next
update and the number of updates to the end of the channel: by OLM Classic, which picks the bundle
nearest the channel head, and by OLM v1, which picks the highest version. Text has only bundles
with something to say: those whose updates differ, are more than one, end before the end of the
channel (stranded), or fail with an error; --all, --from and -o json have the rest too. A second
table shows what the listed bundles depend on, and which packages of the catalog satisfy that. On a
terminal, lines are cut at its width. -o name prints the names of the installed bundles.

With --explain, show why FROM is updated to TO next, or why not. Both are versions or bundle
names. The catalog need not be valid.` + catalogNote,
		Example: `  opm updates catalog
  opm updates catalog --package kiln --channel stable --all
  opm updates catalog --stranded --fail-on stranded
  opm updates catalog --stranded -o name
  opm updates catalog --package kiln --from 1.1.0 --simulate
  opm updates catalog --package kiln --channel stable --explain 1.0.0 1.2.0`,
		args:     f.args,
		complete: f.complete,
		flags:    f.add,
		images:   &f.images,
		report:   &f.report,
		each:     new(eachFlag),
		modes:    updatesModes,
		do:       f.run,
	}.cobra()
}

// updatesFlags are the flags of updates.
type updatesFlags struct {
	planFlags
	across  bool
	version string
	explain bool
	failOn  string // "stranded", or "" for nothing
	opts    list.UpdateOptions
}

func (f *updatesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "show only this `PACKAGE`")
	flags.StringVar(&f.opts.Channel, "channel", "", "show only this `CHANNEL`")
	flags.BoolVar(&f.opts.None, "no-channel", false,
		"show the updates for a Subscription or ClusterExtension without a channel")
	flags.StringVar(&f.opts.From, "from", "", "show only the bundle of this `VERSION` or name")
	flags.BoolVar(&f.all, "all", false, "show all bundles in text too")
	flags.BoolVar(&f.opts.Stranded, "stranded", false, "show only bundles not updated to the end of the channel")
	f.olm.add(cmd, "show in text what this OLM does")
	flags.BoolVar(&f.opts.Differs, "differs", false, "show only bundles whose updates differ in OLM Classic and OLM v1")
	cmdline.ChoiceVar(cmd, &f.failOn, "fail-on", "", "", "exit with 1 if a bundle is", "stranded")
	flags.BoolVar(&f.explain, "explain", false, "explain why FROM is or is not updated to TO")
	flags.BoolVar(&f.opts.Paths, "simulate", false, "show every update to the last one, and loops")
	flags.StringVar(&f.version, "v1-version", "", "version `RANGE` in the ClusterExtension (OLM v1)")
	flags.BoolVar(&f.opts.V1.SelfCertified, "v1-self-certified", false,
		"assume upgradeConstraintPolicy SelfCertified in the ClusterExtension (OLM v1)")
	addReleases(flags, &f.opts.V1.Releases)
	cmdline.AddOutput(cmd, updatesFormats...)
	cmdline.Exclude(cmd, "explain", "simulate", "from", "all", "stranded", "differs")
	cmdline.Exclude(cmd, "olm", "differs", "explain")
	cmdline.Exclude(cmd, "channel", "no-channel")
	cmdline.Exclude(cmd, "fail-on", "explain")
	completion.With(cmd, completion.Bundles, "from")
	f.images.addKeepGoing(cmd)
	f.addAcross(cmd)
}

// updatesFormats are the output formats without --across.
var updatesFormats = []output.Format{output.Text, output.JSON, output.YAML, output.Name}

// addAcross adds --across, the former spelling of opm plan, and its flags, all hidden.
func (f *updatesFlags) addAcross(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.across, "across", false, "plan the upgrade of the platform over the CATALOGs of its versions")
	f.planFlags.add(cmd)
	for name := range strings.FieldsSeq(updatesModes["across"]) {
		if len(updatesModes.Users(name)) == 1 {
			cmdline.Hide(flags, name)
		}
	}
	cmdline.RenameFlag(flags, "across", "opm plan")
	f.report.addRules(cmd)
	cmdline.AlsoAccept(cmd, "output", problem.Formats()...)
}

var updatesModes = cmdline.Modes{
	"": "package channel no-channel from all stranded fail-on olm differs explain simulate v1-version v1-self-certified " +
		"bundle-releases keep-going each",
	"across": "package all olm keep-going installed state info disable warnings-as-errors config baseline " +
		"write-baseline" + liveModes,
	"rules": "",
}

// args checks the arguments: one catalog, or several with --across.
func (f *updatesFlags) args(cmd *cobra.Command, args []string) error {
	if f.across {
		return cmdline.WantArgs("CATALOG...")(cmd, args)
	}
	return cmdline.WantArgs("CATALOG [FROM TO]")(cmd, args)
}

// complete completes the arguments that args accepts.
func (f *updatesFlags) complete(
	cmd *cobra.Command, args []string, start string,
) ([]string, cobra.ShellCompDirective) {
	if f.across {
		return completion.Files(cmd, args, start)
	}
	return completion.Usage("CATALOG [FROM TO]")(cmd, args, start)
}

// check returns an error for flags and arguments that cannot be combined.
func (f *updatesFlags) check(args []string) (err error) {
	if f.olm != olmBoth {
		f.opts.By = graph.Semantics(f.olm)
	}
	switch {
	case f.explain && len(args) != 3:
		return errors.New("--explain needs two bundles, FROM and TO")
	case !f.explain && len(args) > 1:
		return errors.New("FROM and TO need --explain")
	case f.pkg == "" && (f.explain || f.opts.Channel != "" || f.opts.From != ""):
		return errors.New("--explain, --channel and --from need --package")
	}
	if f.version != "" {
		if f.opts.V1.Version, err = graph.ParseConstraint(f.version); err != nil {
			return fmt.Errorf("--v1-version: %w", err)
		}
	}
	return nil
}

func (f *updatesFlags) run(cmd *cobra.Command, args []string) error {
	if f.across {
		refs, err := parseNamedRefs(args)
		if err != nil {
			return err
		}
		return f.planFlags.run(cmd, refs)
	}
	switch form := cmdline.Format(cmd); {
	case !slices.Contains(updatesFormats, form):
		return cmdline.Errorf("--output %s needs opm plan", form)
	case f.explain && form == output.Name:
		return cmdline.Errorf("--explain and --output %s cannot be combined", form)
	}
	if err := f.check(args); err != nil {
		return cmdline.Invalid(err)
	}
	var outline resolve.Outline
	c, err := f.images.openIndex(cmd, outline.ReadIndex, args[0])
	if err != nil {
		return err
	}
	defer c.close()
	chosen, err := list.Choose(c.index, optional(f.pkg)...)
	if err != nil {
		return err
	}
	warnOfRanges(cmd, chosen, optional(f.opts.Channel)...)
	if f.explain {
		f.opts.From = args[1]
		all, err := list.Explain(c.index.Package(f.pkg), f.opts, args[2])
		if err != nil {
			return err
		}
		return f.images.each.print(cmd, list.ExplanationsResult(all))
	}
	return f.print(cmd, chosen, &outline, c.index)
}

func (f *updatesFlags) print(
	cmd *cobra.Command, packages iter.Seq[*declcfg.PackageIndex], outline *resolve.Outline, index *declcfg.Index,
) error {
	warnOnce := printOnce(cmd.ErrOrStderr()) // rows may be computed twice
	f.opts.Refused = func(err error) { warnOnce("opm: warning: " + err.Error()) }
	var err error
	if f.opts.Dependencies, err = outline.Dependencies(cmd.Context(), index, packages); err != nil {
		return err
	}
	failed := cmd.Context().Err
	var n list.UpdateCounts
	all := cmdline.Format(cmd) != output.Text || f.all || f.opts.From != "" || f.opts.Stranded || f.opts.Differs
	f.opts.Notable, f.opts.Count = !all, &n
	rows, err := list.Updates(cmd.Context(), packages, f.opts)
	if err := cmp.Or(failed(), err); err != nil {
		return err
	}
	answer := list.UpdatesResult(rows, f.opts)
	if text := answer.Other[output.Text]; !f.opts.Paths {
		answer.Other[output.Text] = func(w io.Writer) error { return text(console.Fit(w)) }
	}
	answer.Stop = failed
	err = f.images.each.print(cmd, answer)
	if err := cmp.Or(failed(), err); err != nil {
		return incomplete(err)
	}
	if f.opts.Stranded && n.Total == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "opm: no bundle is stranded: each is updated to the end of its channel")
	}
	if f.opts.From != "" && n.Total == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: no channel of package %q contains %s\n", f.pkg, f.opts.From)
	}
	if n.Shown < n.Total {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: showing %s of %s; in the others at most one update leads to the end of the "+
			"channel (--all shows them)\n", plural.Number(n.Shown), plural.Of(n.Total, "row"))
	}
	if f.failOn != "" && n.Stranded > 0 {
		is := plural.Words(n.Stranded, "installed bundle is", "installed bundles are")
		return &failure.Error{Reason: is + " not updated to the end of the channel, and --fail-on names stranded"}
	}
	return nil
}

// optional returns the value of a flag as a list, which is empty if the flag is not set.
func optional(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
