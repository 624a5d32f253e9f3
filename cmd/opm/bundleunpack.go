package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func bundleUnpackCmd(path string) *cobra.Command {
	var f bundleUnpackFlags
	cmd := &cobra.Command{
		Use:   "unpack BUNDLE",
		Short: "Unpack the image of a bundle into a directory",
		Long: `Check the image of a bundle, as opm bundle validate does, and unpack all files of it into a
directory. Files of the same names are written over, others stay. Nothing is written for a
bundle that is refused or for an image with links that leave it.

A BUNDLE is an image in a registry (HOST/PATH:TAG or HOST/PATH@DIGEST), in an OCI layout
(oci:DIRECTORY[:TAG]) or in an archive (FILE[:TAG]). Of the flags about TLS, --skip-tls-verify
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
	flags.BoolVarP(&f.debug, "debug", "d", false, "tell which registry or mirror answered, as --verbose")
	flags.BoolP("skip-tls", "s", false, "use plain HTTP for registries")
	hide(flags, "skip-tls")
	must(flags.MarkDeprecated("skip-tls", "use --use-http or --skip-tls-verify instead"))
	flags.BoolVarP(&f.skipValidation, "skip-validation", "v", false, "do not check the bundle")
	flags.StringVarP(&f.rootCA, "root-ca", "c", "", "trust the certificate authorities in the PEM file `FILE`")
	flags.StringVarP(&f.out, "out", "o", "./", "unpack into `DIRECTORY`, which is made if there is none")
	f.images.add(cmd)
	must(cmd.MarkFlagDirname("out"))
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

// adapt makes of the flags about TLS what upstream makes of them in this command.
func (f *bundleUnpackFlags) adapt(cmd *cobra.Command, opts *image.Options) error {
	opts.Insecure = isSet(cmd, "use-http") || isSet(cmd, "skip-tls")
	transport := image.TransportOptions{
		// Where plain HTTP will do, a certificate that is verified protects from no one.
		Insecure: opts.Insecure || isSet(cmd, "skip-tls-verify"),
		CertDir:  f.images.certDir,
		RootCAs:  f.rootCA,
		Timeout:  f.images.timeout,
		Log:      opts.Log,
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
	b, err := openBundleImage(ctx, opener, ref, nil)
	if err != nil {
		return err
	}
	return errors.Join(f.unpackOpen(ctx, cmd, b), b.close())
}

func (f *bundleUnpackFlags) unpackOpen(ctx context.Context, cmd *cobra.Command, b *openBundle) error {
	if !f.skipValidation {
		report := problem.Report{Problems: b.check(bundle.CheckOptions{})}
		if err := printReport(cmd, cmd.ErrOrStderr(), "", &report); err != nil {
			return err
		}
	}
	return inDirectory(f.out, func(out *os.Root) error {
		if err := bundle.Unpack(ctx, b.files, out); err != nil {
			return fmt.Errorf("unpack %s: %w", b.name, err)
		}
		return nil
	})
}
