package main

import (
	"fmt"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

const imageRefTemplate = "alpha-image-ref-template"

// bundleFlags are the flags of commands that read bundles.
type bundleFlags struct {
	imageRef  string
	envImages bool
	strict    bool
}

func (f *bundleFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.envImages, "env-related-images", false,
		"add the images in environment variables RELATED_IMAGE_* of bundles to their related images")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail on bundles with files that would be ignored with a warning")
}

// addImageRef adds the flag that sets the image references of bundle directories.
func (f *bundleFlags) addImageRef(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.imageRef, imageRefTemplate, "",
		"image of a bundle directory, as a `TEMPLATE` with {{.Package}}, {{.Name}} and {{.Version}}")
}

// options returns the options for reading bundles. Warnings about ignored files go to standard error.
func (f *bundleFlags) options(cmd *cobra.Command) (*bundle.Options, error) {
	opts := &bundle.Options{Strict: f.strict, EnvImages: f.envImages, Warn: func(e *declcfg.Error) {
		warnAt(cmd, e.Pos, e.Message())
	}}
	if f.imageRef == "" {
		return opts, nil
	}
	tmpl, err := template.New("image").Parse(f.imageRef)
	if err != nil {
		return nil, cmdline.Errorf("--%s: %w", imageRefTemplate, err)
	}
	opts.ImageRef = tmpl
	return opts, nil
}

// bundleRendering are the flags of commands that render bundles: flags for opening bundles, and for changing them.
type bundleRendering struct {
	level    render.Migration
	migrate  bool
	form     render.Form
	target   string
	rewrites []string

	jobs  int
	lock  string
	renew []string // references whose entries in the lock file are not read
	reuse []string

	bundles bundleFlags
	images  imageFlags
}

func (f *bundleRendering) add(cmd *cobra.Command) {
	flags, forms := cmd.Flags(), render.Forms()
	addMigrateLevelFlag(cmd, &f.level)
	flags.BoolVar(&f.migrate, "migrate", false, "apply all migrations")
	cmdline.Exclude(cmd, "migrate", "migrate-level")
	cmdline.ChoiceVar(cmd, &f.form, "bundle-format", "", "",
		"write the manifests of bundles as `FORM`: "+cmdline.OneOf(forms), forms...)
	flags.StringVar(&f.target, "target", "", "write bundles in the form that `TARGET` needs, such as ocp=4.16")
	cmdline.Exclude(cmd, "target", "bundle-format")
	flags.StringArrayVar(&f.rewrites, "rewrite-image", nil,
		"replace the registry or repository OLD of images by NEW: `OLD=NEW`")
	flags.IntVar(&f.jobs, "jobs", 0,
		"open `N` references in parallel (default 20, or the number of CPUs if higher; 64 over HTTP/2)")
	flags.StringVar(&f.lock, "lock", "", "render images by the digests in the lock `FILE`, and add new ones to it")
	flags.StringArrayVar(&f.renew, "update", nil,
		"render the current image of `REF`, and renew its entry in the lock file; repeatable")
	flags.StringArrayVar(&f.reuse, "reuse", nil,
		"take bundles whose locked image no longer exists from this previously rendered `CATALOG`")
	f.bundles.add(cmd)
	addReadFlags(cmd, &f.images)
}

// open returns the options for opening references. Their images and the catalogs of --reuse are open until closeAll is
// called.
func (f *bundleRendering) open(cmd *cobra.Command) (opts render.Options, closeAll func(), err error) {
	if opts, err = f.options(cmd); err != nil {
		return opts, nil, err
	}
	images, err := f.images.open(cmd)
	if err != nil {
		return opts, nil, err
	}
	opts.Images = images.opener
	if f.reuse == nil {
		return opts, func() { images.close() }, nil
	}
	reused, err := render.Open(cmd.Context(), f.reuse,
		render.Options{Spool: opts.Spool, MaxObject: opts.MaxObject, Limits: opts.Limits})
	if err != nil {
		images.close()
		return opts, nil, err
	}
	opts.Reuse = reused.Sources
	return opts, func() {
		reused.Close()
		images.close()
	}, nil
}

// options returns the options for opening references, from the flags.
func (f *bundleRendering) options(cmd *cobra.Command) (opts render.Options, err error) {
	opts = openOptions(cmd)
	if opts.Changes, err = f.changes(); err != nil {
		return opts, cmdline.Invalid(err)
	}
	if err := checkJobs(cmd, f.jobs); err != nil {
		return opts, err
	}
	opts.Jobs = f.jobs
	if opts.Bundles, err = f.bundles.options(cmd); err != nil {
		return opts, err
	}
	switch {
	case f.lock != "":
		if opts.Lock, err = render.ReadLock(f.lock); err == nil {
			err = opts.Lock.Forget(f.renew...)
		}
	case f.renew != nil:
		err = cmdline.Errorf("--update needs --lock")
	case f.reuse != nil:
		err = cmdline.Errorf("--reuse needs --lock")
	}
	return opts, err
}

func (f *bundleRendering) changes() (render.Changes, error) {
	c := render.Changes{Migration: f.level, Form: f.form}
	if f.migrate {
		c.Migration = render.MigrateAll
	}
	var err error
	if f.target != "" {
		if _, err = platform.ParseTarget(f.target); err == nil { // as validate
			c.Form, err = render.TargetForm(f.target)
		}
		if err != nil {
			return c, fmt.Errorf("--target: %w", err)
		}
	}
	for _, text := range f.rewrites {
		r, err := render.ParseRewrite(text)
		if err != nil {
			return c, fmt.Errorf("--rewrite-image: %w", err)
		}
		c.Rewrites = append(c.Rewrites, r)
	}
	return c, nil
}
