package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
)

func buildCmd() *cobra.Command {
	f := buildFlags{each: &eachFlag{together: true}}
	return command{
		Use:   "build DIRECTORY",
		Short: "Build the image of a catalog, without a container engine",
		Long: `Validate a catalog and build its image, with the store from which opm serves it at once. The
image has the entry point, paths and labels of one that is built with the Dockerfile of opm
generate dockerfile. It goes to an OCI layout, to an archive, and with --push to each --tag; tags
change when all repositories have the image. Its digest is printed, after --push as a reference for
each repository that has it.

The base is this opm with certificates, and nothing else; its binaries for other architectures come
with --opm-binary. If this opm needs libraries, as one of go install does if there is a C
compiler, the binary of its release is taken from the same directory, such as linux-amd64-opm.
Another --base-image must have opm at /bin/opm. If that is upstream's, the image has no store,
since upstream refuses a cache that is not its own. Base "scratch" leaves
opm out: a CatalogSource then needs grpcPodConfig.extractContent. --only-opm builds an image
without a catalog, which can be the base and builder of a Dockerfile.

With --each, each catalog has an image of its own: {{.Catalog}} in --tag, --archive and
--oci-layout is its name. Nothing is written or pushed unless all images can be built.

The same catalog, opm and flags give the same digest everywhere. Times are those of
SOURCE_DATE_EPOCH, or 1970. Each package is in one of at most 40 layers, so that an update moves
little more than what changed.`,
		Example: `  opm build catalog --base-image scratch -l vendor=Pottery --archive catalog.tar
  opm build catalog -i scratch --platform linux/amd64,linux/s390x --oci-layout image -o json
  opm build --each catalog/ -i scratch --archive '{{.Catalog}}.tar'
  docker login registry.example && opm build catalog -t registry.example/crafts/catalog:v2 --push`,
		args: func(cmd *cobra.Command, names []string) error {
			if f.onlyOpm && !f.each.given() { // both exclude each other
				return cmdline.WantArgs("")(cmd, names)
			}
			return cmdline.WantArgs("DIRECTORY")(cmd, names)
		},
		flags:  f.add,
		images: &f.images,
		each:   f.each,
		do:     f.run,
	}.cobra()
}

func (f *buildFlags) add(cmd *cobra.Command) {
	f.addImage(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.push, "push", false, "push the image to each --tag")
	flags.StringVar(&f.Layout, "oci-layout", "",
		"write the image to the OCI layout in `DIRECTORY`, in which {{.Catalog}} is the name of the catalog")
	flags.StringVar(&f.Archive, "archive", "",
		"write the image to the OCI archive `FILE`, in which {{.Catalog}} is the name of the catalog")
	flags.BoolVar(&f.onlyOpm, "only-opm", false, "build the image of opm itself, the base of catalog images")
	cmdline.ChoiceVar(cmd, &f.format, "output", "o", "text",
		"print the digest of the image or its references, or all of it as JSON or YAML", "text", "json", "yaml")
	cmdline.Exclude(cmd, "only-opm", "each")
}

func (f *buildFlags) run(cmd *cobra.Command, args []string) error {
	refs := []*reference.Named{{}} // no catalog
	var err error
	if !f.onlyOpm {
		if refs, err = f.each.catalogs(args[0]); err != nil {
			return err
		}
	}
	all, err := f.buildings(refs)
	if err != nil {
		return err
	}
	registry, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	defer registry.Cache.Close()
	done := display(cmd).Start("building")
	defer done()
	platforms, closeBases, err := all[0].flags.open(cmd.Context(), registry) // the same for all
	defer closeBases()
	if err != nil {
		return err
	}
	for _, b := range all {
		defer b.close()
		b.opts.Platforms = platforms
		if err := b.prepare(cmd, registry); err != nil {
			return err
		}
	}
	if err := f.buildAll(cmd, refs, all, done); err != nil {
		return err
	}
	if err := f.put(cmd, all); err != nil {
		return err
	}
	done()
	return f.print(cmd, refs, all)
}

// buildings returns the images to build. Two catalogs must not have one place.
func (f *buildFlags) buildings(refs []*reference.Named) ([]*building, error) {
	places, err := placesOf(f.Place, refs)
	if err != nil {
		return nil, err
	}
	var all []*building
	for i, r := range refs {
		b := &building{dir: r.Ref, flags: *f}
		b.flags.Place = places[i]
		if b.opts, err = b.flags.check(b.dir); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// placesOf returns the place of the image of each catalog.
func placesOf(place publish.Place, refs []*reference.Named) ([]publish.Place, error) {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	places, err := place.ForEach(names)
	if err != nil {
		return nil, cmdline.Invalid(err)
	}
	return places, nil
}

// buildAll builds all images. With --each, an error names its catalog, and those after it are built, too.
func (f *buildFlags) buildAll(cmd *cobra.Command, refs []*reference.Named, all []*building, done func()) error {
	build := func(b *building) (err error) {
		if b.image, err = b.build(cmd); err != nil {
			done()
			return invalid(cmd, err, b.dir)
		}
		return nil
	}
	if !f.each.given() {
		return build(all[0])
	}
	next := 0
	err := f.each.runAll(cmd, refs, func(*reference.Named) error {
		next++
		return build(all[next-1])
	})
	return f.each.sumUp(err)
}

// put writes and pushes all images. Tags are set after the last image is pushed.
func (f *buildFlags) put(cmd *cobra.Command, all []*building) error {
	for _, b := range all {
		if err := b.flags.Write(b.image.Artifact); err != nil {
			return err
		}
	}
	for _, b := range all {
		if _, err := b.pusher.Store(cmd.Context(), b.image.Artifact); err != nil {
			return err
		}
	}
	for _, b := range all {
		if _, err := b.pusher.Tag(cmd.Context()); err != nil {
			var live []string
			for _, b := range all {
				live = append(live, b.pusher.Live()...)
			}
			if len(live) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "opm: the image is live as %s\n", strings.Join(live, ", "))
			}
			return err
		}
	}
	return nil
}

// print prints the digest of each image, or its references.
func (f *buildFlags) print(cmd *cobra.Command, refs []*reference.Named, all []*building) error {
	var each *output.Each
	if f.each.given() {
		var err error
		if each, err = output.NewEach(cmd.OutOrStdout(), output.Format(f.format)); err != nil {
			return err
		}
	}
	for i, b := range all {
		var pushed []string
		if f.push {
			pushed = b.flags.Tags
		}
		printed, err := publish.References(pushed, b.image.Summary.Digest)
		if err != nil {
			return err
		}
		result := output.InText(b.image.Summary, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, strings.Join(printed, "\n"))
			return err
		})
		if each == nil {
			return printResult(cmd, result)
		}
		if err := each.Add(refs[i].Name, result); err != nil {
			return err
		}
	}
	return each.Close()
}
