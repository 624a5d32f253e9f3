package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/dockerfile"
)

const defaultImage = "quay.io/operator-framework/opm:latest"

func dockerfileCmd() *cobra.Command {
	var f dockerfileFlags
	var binary string
	cmd := &cobra.Command{
		Use:   "dockerfile DIRECTORY",
		Short: "Write a Dockerfile for a catalog image",
		Long: `Write DIRECTORY.Dockerfile next to a catalog directory. It builds an image that serves the
catalog; the build context is the directory that contains both. An existing file is not
overwritten.`,
		Example: `  opm generate dockerfile catalog
  opm generate dockerfile catalog -i scratch -l version=1.2 -l vendor=Pottery
  docker build -t catalog -f catalog.Dockerfile .`,
		Args:              exactArgs("DIRECTORY"),
		ValidArgsFunction: completeArgs(directories),
		RunE: func(cmd *cobra.Command, args []string) error {
			if binary != "" {
				f.base = binary
				if !cmd.Flags().Changed("builder-image") {
					f.builder = binary
				}
			}
			c, err := f.catalog()
			if err != nil {
				return err
			}
			return writeDockerfile(args[0], c)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&binary, "binary-image", "", "base `IMAGE`")
	hide(flags, "binary-image")
	must(flags.MarkDeprecated("binary-image", "use --base-image instead"))
	exclude(cmd, "binary-image", "base-image")
	return cmd
}

// dockerfileFlags are the flags about the contents of a Dockerfile.
type dockerfileFlags struct {
	base, builder string
	labels        []string
}

func (f *dockerfileFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.base, "base-image", "i", defaultImage, "base `IMAGE` that contains opm, or scratch")
	flags.StringVarP(&f.builder, "builder-image", "b", defaultImage, "`IMAGE` whose opm builds the cache")
	flags.StringSliceVarP(&f.labels, "extra-labels", "l", nil, "add the label `KEY=VALUE` to the image")
	completeNothing(cmd, "base-image", "builder-image", "extra-labels")
}

// catalog returns what the flags say, without the directory.
func (f *dockerfileFlags) catalog() (dockerfile.Catalog, error) {
	labels, err := dockerfile.ParseLabels(f.labels)
	if err != nil {
		return dockerfile.Catalog{}, usageError{err}
	}
	return dockerfile.Catalog{BaseImage: f.base, BuilderImage: f.builder, Labels: labels}, nil
}

func writeDockerfile(dir string, c dockerfile.Catalog) error {
	if _, err := directoryInfo(dir); err != nil {
		return fmt.Errorf("generate dockerfile: %w", err)
	}
	// The name as it was given, so that "." makes "..Dockerfile", as upstream does.
	parent, name := filepath.Split(filepath.Clean(dir))
	c.Dir = name
	target := filepath.Join(parent, name+".Dockerfile")
	err := atomicfile.Write(target, atomicfile.Options{}, func(w io.Writer) error {
		_, err := c.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("generate dockerfile: %w", err)
	}
	return nil
}
