package main

import "github.com/spf13/cobra"

func bundleGenerateCmd(path string) *cobra.Command {
	f := bundleMaker{overwrite: true}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the metadata of a bundle and a Dockerfile",
		Long: `Write metadata/annotations.yaml beside the directory of the manifests of a bundle, or into the
directory of --output-dir, and bundle.Dockerfile into the current directory. Files that exist
are written over.

Package and channels that are not given are those of the package manifest that lies beside the
directory, as far as its channels lead through the bundle.`,
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
