package main

import (
	"fmt"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const imageRefTemplate = "alpha-image-ref-template"

// bundleFlags are the flags of commands that read bundles.
type bundleFlags struct {
	imageRef  string
	envImages bool
	strict    bool
}

func (f *bundleFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.envImages, "env-related-images", false,
		"add the images in environment variables RELATED_IMAGE_* of bundles to their related images")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail on bundles with files that would be ignored with a warning")
}

// addImageRef adds the flag that is about bundle directories.
func (f *bundleFlags) addImageRef(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.imageRef, imageRefTemplate, "",
		"image of a bundle directory, as a `TEMPLATE` with {{.Package}}, {{.Name}} and {{.Version}}")
}

// options returns how bundles are read. Warnings about ignored files go to standard error.
func (f *bundleFlags) options(cmd *cobra.Command) (*bundle.Options, error) {
	opts := &bundle.Options{Strict: f.strict, EnvImages: f.envImages, Warn: func(e *declcfg.Error) {
		fmt.Fprintln(cmd.ErrOrStderr(), placed(e.Pos, "warning", e.Message()))
	}}
	if f.imageRef == "" {
		return opts, nil
	}
	tmpl, err := template.New("image").Parse(f.imageRef)
	if err != nil {
		return nil, usageError{fmt.Errorf("--%s: %w", imageRefTemplate, err)}
	}
	opts.ImageRef = tmpl
	return opts, nil
}
