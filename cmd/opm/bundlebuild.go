package main

import (
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
	strict bool
	images imageFlags
}

const noEngine = "none"

func (f *bundleBuildFlags) addFlags(cmd *cobra.Command) {
	f.bundleMaker.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.tag, "tag", "t", "", "write or push the image as `REF`")
	choiceVar(cmd, &f.engine, "image-builder", "b", "docker", "build the image with",
		"docker", "podman", "buildah", noEngine)
	flags.BoolVarP(&f.Overwrite, "overwrite", "o", false, "overwrite files that have other content")
	flags.BoolVar(&f.strict, "strict", false, "fail on what bundle validate rejects, instead of a warning")
	must(cmd.MarkFlagRequired("tag"))
	f.images.add(cmd)
}

func (f *bundleBuildFlags) run(cmd *cobra.Command) error {
	switch {
	case f.engine == noEngine && f.base != "scratch":
		return usageError{errors.New("--base-image needs a container engine: --image-builder none builds on scratch")}
	case f.engine != noEngine && strings.HasPrefix(f.tag, reference.LayoutPrefix):
		return usageError{errors.New("an OCI layout needs --image-builder none")}
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
	engine.Stdout, engine.Stderr = dataOutput(cmd), os.Stderr // the file itself: the engine may use it as a terminal
	if err := engine.Run(); err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(engine.Args, " "), err)
	}
	return nil
}

// build builds without an engine. The flags are checked before anything is written.
func (f *bundleBuildFlags) build(cmd *cobra.Command) error {
	options, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	if err := image.CheckTarget(f.tag); err != nil {
		return usageError{fmt.Errorf("--tag %q: %w", f.tag, err)}
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
	digest, err := image.Put(cmd.Context(), built, f.tag, options)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(textOutput(cmd), digest)
	return err
}
