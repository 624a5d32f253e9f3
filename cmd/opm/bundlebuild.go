package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
)

func bundleBuildCmd(path string) *cobra.Command {
	var f bundleBuildFlags
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the image of a bundle",
		Long: `Write the metadata of a bundle, as opm bundle generate does, and build its image. Metadata, and
copies of manifests, that exist and say something else are errors without --overwrite. So that
it can be adapted, a bundle.Dockerfile that exists is built as it is, without --overwrite: a
warning tells where it is not the one that would be written.

With --image-builder none no container engine is needed: the image is written into an OCI layout,
with --tag oci:DIRECTORY[:TAG], or pushed to the registry that --tag names. The same files make
an image of the same digest. The digest is printed.`,
		Example: "  " + path + ` build -d bundle/manifests -p kiln -c candidate -e stable -b none -t oci:kiln-image:v2.0.0
  docker login registry.example && ` + path + ` build -d bundle/manifests -p kiln -c beta -t registry.example/kiln:v2`,
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.addFlags(cmd)
	return cmd
}

// bundleBuildFlags are the flags of bundle build.
type bundleBuildFlags struct {
	bundleMaker
	tag    string
	engine string
	images imageFlags
}

const noEngine = "none"

func (f *bundleBuildFlags) addFlags(cmd *cobra.Command) {
	f.bundleMaker.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.tag, "tag", "t", "", "call the image `REF`")
	choiceVar(cmd, &f.engine, "image-builder", "b", "docker", "build with", "docker", "podman", "buildah", noEngine)
	flags.BoolVarP(&f.overwrite, "overwrite", "o", false, "write over files that say something else")
	must(cmd.MarkFlagRequired("tag"))
	completeNothing(cmd, "tag")
	f.images.add(cmd)
}

func (f *bundleBuildFlags) run(cmd *cobra.Command) error {
	if f.engine == noEngine && f.base != "scratch" {
		return usageError{errors.New("--base-image needs a container engine: --image-builder none builds on scratch")}
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
	return f.runEngine(cmd)
}

// runEngine has an engine build what the Dockerfile says, with the arguments that upstream gives it.
func (f *bundleBuildFlags) runEngine(cmd *cobra.Command) error {
	args := []string{"build"}
	if f.engine == "buildah" {
		args = []string{"bud", "--format=docker"}
	}
	args = append(args, "-f", bundleDockerfile, "-t", f.tag, ".")
	engine := exec.CommandContext(cmd.Context(), f.engine, args...)
	engine.Stdout, engine.Stderr = cmd.OutOrStdout(), os.Stderr // which it may use as the terminal that it is
	if err := engine.Run(); err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(engine.Args, " "), err)
	}
	return nil
}

// bundlePlatform is what images of bundles are said to be for, wherever they are built. They hold no programs.
const bundlePlatform = "linux/amd64"

// build builds without an engine. The flags are checked before anything is written.
func (f *bundleBuildFlags) build(cmd *cobra.Command) error {
	options, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	to := reference.Of(f.tag)
	if to.Kind != reference.Layout {
		if err := checkTag(f.tag); err != nil {
			return usageError{fmt.Errorf("--tag %q: %w", f.tag, err)}
		}
	}
	if err := f.generate(cmd); err != nil {
		return err
	}
	built, err := image.Build(image.BuildOptions{
		Labels:   f.labels.Map(),
		Platform: cmp.Or(f.images.platform, bundlePlatform),
		Contents: []image.Content{
			{Source: os.DirFS(f.manifests()), Target: "manifests"},
			{Source: os.DirFS(f.metadata()), Target: "metadata"},
		},
	})
	if err != nil {
		return fmt.Errorf("bundle %s: %w", f.root(), err)
	}
	if to.Kind == reference.Layout {
		err = image.WriteLayout(built, to.Path, to.Name)
	} else {
		err = withOptions(options, func(opts image.Options) error {
			_, err := image.Push(cmd.Context(), built, f.tag, opts)
			return err
		})
	}
	if err != nil {
		return err
	}
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), digest)
	return err
}

// checkTag wants a reference that an image can be pushed to.
func checkTag(tag string) error {
	ref, err := image.ParseReference(tag)
	if err == nil && !strings.HasSuffix(tag, ":"+ref.Identifier()) {
		err = errors.New("want a tag, as in HOST/PATH:TAG")
	}
	return err
}

// withOptions calls fn with how images are reached, and lets go of what that takes.
func withOptions(options func() (image.Options, error), fn func(image.Options) error) error {
	opts, err := options()
	if err != nil {
		return err
	}
	return errors.Join(fn(opts), opts.Cache.Close())
}
