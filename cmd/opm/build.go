package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/publish"
)

func buildCmd() *cobra.Command {
	var f buildFlags
	args := exactArgs("DIRECTORY")
	cmd := &cobra.Command{
		Use:   "build DIRECTORY",
		Short: "Build the image of a catalog, without a container engine",
		Long: `Validate a catalog and build its image, with the store from which opm serves it at once. The
image has the entry point, paths and labels of one that is built with the Dockerfile of opm
generate dockerfile. It goes to an OCI layout, to an archive, and with --push to each --tag; tags
change when all repositories have the image. Its digest is printed.

The base is this opm with certificates, and nothing else; its binaries for other platforms come
with --opm-binary. If this opm needs libraries, as one of go install does if there is a C
compiler, the binary of its release is taken from the same directory, such as linux-amd64-opm.
Another --base-image must have opm at /bin/opm. If that is upstream's, the image has no store,
since upstream refuses a cache that is not its own. Base "scratch" leaves
opm out: a CatalogSource then needs grpcPodConfig.extractContent. --only-opm builds an image
without a catalog, which can be the base and builder of a Dockerfile.

The same catalog, opm and flags give the same digest everywhere. Times are those of
SOURCE_DATE_EPOCH, or 1970. Each package is in one of at most 40 layers, so that an update moves
little more than what changed.`,
		Example: `  opm build catalog --base-image scratch -l vendor=Pottery --archive catalog.tar
  opm build catalog -i scratch --platform linux/amd64,linux/s390x --oci-layout image -o json
  docker login registry.example && opm build catalog -t registry.example/crafts/catalog:v2 --push`,
		Args: func(cmd *cobra.Command, names []string) error {
			if f.onlyOpm {
				return rangeArgs(0)(cmd, names)
			}
			return args(cmd, names)
		},
		ValidArgsFunction: completeArgs(directories),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

func (f *buildFlags) run(cmd *cobra.Command, args []string) error {
	var dir string // of a catalog
	if !f.onlyOpm {
		dir = args[0]
	}
	opts, err := f.check(dir)
	if err != nil {
		return err
	}
	options, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	registry, err := options()
	if err != nil {
		return err
	}
	defer registry.Cache.Close()
	done := progress(cmd, "building")
	defer done()
	pusher, err := image.NewPusher(f.pushed(), registry)
	if err != nil {
		return err
	}
	defer pusher.Close()
	platforms, closeAll, err := f.prepare(cmd, dir, registry, pusher)
	defer closeAll()
	if err != nil {
		return err
	}
	opts.Platforms, opts.Limits = platforms, registry.Limits
	built, err := f.build(cmd, dir, opts)
	if err != nil {
		done()
		return invalid(cmd, err, dir)
	}
	defer built.Close()
	if err := f.write(built); err != nil {
		return err
	}
	if err := pushAll(cmd, pusher, built); err != nil {
		return err
	}
	done()
	if f.format == "json" {
		return writeValue(dataOutput(cmd), built.Summary, f.format)
	}
	_, err = fmt.Fprintln(textOutput(cmd), built.Summary.Digest)
	return err
}

// prepare opens what serves the catalog, and asks the registries whether they accept a push, before anything is built.
func (f *buildFlags) prepare(
	cmd *cobra.Command, dir string, registry image.Options, pusher *image.Pusher,
) (platforms []publish.Platform, closeAll func(), err error) {
	platforms, closeAll, err = f.open(cmd.Context(), registry)
	if err == nil {
		err = f.warnOfBase(cmd, dir, platforms)
	}
	if err == nil {
		err = pusher.Check(cmd.Context())
	}
	return platforms, closeAll, err
}

func (f *buildFlags) build(cmd *cobra.Command, dir string, opts publish.Options) (*publish.Image, error) {
	if f.onlyOpm {
		return publish.BuildOpm(cmd.Context(), opts)
	}
	built, err := publish.Build(cmd.Context(), declcfg.Source{
		Name: dir, FS: os.DirFS(dir), MaxObject: sizeOf(cmd, maxObjectSize),
		Read: workOf(cmd).Read,
	}, opts)
	if err == nil {
		warnIfNone(cmd, built.Summary.Packages, "packages", dir)
	}
	return built, err
}

// invalid prints the problems of an invalid catalog; other errors it returns.
func invalid(cmd *cobra.Command, err error, dir string) error {
	found, ok := errors.AsType[*publish.InvalidError](err)
	if !ok {
		return fmt.Errorf("build image: %w", err)
	}
	if err := notCatalog(dir, found.Report); err != nil {
		return err
	}
	return reportProblems(cmd, found.Report.Problems)
}

// write writes the image to the layout and the archive.
func (f *buildFlags) write(built *publish.Image) error {
	name := ""
	if len(f.tags) > 0 {
		name = f.tags[0]
	}
	if f.layout != "" {
		if err := image.WriteLayout(built.Artifact, f.layout, name); err != nil {
			return err
		}
	}
	if f.archive == "" {
		return nil
	}
	return atomicfile.Write(f.archive, atomicfile.Options{Replace: true}, func(w io.Writer) error {
		return image.WriteArchive(w, built.Artifact, name)
	})
}

// pushAll pushes the image, and then sets the tags.
func pushAll(cmd *cobra.Command, p *image.Pusher, built *publish.Image) error {
	_, err := p.Store(cmd.Context(), built.Artifact)
	if err == nil {
		_, err = p.Tag(cmd.Context())
	}
	if err != nil {
		noteLive(cmd, p)
	}
	return err
}

// noteLive names the tags that were set before one failed.
func noteLive(cmd *cobra.Command, p *image.Pusher) {
	if live := p.Live(); len(live) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: the image is live as %s\n", strings.Join(live, ", "))
	}
}
