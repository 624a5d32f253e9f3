package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func bundleUnpackCmd(path string) *cobra.Command {
	var f bundleUnpackFlags
	cmd := &cobra.Command{
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
		Args:              exactArgs("BUNDLE"),
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.addFlags(cmd)
	return cmd
}

// bundleUnpackFlags are the flags of bundle unpack.
type bundleUnpackFlags struct {
	out            string
	rootCA         string
	skipValidation bool
	debug          bool
	images         imageFlags
}

func (f *bundleUnpackFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.debug, "debug", "d", false, "log which registry or mirror answered, as --verbose does")
	flags.BoolP("skip-tls", "s", false, "use plain HTTP for registries")
	hide(flags, "skip-tls")
	must(flags.MarkDeprecated("skip-tls", "use --use-http or --skip-tls-verify instead"))
	flags.BoolVarP(&f.skipValidation, "skip-validation", "v", false, "do not validate the bundle")
	flags.StringVarP(&f.rootCA, "root-ca", "c", "", "trust the certificate authorities in the PEM `FILE`")
	flags.StringVarP(&f.out, "out", "o", "./", "unpack into `DIRECTORY`, which is created if it does not exist")
	f.images.add(cmd)
}

func (f *bundleUnpackFlags) run(cmd *cobra.Command, ref string) error {
	f.images.verbose = f.images.verbose || f.debug
	options, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	return withOptions(options, func(opts image.Options) error {
		if err := f.adapt(cmd, &opts); err != nil {
			return err
		}
		opener := image.NewOpener(opts)
		return errors.Join(f.unpack(cmd, opener, ref), opener.Close())
	})
}

// adapt gives the TLS flags the meaning that they have for this command upstream.
func (f *bundleUnpackFlags) adapt(cmd *cobra.Command, opts *image.Options) error {
	opts.Insecure = isSet(cmd, "use-http") || isSet(cmd, "skip-tls")
	transport := image.TransportOptions{
		// Verifying certificates is pointless where plain HTTP is allowed.
		Insecure:       opts.Insecure || isSet(cmd, "skip-tls-verify"),
		CertDir:        f.images.certDir,
		RootCAs:        f.rootCA,
		Timeout:        f.images.timeout,
		Log:            opts.Log,
		AllowRedirects: f.images.redirects,
	}
	var err error
	mirrors := image.MirrorOptions{Files: f.images.mirrors, Insecure: opts.Insecure}
	if opts.Mirrors, err = image.LoadMirrors(mirrors); err != nil {
		return err
	}
	opts.Transport, err = image.NewTransport(transport)
	return err
}

func (f *bundleUnpackFlags) unpack(cmd *cobra.Command, opener *image.Opener, ref string) error {
	ctx := cmd.Context()
	if reference.Of(ref).Kind == reference.Directory && bundle.Is(os.DirFS(ref)) {
		return fmt.Errorf("open bundle %q: it is a directory, not an image: there is nothing to unpack; run: %s",
			ref, shellLine("opm bundle validate", ref))
	}
	b, err := openBundleImage(ctx, opener, ref, nil)
	if err != nil {
		return err
	}
	if !f.skipValidation {
		report := problem.Report{Problems: b.check(bundle.CheckOptions{})}
		err = new(reportFlags).print(cmd, cmd.ErrOrStderr(), "", new(config), &report)
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

// withOptions calls fn with the image options, and closes their cache.
func withOptions(options func() (image.Options, error), fn func(image.Options) error) error {
	opts, err := options()
	if err != nil {
		return err
	}
	return errors.Join(fn(opts), opts.Cache.Close())
}
