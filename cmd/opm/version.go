package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/output"
)

// upstreamVersion is the version of upstream's opm that this opm is compatible with. Programs that run opm decide by it
// which flags to use. The scripts of test/conformance are from the same version.
const upstreamVersion = "v1.73.0"

// Set by the linker in make build. Empty values come from Go's build information.
var version, commit, date string

// A buildInfo describes the build of a binary, with the names that upstream prints, and its own version.
type buildInfo struct {
	OpmVersion string `json:"opmVersion"` // upstreamVersion
	GitCommit  string `json:"gitCommit"`  // of this opm
	BuildDate  string `json:"buildDate"`  // of this opm
	GoOs       string `json:"goOs"`
	GoArch     string `json:"goArch"`
	Version    string `json:"version"` // of this opm, "" if it was built from files without one
}

// thisBuild returns the build information of this binary.
func thisBuild() buildInfo {
	b := buildInfo{upstreamVersion, commit, date, runtime.GOOS, runtime.GOARCH, version}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.complete(info)
	}
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
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version // ends in +dirty if files were changed
	}
	if b.Version == "" && revision != "" {
		b.Version = revision
		if settings["vcs.modified"] == "true" {
			b.Version += "+dirty"
		}
	}
	b.GitCommit = cmp.Or(b.GitCommit, revision)
	b.BuildDate = cmp.Or(b.BuildDate, settings["vcs.time"])
}

// own returns the line about this build. It has no quotes, since scripts match the quotes of upstream's line.
func (b *buildInfo) own() string {
	fields := []string{"opm: this is github.com/opm-toolchain/opm"}
	for _, field := range [][2]string{{"version ", b.Version}, {"commit ", b.GitCommit}, {"built ", b.BuildDate}} {
		if field[1] != "" {
			fields = append(fields, field[0]+field[1])
		}
	}
	return strings.Join(fields, ", ")
}

// write writes the dump of a Go struct, which scripts parse.
func (b *buildInfo) write(w io.Writer) error {
	_, err := fmt.Fprintf(w,
		"Version: version.Version{OpmVersion:%q, GitCommit:%q, BuildDate:%q, GoOs:%q, GoArch:%q}\n",
		b.OpmVersion, b.GitCommit, b.BuildDate, b.GoOs, b.GoArch)
	return err
}

func versionCmd() *cobra.Command {
	return command{
		Use:   "version",
		Short: "Print the version of opm",
		Long: `Print the line that upstream's opm prints, for programs that read it: OpmVersion is the version of
upstream whose behaviour this opm has; GitCommit and BuildDate are those of this opm. A line on
standard error says the version of this opm itself, which is the field version in JSON.`,
		Example: `  opm version
  opm version -o json`,
		args: cobra.ArbitraryArgs, // as upstream
		flags: func(cmd *cobra.Command) {
			cmdline.ChoiceVar(cmd, new(string), "output", "o", "", "output format", "json", "yaml")
		},
		do: func(cmd *cobra.Command, _ []string) error {
			info := thisBuild()
			err := printResult(cmd, output.InText(info, info.write))
			if err == nil && cmdline.Format(cmd) == output.Text {
				fmt.Fprintln(cmd.ErrOrStderr(), info.own())
			}
			return err
		},
	}.cobra()
}
