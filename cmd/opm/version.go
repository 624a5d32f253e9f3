package main

import (
	"fmt"
	"runtime"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// Stamped into the binary by the linker; see the Makefile.
var (
	version = "unknown"
	commit  = ""
	date    = ""
)

// A buildInfo is what is known about the binary, by the names that upstream prints.
type buildInfo struct {
	OpmVersion string `json:"opmVersion"`
	GitCommit  string `json:"gitCommit"`
	BuildDate  string `json:"buildDate"`
	GoOs       string `json:"goOs"`
	GoArch     string `json:"goArch"`
}

func versionCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  opm version
  opm version -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := buildInfo{version, commit, date, runtime.GOOS, runtime.GOARCH}
			switch output {
			case "":
				// The dump of a Go struct, which scripts parse.
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "Version: version.Version{OpmVersion:%q, GitCommit:%q, BuildDate:%q, GoOs:%q, GoArch:%q}\n",
					info.OpmVersion, info.GitCommit, info.BuildDate, info.GoOs, info.GoArch)
				return err
			case "json":
				if err := json.MarshalWrite(cmd.OutOrStdout(), info, jsontext.WithIndent("  ")); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout())
				return err
			}
			return usageError{fmt.Errorf("unknown output format %q, want json", output)}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format (json)")
	return cmd
}
