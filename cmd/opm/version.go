package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker in make build. Empty values come from Go's build information.
var version, commit, date string

// A buildInfo describes the build of a binary, with the names that upstream prints.
type buildInfo struct {
	OpmVersion string `json:"opmVersion"`
	GitCommit  string `json:"gitCommit"`
	BuildDate  string `json:"buildDate"`
	GoOs       string `json:"goOs"`
	GoArch     string `json:"goArch"`
}

// thisBuild returns the build information of this binary.
func thisBuild() buildInfo {
	b := buildInfo{version, commit, date, runtime.GOOS, runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
	b.OpmVersion = cmp.Or(b.OpmVersion, "unknown")
	return b
}

// complete sets empty fields from Go's build information. That has a commit only for a build in a checkout, and a
// version only there and for a released module (go install MODULE@VERSION).
func (b *buildInfo) complete(info *debug.BuildInfo) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if b.OpmVersion == "" && info.Main.Version != "(devel)" {
		b.OpmVersion = info.Main.Version // ends in +dirty where files were changed
	}
	if b.OpmVersion == "" && revision != "" {
		b.OpmVersion = revision
		if settings["vcs.modified"] == "true" {
			b.OpmVersion += "+dirty"
		}
	}
	b.GitCommit = cmp.Or(b.GitCommit, revision)
	b.BuildDate = cmp.Or(b.BuildDate, settings["vcs.time"])
}

func versionCmd() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of opm",
		Example: `  opm version
  opm version -o json`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := thisBuild()
			if format == "json" {
				return writeValue(cmd.OutOrStdout(), info, format)
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
