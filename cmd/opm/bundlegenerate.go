package main

import "github.com/spf13/cobra"

func bundleGenerateCmd(path string) *cobra.Command {
	f := bundleMaker{overwrite: true}
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
