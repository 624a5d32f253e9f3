package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
)

const (
	bundleDockerfile = "bundle.Dockerfile"
	maxDockerfile    = 1 << 20
)

// A bundleMaker has the flags of commands that generate a bundle directory and its Dockerfile.
type bundleMaker struct {
	bundle.Maker
	base string // base image
}

func (f *bundleMaker) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.Directory, "directory", "d", "", "`DIRECTORY` of the bundle, or of its manifests")
	flags.StringVarP(&f.Labels.Package, "package", "p", "", "`NAME` of the package of the bundle")
	flags.StringVarP(&f.Labels.Channels, "channels", "c", "", "comma-separated `NAMES` of the channels of the bundle")
	flags.StringVarP(&f.Labels.DefaultChannel, "default", "e", "", "default `CHANNEL` of the package")
	flags.StringVarP(&f.Output, "output-dir", "u", "", "copy the manifests to `DIRECTORY` and write the metadata there")
	flags.StringVar(&f.base, "base-image", "scratch", "base `IMAGE` of the bundle image")
	must(cmd.MarkFlagRequired("directory"))
}

// complete completes the labels, and prints the inferred ones.
func (f *bundleMaker) complete(w io.Writer) error {
	inferred, err := f.Complete()
	for _, label := range inferred {
		fmt.Fprintf(w, "opm: inferred %s\n", label)
	}
	return err
}

// generateForEngine writes the bundle directory, and a Dockerfile into the current directory as upstream does.
func (f *bundleMaker) generateForEngine(cmd *cobra.Command) error {
	text, err := f.Dockerfile(f.base)
	if err != nil {
		return fmt.Errorf("write %s: %w", bundleDockerfile, err)
	}
	if err := f.generate(cmd); err != nil {
		return err
	}
	found, err := regular.ReadFile(os.DirFS("."), bundleDockerfile, maxDockerfile)
	if !f.Overwrite && !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !bytes.Equal(found, text) {
			fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: building the existing %s, which differs from the generated one; "+
				"to replace it, add --overwrite\n", bundleDockerfile)
		}
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	if err := atomicfile.Write(bundleDockerfile, atomicfile.Options{Replace: f.Overwrite}, write); err != nil {
		return err
	}
	f.wrote(cmd, bundleDockerfile, ".")
	return nil
}

// wrote reports the written file in upstream's words, which scripts wait for.
func (*bundleMaker) wrote(cmd *cobra.Command, name, dir string) {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "opm: Writing %s in %s\n", name, dir)
}

// generate writes the bundle directory.
func (f *bundleMaker) generate(cmd *cobra.Command) error {
	err := f.Generate(cmd.Context())
	if err == nil {
		f.wrote(cmd, "annotations.yaml", f.Metadata())
	}
	return err
}

// checkBundle warns of each error in the generated bundle, or fails if strict.
func (f *bundleMaker) checkBundle(cmd *cobra.Command, strict bool) error {
	found := f.Errors()
	for _, p := range found {
		if !strict {
			p.Severity = problem.Warning
		}
		fmt.Fprintln(cmd.ErrOrStderr(), p)
	}
	if len(found) > 0 && strict {
		return failed(problem.Reason(found))
	}
	return nil
}

func bundleGenerateCmd(path string) *cobra.Command {
	f := bundleMaker{Maker: bundle.Maker{Overwrite: true}}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the metadata and Dockerfile of a bundle",
		Long: `Write metadata/annotations.yaml next to the manifests directory of a bundle, or into
--output-dir, and bundle.Dockerfile into the current directory. Existing files are overwritten.

Without --package or --channels, opm infers them from the package manifest next to the manifests
directory: the channels are those whose updates include the bundle.`,
		Example: "  " + path + ` generate --directory bundle/manifests --package kiln --channels stable,beta --default stable
  ` + path + ` generate -d bundle/manifests -p kiln -c stable --output-dir kiln-bundle`,
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(cmd.ErrOrStderr()); err != nil {
				return err
			}
			return f.generateForEngine(cmd)
		},
	}
	f.addFlags(cmd)
	return cmd
}
