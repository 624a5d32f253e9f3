package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/schemas"
)

const jsonSchema = "jsonschema"

func schemaCmd() *cobra.Command {
	var format string
	return command{
		Use:   "schema [NAME]",
		Short: "Print the schemas of catalogs, other files, and outputs",
		Long: `Print the CUE definitions that opm validate uses: all of them, or those of NAME, one of
` + cmdline.OneOf(schemas.Names()) + `.

With -o jsonschema, print a JSON Schema. NAME is a file that people write, for editors:
` + cmdline.OneOf(schemas.Files()) + ` (default catalog). Or it is what a
command prints with -o json, such as validate or list-packages; completion lists all.`,
		Example: `  opm schema
  opm schema channel
  opm schema -o jsonschema > catalog.schema.json
  opm schema -o jsonschema list-packages`,
		complete: completion.Args(func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return schemaNames(format), cobra.ShellCompDirectiveNoFileComp
		}),
		flags: func(cmd *cobra.Command) {
			cmdline.ChoiceVar(cmd, &format, "output", "o", "cue", "output format", "cue", jsonSchema)
		},
		run: func(_ *cobra.Command, args []string) (*output.Result, error) {
			return output.Bytes(schemaText(format, strings.Join(args, "")))
		},
	}.cobra()
}

// schemaNames returns the names of all schemas in a format.
func schemaNames(format string) []string {
	if format == jsonSchema {
		return slices.Concat(schemas.Files(), schemas.Outputs())
	}
	return schemas.Names()
}

// schemaText returns the schema with a name in a format; "" is the default schema.
func schemaText(format, name string) ([]byte, error) {
	names := schemaNames(format)
	switch {
	case format == jsonSchema && (name == "" || slices.Contains(names, name)):
		return schemas.JSONSchema(cmp.Or(name, "catalog"))
	case name == "":
		return []byte(schemas.All()), nil
	}
	text, ok := schemas.Source(name)
	if !ok || format == jsonSchema {
		return nil, fmt.Errorf("no schema %q%s: want %s", name, nearest.Hint(name, names), cmdline.OneOf(names))
	}
	return []byte(text), nil
}
