package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A building is the image of one catalog, or of opm only.
type building struct {
	dir    string // the catalog; "" for an image of opm only
	flags  buildFlags
	opts   publish.Options
	pusher *image.Pusher
	image  *publish.Image
}

// prepare warns of bases that do not match, and checks that the registry accepts a push. close must be called also if
// it fails.
func (b *building) prepare(cmd *cobra.Command, registry image.Options) (err error) {
	var pushed []string
	if b.flags.push {
		pushed = b.flags.Tags
	}
	if b.pusher, err = image.NewPusher(pushed, registry); err != nil {
		return err
	}
	if err = b.flags.warnOfBase(cmd, b.dir, b.opts.Platforms); err == nil {
		err = b.pusher.Check(cmd.Context())
	}
	b.opts.Limits = registry.Limits
	return err
}

func (b *building) close() {
	if b.image != nil {
		_ = b.image.Close()
	}
	if b.pusher != nil {
		_ = b.pusher.Close()
	}
}

func (b *building) build(cmd *cobra.Command) (*publish.Image, error) {
	if b.flags.onlyOpm {
		return publish.BuildOpm(cmd.Context(), b.opts)
	}
	built, err := publish.Build(cmd.Context(), declcfg.Source{
		Name: b.dir, FS: os.DirFS(b.dir), MaxObject: cmdline.Size(cmd, maxObjectSize),
		Read: display(cmd).Read,
	}, b.opts)
	if err == nil {
		warnIfNone(cmd, built.Summary.Packages, "packages", b.dir)
	}
	return built, err
}

// invalid prints the problems if err is about an invalid catalog, and returns the error that ends the command.
func invalid(cmd *cobra.Command, err error, dir string) error {
	found, ok := errors.AsType[*publish.InvalidError](err)
	if !ok {
		return fmt.Errorf("build image: %w", err)
	}
	if err := input.NotCatalog(cmd.Context(), dir, found.Report); err != nil {
		return err
	}
	return reportProblems(cmd, found.Report.Problems)
}
