package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/dockerfile"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

const defaultImage = "quay.io/operator-framework/opm:latest"

func dockerfileCmd() *cobra.Command {
	var f dockerfileFlags
	var binary string
	return command{
		Use:   "dockerfile DIRECTORY",
		Short: "Write a Dockerfile for a catalog image",
		Long: `Write DIRECTORY.Dockerfile next to a catalog directory. It builds an image that serves the
catalog; the build context is the directory that contains both. An existing file is not
overwritten. The default images have upstream's opm: a warning says if it would refuse the
catalog.`,
		Example: `  opm generate dockerfile catalog
  opm generate dockerfile catalog -i scratch -l version=1.2 -l vendor=Pottery
  opm generate dockerfile catalog -i example/opm -b example/opm --this-opm --http-addr :8080
  docker build -t catalog -f catalog.Dockerfile .`,
		do: func(cmd *cobra.Command, args []string) error {
			if binary != "" {
				f.BaseImage = binary
				if !cmd.Flags().Changed("builder-image") {
					f.BuilderImage = binary
				}
			}
			if err := f.complete(); err != nil {
				return err
			}
			if err := writeDockerfile(args[0], f.Catalog); err != nil {
				return err
			}
			if why := f.Unfinished(); why != nil {
				name := filepath.Clean(args[0]) + ".Dockerfile"
				fmt.Fprintln(cmd.ErrOrStderr(), legible.Lines("opm: warning: "+name+" cannot be built as it is: "+why.Error()))
			}
			if f.BaseImage != defaultImage && f.BuilderImage != defaultImage {
				return nil
			}
			return warnNotPortable(cmd, args[0], defaultImage, "name images with this opm by --base-image and --builder-image")
		},
		flags: func(cmd *cobra.Command) {
			f.add(cmd)
			flags := cmd.Flags()
			flags.StringVar(&binary, "binary-image", "", "base `IMAGE`")
			cmdline.Deprecate(flags, "binary-image", "use --base-image instead")
			cmdline.Exclude(cmd, "binary-image", "base-image")
		},
	}.cobra()
}

// dockerfileFlags are the flags about the contents of a Dockerfile.
type dockerfileFlags struct {
	dockerfile.Catalog
	labels []string
}

func (f *dockerfileFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.BaseImage, "base-image", "i", defaultImage, "base `IMAGE` that contains opm, or scratch")
	flags.StringVarP(&f.BuilderImage, "builder-image", "b", defaultImage, "`IMAGE` whose opm builds the cache")
	flags.StringSliceVarP(&f.labels, "extra-labels", "l", nil, "add the label `KEY=VALUE` to the image")
	flags.BoolVar(&f.ThisOpm, "this-opm", false, "both images have this opm: it refuses at its start another cache")
	flags.StringVar(&f.HTTPAddr, "http-addr", "", "serve HTTP on `ADDRESS` too, as HOST:PORT (with --this-opm)")
}

// complete checks the flags and sets the labels.
func (f *dockerfileFlags) complete() (err error) {
	f.Labels, err = dockerfile.ParseLabels(f.labels)
	switch {
	case err == nil && f.ThisOpm && (f.BaseImage == defaultImage || f.BuilderImage == defaultImage):
		err = errors.New("--this-opm needs --base-image and --builder-image: the default images have upstream's opm")
	case err == nil && f.HTTPAddr != "" && !f.ThisOpm:
		err = errors.New("--http-addr needs --this-opm: upstream's does not serve HTTP")
	case err == nil:
		err = checkHTTPAddr(f.HTTPAddr)
	}
	if err != nil {
		return cmdline.Invalid(err)
	}
	return nil
}

func writeDockerfile(dir string, c dockerfile.Catalog) error {
	if _, err := regular.Directory(dir); err != nil {
		return fmt.Errorf("generate dockerfile: %w", err)
	}
	// The name is used as given, as upstream does: "." gives "..Dockerfile".
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

// warnNotPortable warns if upstream's opm, which the image contains, would refuse the catalog in a directory.
func warnNotPortable(cmd *cobra.Command, dir, image, remedy string) error {
	const rule = "portable"
	c, err := readConfig("", dir)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(validate.Rules().Names(), func(name string) bool { return name == rule })
	opts := validate.Options{Levels: problem.Disabled(others...)}
	report, err := validate.Catalog(cmd.Context(), opts, declcfg.Source{Name: dir, FS: os.DirFS(dir)})
	if err != nil {
		return err
	}
	problems := slices.DeleteFunc(c.Levels.Apply(report.Problems), func(p *problem.Problem) bool { return p.Rule != rule })
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), legible.Lines(fmt.Sprintf(
		"opm: warning: upstream's opm, in %s, refuses the catalog: %s: %s [%s]; %s, or change the catalog: opm validate %s",
		image, first.Pos, first.Message, rule, remedy, dir)))
	return err
}
