package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func composeCmd() *cobra.Command {
	var f composeFlags
	return command{
		Use:   "compose CONFIG",
		Short: "Compose a catalog of references to other catalogs",
		Long: `Compose a catalog of references to other catalogs, as CONFIG lists them:

  name: crafts                                 # the directory of the catalog
  repo: registry.example/pottery/crafts        # its image; repo and tag can be left out
  tag: latest
  references:
  - name: kiln                                 # a directory in that of the catalog
    image: registry.example/pottery/kiln-catalog:v1

An image can be anything with a catalog that opm render accepts; a path starts at the directory
of CONFIG. There, or in --output-dir, compose writes NAME with a directory for each reference,
NAME.Dockerfile, and NAME.compose.json, which records what it wrote. It replaces and deletes
nothing else. Nothing is written unless all references can be rendered and the catalog is valid.

An image is rendered again only if its digest has changed. A reference that is removed from CONFIG
is removed from the catalog.`,
		Example: `  opm compose crafts.yaml
  opm compose crafts.yaml --dry-run -o json
  opm compose crafts.yaml --conflicts last --base-image scratch --output-dir .`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVar(&f.opts.Dir, "output-dir", "", "write to `DIRECTORY` (default that of CONFIG)")
			cmdline.ChoiceVar(cmd, &f.opts.Format, "format", "", declcfg.YAML, "format of the catalog",
				declcfg.JSON, declcfg.YAML)
			cmdline.ChoiceVar(cmd, &f.opts.Conflicts, "conflicts", "", "",
				"what to do about a package in several references (default \"conflicts\" of CONFIG, or fail)",
				compose.Policies()...)
			addMigrateLevelFlag(cmd, &f.opts.Render.Changes.Migration)
			flags.BoolVar(&f.migrate, "migrate", false, "apply all migrations")
			cmdline.Exclude(cmd, "migrate", "migrate-level")
			flags.BoolVar(&f.opts.Overwrite, "overwrite", false,
				"replace and delete files that compose did not write, or that were changed since")
			flags.BoolVar(&f.opts.DryRun, "dry-run", false, "print what would be done, and write nothing")
			flags.IntVar(&f.opts.Jobs, "jobs", 0, "render `N` references in parallel (default 4)")
			f.dockerfile.add(cmd)
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML},
		images:  &f.images,
		run:     f.run,
	}.cobra()
}

// composeFlags are the flags of compose.
type composeFlags struct {
	opts    compose.Options
	migrate bool

	dockerfile dockerfileFlags
	images     imageFlags
}

func (f *composeFlags) run(cmd *cobra.Command, args []string) (*output.Result, error) {
	result, err := f.compose(cmd, args[0])
	if wrong, ok := errors.AsType[*compose.ProblemsError](err); ok {
		return nil, reportProblems(cmd, wrong.Problems)
	}
	if err != nil {
		return nil, err
	}
	if result.Dockerfile.Status == compose.Kept {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: %s is kept, since compose did not write it; --overwrite replaces it\n",
			result.Dockerfile.File)
	}
	return output.InText(result, result.WriteText), nil
}

// compose composes the catalog of a config file.
func (f *composeFlags) compose(cmd *cobra.Command, path string) (*compose.Result, error) {
	if err := checkJobs(cmd, f.opts.Jobs); err != nil {
		return nil, err
	}
	config, err := compose.ReadConfig(path)
	if err != nil {
		return nil, err
	}
	opts, err := f.options(cmd)
	if err != nil {
		return nil, err
	}
	images, err := f.images.open(cmd)
	if err != nil {
		return nil, err
	}
	defer images.close()
	opts.Render.Images = images.opener
	defer display(cmd).Start("composing")()
	return compose.Run(cmd.Context(), config, opts)
}

// options returns the options that the flags set, without the opener of images.
func (f *composeFlags) options(cmd *cobra.Command) (compose.Options, error) {
	opts := f.opts
	opts.Warn = warnOfLeftovers(cmd)
	opts.Platform, opts.Render = f.images.platform, openOptions(cmd)
	opts.Render.Changes = f.opts.Render.Changes
	if f.migrate {
		opts.Render.Changes.Migration = render.MigrateAll
	}
	err := f.dockerfile.complete()
	if why := f.dockerfile.Unfinished(); err == nil && why != nil {
		err = cmdline.Invalid(why)
	}
	opts.BaseImage, opts.BuilderImage, opts.Labels = f.dockerfile.BaseImage, f.dockerfile.BuilderImage, f.dockerfile.Labels
	return opts, err
}
