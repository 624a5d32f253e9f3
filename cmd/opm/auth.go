package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/image"
)

func authCmd() *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:     "auth",
		Short:   "Show which credentials registries get",
		Example: "  opm auth explain quay.io/example/kiln:v1",
	}, authExplainCmd())
}

func authExplainCmd() *cobra.Command {
	var authFile string
	return command{
		Use:   "explain REF",
		Short: "Show which credentials are used for an image, and where they are found",
		Long: `List the files and credential helpers that are asked for credentials for an image, in order, and
the user of those that are used. Helpers are asked, registries are not. No secret is printed.
Exit code 1 means that the image cannot be opened because a file cannot be read or a helper
fails. Finding no credentials is not a failure.`,
		Example: `  opm auth explain quay.io/example/kiln:v1
  opm auth explain registry.redhat.io/ubi9 --authfile auth.json -o json`,
		complete: cobra.NoFileCompletions,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&authFile, "authfile", "",
				"`FILE` with credentials for registries, instead of podman's and docker's")
			cmdline.Must(cmd.MarkFlagFilename("authfile", "json"))
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML},
		run: func(_ *cobra.Command, args []string) (*output.Result, error) {
			ref, err := image.ParseReference(args[0])
			if err != nil {
				return nil, fmt.Errorf("image %q: %w", args[0], err)
			}
			giveHome()
			explanation, failure := image.Explain(ref, image.AuthOptions{AuthFile: authFile})
			if explanation == nil {
				return nil, failure
			}
			text := func(w io.Writer) error {
				_, err := io.WriteString(w, explanation.String())
				return err
			}
			return output.InText(explanation, text), failure
		},
	}.cobra()
}
