package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/publish/pipeline"
)

func checkCmd() *cobra.Command {
	f := publishFlags{onlyCheck: true, report: reportFlags{each: eachFlag{together: true}}}
	f.build.base = baseScratch // it needs no opm for the platform, and is not built
	return command{
		Use:   "check (DIRECTORY | CONFIG | TEMPLATE...)",
		Short: "Check a catalog as opm publish does, without its image",
		Long: `Check a catalog before it is published, as for a pull request: a directory, what opm compose makes
of CONFIG, or what opm render-template makes of each TEMPLATE. The steps are those of opm publish
without the image: validate, resolve (--all), check-images, and diff with the catalog of --against
or the image at --tag; if that does not exist yet, all is new. A step that fails does not stop the
others. opm.yaml beside the argument is read. --each checks several catalogs; {{.Catalog}} in --tag
is the name of each.

The summary on standard output is Markdown that fits into a comment on a pull request, JSON with
everything, or with -o github the problems as annotations, at their lines. The exit status is 1 if
the catalog has problems, and 2 if something else failed.`,
		Example: `  opm check catalog --skip check-images
  opm check catalog --against catalog/kiln --skip check-images --summary summary.md
  opm check crafts.yaml --skip check-images -o json
  opm check --each catalog/ --skip check-images -o github`,
		args:     f.args,
		complete: completion.Files,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringArrayVarP(&f.build.Tags, "tag", "t", nil,
				"the image `REF` of the catalog, to compare with if it exists")
			f.add(cmd, cmdline.Texts(slices.DeleteFunc(pipeline.Optional(), func(s pipeline.Step) bool {
				return s == pipeline.Build || s == pipeline.Push
			})))
		},
		each: &f.report.each,
		do:   f.run,
	}.cobra()
}
