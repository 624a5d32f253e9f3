package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// removedCommands maps each command that only upstream's opm has or had to the commands to run instead, by the name of
// the subcommand; "" is for the command itself and other subcommands.
var removedCommands = map[string]map[string]string{
	"index": {
		"": "opm add, opm remove or opm filter", "add": "opm add", "rm": "opm remove", "delete": "opm remove",
		"deprecate": "opm deprecate", "deprecatetruncate": "opm deprecate", "export": "opm bundle unpack",
		"graph": "opm graph", "prune": "opm filter", "prune-stranded": "opm filter",
	},
	"registry": {
		"": "opm serve", "serve": "opm serve", "add": "opm add", "rm": "opm remove", "deprecatetruncate": "opm deprecate",
		"prune": "opm filter", "prune-stranded": "opm filter",
	},
	"alpha diff": {"": "opm diff, or opm filter for a part of a catalog"},
	"alpha veneer": {
		"": "opm render-template", "basic": "opm render-template basic", "semver": "opm render-template semver",
	},
	"alpha render-veneer": {
		"": "opm render-template", "basic": "opm render-template basic", "semver": "opm render-template semver",
		"composite": "opm render-template composite",
	},
}

// RemovedCommand returns a command that only upstream's opm has or had, such as "alpha diff". It always fails, with an
// error that names the command to run instead.
func RemovedCommand(path string) *cobra.Command {
	return &cobra.Command{
		Use:                path[strings.LastIndexByte(path, ' ')+1:],
		Short:              "Fail: only upstream's opm has the command",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			name, of := "opm "+path, removedCommands[path]
			instead := of[""]
			known := func(arg string) bool { return arg != "" && of[arg] != "" }
			if i := slices.IndexFunc(args, known); i >= 0 {
				name, instead = name+" "+args[i], of[args[i]]
			}
			if !strings.HasPrefix(path, "alpha ") {
				instead += "; upstream's opm, up to v1.73.0, converts catalogs in SQLite: opm migrate"
			}
			return fmt.Errorf("%s: this opm is for file-based catalogs only; run %s", name, instead)
		},
	}
}
