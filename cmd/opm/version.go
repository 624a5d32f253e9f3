package main

import (
	"fmt"
	"io"
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
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  opm version
  opm version -o json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := buildInfo{version, commit, date, runtime.GOOS, runtime.GOARCH}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), info)
			}
			// The dump of a Go struct, which scripts parse.
			_, err := fmt.Fprintf(cmd.OutOrStdout(),
				"Version: version.Version{OpmVersion:%q, GitCommit:%q, BuildDate:%q, GoOs:%q, GoArch:%q}\n",
				info.OpmVersion, info.GitCommit, info.BuildDate, info.GoOs, info.GoArch)
			return err
		},
	}
	choiceVar(cmd, &format, "output", "o", "", "output format", "json")
	return cmd
}

func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
