package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
)

func filterCmd() *cobra.Command {
	var f filterFlags
	return command{
		Use:   "filter CATALOG",
		Short: "Cut a catalog down to some packages, channels and versions",
		Long: `Print what is left of a catalog with only some of its packages, channels and versions, as
oc-mirror selects them:

  --package kiln                   the head of every channel of the package
  --package kiln:stable,fast       the heads of two channels
  --package kiln:stable --full     the whole channel
  --package 'kiln:stable@>=1.1.0'  the part of the channel from the lowest version in the range to
                                   the highest, and the versions in it that this part skips
  (nothing)                        the head of every channel

A range has the syntax of ">=1.1.0 <2.0.0" or "1.x", and pre-releases only if it names one.

The result is valid: one head for each channel, a default channel that exists, and no version
without an update to the head that had one, in OLM Classic and OLM v1. What is repaired for that is
printed to standard error, and --summary has it as JSON. A version that no repair helps, such as
one whose only update is a bundle that OLM refuses, is a warning. What is kept must be valid: an
error in a bundle or channel that is not kept is a warning. With --keep-going, a bundle that cannot
be used is left out, and its channels are repaired; a package with other errors is left out as a
whole. If OLM cannot install all of the result from the result alone, as opm resolve
--all finds out, that is a warning, too.

--config reads an ImageSetConfiguration of oc-mirror (v1alpha2 or v2alpha1) and keeps what
oc-mirror mirrors of the catalog. CATALOG may be a copy, if the file has no other catalog. The list
of -o images then has none of its blockedImages.` + catalogNote,
		Example: `  opm filter catalog --package kiln:stable --package loom
  opm filter catalog --package 'kiln:stable@>=1.1.0' -o yaml > kiln.yaml
  opm filter catalog --package kiln --full --output-dir kiln-only --summary summary.json
  opm filter catalog --package loom --with-dependencies -o images
  opm filter catalog --config imageset.yaml -o images`,
		flags: func(cmd *cobra.Command) {
			f.addSelection(cmd)
			flags := cmd.Flags()
			flags.StringVar(&f.configCatalog, "config-catalog", "",
				"use the part of --config for catalog `REF`, or at FILE:LINE:COLUMN (default CATALOG)")
			cmdline.ChoiceVar(cmd, &f.format, "output", "o", declcfg.JSON,
				"output format; images lists all images of the bundles", declcfg.JSON, declcfg.YAML, imagesFormat)
			flags.StringVar(&f.dir, "output-dir", "", "write one file per package to `DIRECTORY`, as opm migrate")
			flags.StringVar(&f.summary, "summary", "", "write the kept packages and the changes to `FILE`, as JSON")
			cmdline.Must(cmd.MarkFlagFilename("summary", "json"))
		},
		images: &f.images,
		do:     func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}.cobra()
}

// filterFlags are the flags of filter.
type filterFlags struct {
	packages, defaults    []string
	full, dependencies    bool
	config, configCatalog string

	format       declcfg.Format
	dir, summary string
	images       imageFlags

	entry     *filter.Entry // of the config; nil: the entry of the catalog
	transport bool          // accept docker:// before the references of images

	// unusable returns the reason why an image cannot be used, or nil. With keepGoing, the bundles that name such an image
	// are left out. nil accepts all images.
	unusable func(image string) error

	// use is called with the kept part of the catalog; nil writes it.
	use func(c *catalog, kept *filter.Result) error
}

// imagesFormat prints images instead of objects.
const imagesFormat = "images"

// addSelection adds the flags that select the kept packages, channels and bundles.
func (f *filterFlags) addSelection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.packages, "package", nil, "keep `PACKAGE[:CHANNEL,...][@RANGE]`; repeatable")
	flags.BoolVar(&f.full, "full", false, "keep every version of the channels, not only their heads")
	flags.StringArrayVar(&f.defaults, "default-channel", nil,
		"make `PACKAGE:CHANNEL` the default channel; repeatable")
	flags.BoolVar(&f.dependencies, "with-dependencies", false, "also keep the dependencies of the kept bundles")
	flags.StringVar(&f.config, "config", "", "keep what the ImageSetConfiguration in `FILE` mirrors")
	for _, other := range []string{"package", "full", "default-channel"} {
		cmdline.Exclude(cmd, "config", other)
	}
	cmdline.Must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	flags.BoolVar(&f.images.keepGoing, "keep-going", false,
		"leave out bundles and packages that cannot be used, with a warning for each")
}

func (f *filterFlags) run(cmd *cobra.Command, ref string) error {
	selection, err := f.selection(ref)
	if err != nil {
		return err
	}
	filtering := filter.Filtering{
		Selection: selection, Dependencies: f.dependencies, KeepGoing: f.images.keepGoing, Unusable: f.unusable,
		Warn: func(pos declcfg.Pos, what string) { warnAt(cmd, pos, what) },
	}
	opts := validate.Options{
		ErrorsOnly: true, Transport: f.transport,
		Other: func(m *declcfg.Meta) { filtering.Others = append(filtering.Others, m) },
	}
	done := display(cmd).Start("filtering")
	defer done()
	images := f.images
	images.keepGoing = false // which bundles are left out depends on the selection
	c, report, err := images.openValidated(cmd, openOptions(cmd), ref, opts)
	if err != nil {
		return err
	}
	defer c.close()
	filtering.Sources, filtering.Report, c.index = c.Sources, report, nil
	result, err := filtering.Select(cmd.Context())
	c.Sources = filtering.Sources
	if prevented, ok := errors.AsType[*filter.ProblemsError](err); ok {
		done()
		return cmp.Or(reportProblems(cmd, prevented.Problems), prevented.Err)
	}
	if err != nil {
		return err
	}
	hasDependencies, err := filtering.HasDependencies(cmd.Context(), result)
	if err != nil {
		return err
	}
	done()
	if f.use != nil {
		err = f.use(c, result)
	} else {
		err = f.write(cmd, c, result)
	}
	if err != nil {
		return err
	}
	result.WriteChanges(cmd.ErrOrStderr(), filtering.Index())
	if hasDependencies {
		fmt.Fprintln(cmd.ErrOrStderr(), "hint: --with-dependencies also keeps what these bundles require")
	}
	if f.summary == "" {
		return nil
	}
	return atomicfile.Write(f.summary, atomicfile.Options{Stream: true}, func(w io.Writer) error {
		return (&output.Result{Value: result}).Write(w, output.JSON)
	})
}

// selection returns the packages, channels and bundles to keep.
func (f *filterFlags) selection(ref string) (s filter.Selection, err error) {
	if f.dir != "" && f.format == imagesFormat {
		return s, cmdline.Errorf("--output-dir is for catalogs, not for -o images")
	}
	entry := f.entry
	if f.config != "" && entry == nil {
		config, err := filter.ReadConfig(f.config)
		if err == nil {
			entry, err = config.EntryOf(cmp.Or(f.configCatalog, ref))
		}
		if err != nil {
			return s, err
		}
	}
	if entry != nil {
		s, dependencies := entry.Selection()
		f.dependencies = f.dependencies || dependencies
		return s, nil
	}
	if f.configCatalog != "" {
		return s, cmdline.Errorf("--config-catalog needs --config")
	}
	if s.Packages, err = filter.ParsePackages(f.packages...); err != nil {
		return s, cmdline.Errorf("--package %w", err)
	}
	if f.full {
		s.Rule = filter.All
		if i := slices.IndexFunc(s.Packages, filter.Package.HasRule); i >= 0 {
			name := s.Packages[i].Name
			return s, cmdline.Errorf("--full keeps every version: remove it, or the range of package %q", name)
		}
	}
	for _, text := range f.defaults {
		name, channel, _ := strings.Cut(text, ":")
		i := slices.IndexFunc(s.Packages, func(p filter.Package) bool { return p.Name == name })
		if i < 0 || channel == "" {
			return s, cmdline.Errorf("--default-channel %q: want PACKAGE:CHANNEL of a --package", text)
		}
		s.Packages[i].DefaultChannel = channel
	}
	return s, nil
}

func (f *filterFlags) write(cmd *cobra.Command, c *catalog, result *filter.Result) error {
	ctx := cmd.Context()
	if f.format == imagesFormat {
		images, err := result.Images(ctx)
		if err := cmp.Or(err, c.Unchanged()); err != nil {
			return err
		}
		_, err = io.WriteString(textOutput(cmd), strings.Join(append(images, ""), "\n"))
		return err
	}
	warnOfFlaws(cmd, result.Metas)
	write := declcfg.WriteOptions{
		Format: f.format, Edit: c.Edit, EditObject: result.Edit, Check: c.Unchanged,
	}
	if f.dir != "" {
		return declcfg.WriteDir(ctx, f.dir, result.Metas, write)
	}
	return printObjects(cmd, result.Metas, write)
}
