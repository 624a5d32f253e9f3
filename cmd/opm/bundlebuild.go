package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func bundleBuildCmd(path string) *cobra.Command {
	var f bundleBuildFlags
	return command{
		Use:   "build",
		Short: "Build a bundle image",
		Long: `Write the metadata of a bundle, as opm bundle generate does, and build its image. Without
--overwrite, existing metadata and copied manifests must have the same content, and an existing
bundle.Dockerfile is built as it is, so that you can adapt it; a warning says if it differs from
the generated one.

--directory names the manifests, or a bundle directory, whose metadata then says the package and
the channels that no flag names. What opm bundle validate rejects is a warning.

With --image-builder none, no container engine is needed: the image is written to an OCI layout
(--tag oci:DIRECTORY[:TAG]) or pushed to the registry in --tag. The same files give the same
digest, which is printed.`,
		Example: "  " + path + ` build -d bundle/manifests -p kiln -c candidate -e stable -b none -t oci:kiln-image:v2.0.0
  docker login registry.example && ` + path + ` build -d bundle/manifests -p kiln -c beta -t registry.example/kiln:v2`,
		flags: func(cmd *cobra.Command) {
			f.bundleMaker.addFlags(cmd)
			flags := cmd.Flags()
			flags.StringVarP(&f.tag, "tag", "t", "", "write or push the image as `REF`")
			cmdline.ChoiceVar(cmd, &f.engine, "image-builder", "b", "docker", "build the image with",
				"docker", "podman", "buildah", noEngine)
			flags.BoolVarP(&f.Overwrite, "overwrite", "o", false, "overwrite files that have other content")
			flags.BoolVar(&f.strict, "strict", false, "fail on what bundle validate rejects, instead of a warning")
			cmdline.Must(cmd.MarkFlagRequired("tag"))
			f.images.add(cmd)
		},
		do: f.run,
	}.cobra()
}

// bundleBuildFlags are the flags of bundle build.
type bundleBuildFlags struct {
	bundleMaker
	tag    string
	engine string
	strict bool
	images imageFlags
}

const noEngine = "none"

func (f *bundleBuildFlags) run(cmd *cobra.Command, _ []string) error {
	switch {
	case f.engine == noEngine && f.base != "scratch":
		return cmdline.Errorf("--base-image needs a container engine: --image-builder none builds on scratch")
	case f.engine != noEngine && strings.HasPrefix(f.tag, reference.LayoutPrefix):
		return cmdline.Errorf("an OCI layout needs --image-builder none")
	}
	if err := f.complete(cmd.ErrOrStderr()); err != nil {
		return err
	}
	if f.engine == noEngine {
		return f.build(cmd)
	}
	if err := f.generateForEngine(cmd); err != nil {
		return err
	}
	if err := f.checkBundle(cmd, f.strict); err != nil {
		return err
	}
	args := []string{"build"} // as upstream
	if f.engine == "buildah" {
		args = []string{"bud", "--format=docker"}
	}
	args = append(args, "-f", bundleDockerfile, "-t", f.tag, ".")
	engine := exec.CommandContext(cmd.Context(), f.engine, args...)
	engine.Stdout, engine.Stderr = dataOutput(cmd), console.File(cmd.ErrOrStderr())
	if err := engine.Run(); err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(engine.Args, " "), err)
	}
	return nil
}

// build builds the image without a container engine. It checks the flags before it writes anything.
func (f *bundleBuildFlags) build(cmd *cobra.Command) error {
	if _, err := insecureFlags(cmd); err != nil {
		return err
	}
	if err := image.CheckTarget(f.tag); err != nil {
		return cmdline.Errorf("--tag %q: %w", f.tag, err)
	}
	if err := f.generate(cmd); err != nil {
		return err
	}
	if err := f.checkBundle(cmd, f.strict); err != nil {
		return err
	}
	built, err := image.BuildBundle(f.Labels.Map(), f.images.platform, os.DirFS(f.Manifests()), os.DirFS(f.Metadata()))
	if err != nil {
		return fmt.Errorf("bundle %s: %w", f.Root(), err)
	}
	digest, err := image.Put(cmd.Context(), built, f.tag, func() (image.Options, error) { return f.images.options(cmd) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(textOutput(cmd), digest)
	return err
}

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
	cmdline.Must(cmd.MarkFlagRequired("directory"))
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
			warn(cmd, "building the existing %s, which differs from the generated one; "+
				"to replace it, add --overwrite", bundleDockerfile)
		}
		return err
	}
	opts := atomicfile.Options{Replace: f.Overwrite}
	if err := atomicfile.Write(bundleDockerfile, opts, atomicfile.Text(text)); err != nil {
		return err
	}
	f.wrote(cmd, bundleDockerfile, ".")
	return nil
}

// wrote reports a written file in upstream's words, which scripts wait for.
func (*bundleMaker) wrote(cmd *cobra.Command, name, dir string) {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "opm: Writing %s in %s\n", name, dir)
}

// generate writes the bundle directory.
func (f *bundleMaker) generate(cmd *cobra.Command) error {
	err := f.Generate(cmd.Context())
	if err != nil {
		return err
	}
	f.wrote(cmd, "annotations.yaml", f.Metadata())
	for _, file := range f.Lost() {
		warn(cmd, "%s is not in the generated bundle: copy it to %s", file, f.Metadata())
	}
	return nil
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
		return failure.New(problem.Reason(found))
	}
	return nil
}

func bundleGenerateCmd(path string) *cobra.Command {
	f := bundleMaker{Maker: bundle.Maker{Overwrite: true}}
	return command{
		Use:   "generate",
		Short: "Write the metadata and Dockerfile of a bundle",
		Long: `Write metadata/annotations.yaml next to the manifests directory of a bundle, or into
--output-dir, and bundle.Dockerfile into the current directory. Existing files are overwritten.

Without --package or --channels, opm infers them from the package manifest next to the manifests
directory: the channels are those whose updates include the bundle.`,
		Example: "  " + path + ` generate --directory bundle/manifests --package kiln --channels stable,beta --default stable
  ` + path + ` generate -d bundle/manifests -p kiln -c stable --output-dir kiln-bundle`,
		do: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(cmd.ErrOrStderr()); err != nil {
				return err
			}
			return f.generateForEngine(cmd)
		},
		flags: f.addFlags,
	}.cobra()
}
