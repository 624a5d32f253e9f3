package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func bundleUnpackCmd(path string) *cobra.Command {
	f := bundleUnpackFlags{images: imageFlags{verifyOnly: true}}
	return command{
		Use:   "unpack BUNDLE",
		Short: "Unpack a bundle image into a directory",
		Long: `Validate a bundle image, as opm bundle validate does, and unpack all of its files into a
directory. Existing files of the same name are overwritten; others are kept. Nothing is written
if the bundle is invalid or the image has links that point outside of it.

BUNDLE is an image in a registry (HOST/PATH:TAG or HOST/PATH@DIGEST), in an OCI layout
(oci:DIRECTORY[:TAG]) or in an archive (FILE[:TAG]). Unlike in other commands, --skip-tls-verify
does not allow plain HTTP here.`,
		Example: "  " + path + ` unpack registry.example/pottery/kiln-bundle:v2.0.0 --out kiln
  ` + path + ` unpack oci:layout:v2.0.0 -o kiln --skip-validation`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.BoolVarP(&f.debug, "debug", "d", false, "log which registry or mirror answered, as --verbose does")
			flags.BoolP("skip-tls", "s", false, "use plain HTTP for registries")
			cmdline.Deprecate(flags, "skip-tls", "use --use-http or --skip-tls-verify instead")
			flags.BoolVarP(&f.skipValidation, "skip-validation", "v", false, "do not validate the bundle")
			flags.StringVarP(&f.images.rootCA, "root-ca", "c", "", "trust the certificate authorities in the PEM `FILE`")
			flags.StringVarP(&f.out, "out", "o", "./", "unpack into `DIRECTORY`, which is created if it does not exist")
			f.images.add(cmd)
		},
		do: f.run,
	}.cobra()
}

// bundleUnpackFlags are the flags of bundle unpack.
type bundleUnpackFlags struct {
	out            string
	skipValidation bool
	debug          bool
	images         imageFlags
}

func (f *bundleUnpackFlags) run(cmd *cobra.Command, args []string) error {
	f.images.verbose = f.images.verbose || f.debug
	opts, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	opener := image.NewOpener(opts)
	return errors.Join(f.unpack(cmd, opener, args[0]), opener.Close(), opts.Cache.Close())
}

func (f *bundleUnpackFlags) unpack(cmd *cobra.Command, opener *image.Opener, ref string) error {
	ctx := cmd.Context()
	if reference.Of(ref).Kind == reference.Directory && bundle.Is(os.DirFS(ref)) {
		return fmt.Errorf("open bundle %q: it is a directory, not an image: there is nothing to unpack; run: %s",
			ref, shell.Line("opm bundle validate", ref))
	}
	b, err := openBundleImage(ctx, opener, ref)
	if err != nil {
		return err
	}
	if !f.skipValidation {
		report := problem.Report{Problems: b.check(bundle.CheckOptions{})}
		err = new(reportFlags).print(cmd, new(opmyaml.Config), &report)
	}
	if err == nil {
		err = atomicfile.InDir(f.out, func(out *os.Root) error {
			if err := bundle.Unpack(ctx, b.files, out); err != nil {
				return fmt.Errorf("unpack %s: %w", b.name, err)
			}
			return nil
		})
	}
	return errors.Join(err, b.close())
}
