package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/publish/pipeline"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// renderingFlags are the flags for rendering templates. The value is true if compose has the flag, too.
var renderingFlags = map[string]bool{
	"jobs": true, "migrate": true, "migrate-level": true,
	"bundle-format": false, "env-related-images": false, "lock": false, "reuse": false, "rewrite-image": false,
	"update": false,
	"strict": false, "strict-channels": false, "target": false,
}

// options checks the flags, and returns the options for publishing the catalog of these arguments to the tags.
func (f *publishFlags) options(cmd *cobra.Command, args, tags []string) (opts pipeline.Options, err error) {
	if opts.Skip, err = pipeline.ParseSteps(f.skip); err != nil {
		return opts, err
	}
	build := f.build
	build.Tags = tags
	if opts.Build, err = build.checkImage(); err != nil {
		return opts, err
	}
	f.build.platforms = build.platforms
	if opts.FailOn, err = f.diff.kinds(); err != nil {
		return opts, err
	}
	composing := composeFlags{images: f.build.images, migrate: f.rendering.migrate}
	composing.opts.Format, composing.opts.Jobs = declcfg.YAML, f.rendering.jobs
	composing.opts.Render.Changes.Migration = f.rendering.level
	composing.dockerfile.BaseImage, composing.dockerfile.BuilderImage = defaultImage, defaultImage
	if opts.Compose, err = composing.options(cmd); err != nil {
		return opts, err
	}
	opts.Tags, opts.Platforms, opts.Against = tags, build.platforms, f.report.each.counterpart(f.against)
	opts.DryRun, opts.Sign, opts.SignArgs = f.dryRun, f.sign, f.signArgs
	opts.Template, opts.Lock = f.rendering.opts, f.rendering.lock
	opts.Resolve = resolve.Check{
		Classic: f.olm != olmV1, V1: f.olm != olmClassic, Options: resolve.Options{Timeout: solverTimeout},
	}
	if opts.Making, err = findCatalog(cmd, args); err != nil {
		return opts, err
	}
	opts.Sources = args
	if err := f.checkRendering(cmd, opts.Making); err != nil {
		return opts, err
	}
	return opts, f.configure(args[0], &opts)
}

// configure sets the options that opm.yaml beside a catalog or its source has.
func (f *publishFlags) configure(ref string, opts *pipeline.Options) error {
	c, err := f.report.read(ref)
	if err != nil {
		return err
	}
	// An empty catalog would take all operators away from clusters: nearly always, something before has failed.
	if levels := c.Levels.Rules; levels[validate.NoObjects] == "" {
		levels[validate.NoObjects] = problem.Error
	}
	opts.Validate = func() (validate.Options, error) { return new(validateFlags).options(c, ref) }
	opts.Reported = func(found []*problem.Problem) ([]*problem.Problem, error) {
		found, _, err := problems.Unknown(c.Baseline, c.Levels.Apply(found))
		return found, err
	}
	opts.Resolve.Target, err = c.TargetOf(ref)
	return err
}

// setHooks sets the functions of opts that open catalogs and images, and that print.
func (f *publishFlags) setHooks(cmd *cobra.Command, opts *pipeline.Options) {
	stderr := cmd.ErrOrStderr()
	opts.Open = func(platform, ref string) (*render.Catalog, func(), error) {
		images := f.build.images
		images.platform = platform
		c, err := images.openCatalog(cmd, openOptions(cmd), ref)
		if err != nil {
			return nil, nil, err
		}
		return c.Catalog, c.close, nil
	}
	opts.Pull = func(t *template.Template) (*template.Bundles, func(), error) {
		rendering, images := f.rendering, t.Images()
		rendering.renew = slices.DeleteFunc(slices.Clone(f.rendering.renew), func(ref string) bool {
			return !slices.Contains(images, ref) // another template renews it: its entry stays until then
		})
		return rendering.pull(cmd, t)
	}
	opts.Dependencies = func() ([]*resolve.Catalog, func(), error) {
		return f.build.images.readCatalogs(cmd, f.others)
	}
	opts.CheckBase = func(dir string, platforms []publish.Platform) error {
		return f.build.warnOfBase(cmd, dir, platforms)
	}
	opts.Progress, opts.Warn, opts.Output = display(cmd), warnOnce(cmd), stderr
	opts.WarnIfNone = func(packages int, dir string) { warnIfNone(cmd, packages, "packages", dir) }
	opts.Note = func(line string) { fmt.Fprintf(stderr, "opm: %s\n", line) }
}

// findCatalog returns the step that makes the catalog from the arguments, which are templates or a config of compose.
// It is "" if the argument is a catalog directory.
func findCatalog(cmd *cobra.Command, args []string) (making pipeline.Step, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return "", fmt.Errorf("%s: %w", cmd.Name(), err)
		}
		is := input.Of(cmd.Context(), arg)
		switch {
		case info.IsDir() && len(args) == 1:
			err = input.BundleError(cmd.Context(), arg)
		case is == input.Template:
			making = pipeline.Template
		case len(args) > 1:
			const want = "one directory, one config of opm compose, or templates"
			err = cmdline.Errorf("%s is not a template: want %s", arg, want)
		case is == input.Catalog:
			err = fmt.Errorf("%s: %s is a file of a catalog: want its directory", cmd.Name(), arg)
		default:
			making = pipeline.Compose
		}
		if err != nil {
			return "", err
		}
	}
	return making, nil
}

// checkRendering checks the flags for rendering templates. making is the step that makes the catalog; see findCatalog.
func (f *publishFlags) checkRendering(cmd *cobra.Command, making pipeline.Step) error {
	for _, name := range slices.Sorted(maps.Keys(renderingFlags)) {
		switch ofCompose := renderingFlags[name]; {
		case !cmd.Flags().Changed(name) || making == pipeline.Template || making == pipeline.Compose && ofCompose:
		case ofCompose:
			return cmdline.Errorf("--%s needs a template or a config of opm compose", name)
		default:
			return cmdline.Errorf("--%s needs a template", name)
		}
	}
	_, err := f.rendering.options(cmd)
	return err
}
