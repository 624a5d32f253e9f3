package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/render"
)

// bundleRendering are the flags of commands that render bundles: how they are opened, and changed.
type bundleRendering struct {
	level    string
	migrate  bool
	form     string
	target   string
	rewrites []string

	jobs  int
	lock  string
	reuse []string

	bundles bundleFlags
	images  imageFlags
}

func (f *bundleRendering) add(cmd *cobra.Command) {
	flags, forms := cmd.Flags(), texts(render.Forms())
	addMigrateLevelFlag(cmd, &f.level)
	flags.BoolVar(&f.migrate, "migrate", false, "apply all migrations")
	exclude(cmd, "migrate", "migrate-level")
	choiceVar(cmd, &f.form, "bundle-format", "", "", "write the manifests of bundles as `FORM`: "+oneOf(forms), forms...)
	flags.StringVar(&f.target, "target", "", "write bundles in the form that `TARGET` needs, such as ocp=4.16")
	exclude(cmd, "target", "bundle-format")
	flags.StringArrayVar(&f.rewrites, "rewrite-image", nil,
		"replace the registry or repository OLD of images by NEW: `OLD=NEW`")
	flags.IntVar(&f.jobs, "jobs", 0, "open `N` references in parallel (default 16, or the number of CPUs if higher)")
	flags.StringVar(&f.lock, "lock", "", "render images by the digests in the lock `FILE`, and add new ones to it")
	flags.StringArrayVar(&f.reuse, "reuse", nil,
		"take bundles whose locked image no longer exists from this previously rendered `CATALOG`")
	f.bundles.add(cmd)
	addReadFlags(cmd, &f.images)
}

// open returns how references are opened, with the images and the catalogs of --reuse open until closeAll is called.
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
		return opts, usageError{err}
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
		opts.Lock, err = render.ReadLock(f.lock)
	case f.reuse != nil:
		err = usageError{errors.New("--reuse needs --lock")}
	}
	return opts, err
}

func (f *bundleRendering) changes() (render.Changes, error) {
	c := render.Changes{Migration: render.Migration(f.level), Form: render.Form(f.form)}
	if f.migrate {
		c.Migration = render.MigrateAll
	}
	var err error
	if f.target != "" {
		if c.Form, err = render.TargetForm(f.target); err != nil {
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
