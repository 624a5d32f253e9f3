package main

import (
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/render"
)

// addFormatFlag adds -o to a command that prints catalog objects.
func addFormatFlag(cmd *cobra.Command, format *declcfg.Format) {
	cmdline.ChoiceVar(cmd, format, "output", "o", declcfg.JSON, "output format", declcfg.JSON, declcfg.YAML)
}

func addMigrateLevelFlag(cmd *cobra.Command, level *render.Migration) {
	levels := render.Migrations()
	cmdline.ChoiceVar(cmd, level, "migrate-level", "", "", "migrate up to `LEVEL`: "+cmdline.OneOf(levels), levels...)
}

// An olmFlag is the value of --olm.
type olmFlag string

// The values of --olm.
const (
	olmClassic = olmFlag(graph.Classic)
	olmV1      = olmFlag(graph.V1)
	olmBoth    = olmFlag("both")
)

func (f *olmFlag) add(cmd *cobra.Command, usage string) {
	cmdline.ChoiceVar(cmd, f, "olm", "", olmBoth, usage, olmClassic, olmV1, olmBoth)
}

// semantics returns the semantics of the OLM version that the flag names, or nil for both versions.
func (f olmFlag) semantics() []graph.Semantics {
	if f == olmBoth {
		return nil
	}
	return []graph.Semantics{graph.Semantics(f)}
}

// The flags of limits.
const (
	maxObjectSize = "max-object-size"
	maxImageSize  = "image-max-size"
)

// defaultMaxObject is the default of --max-object-size in bytes. A server with little memory has a lower default.
const defaultMaxObject = 256 << 20

// addReadFlags adds the flags of a command that reads catalogs, including the registry flags.
func addReadFlags(cmd *cobra.Command, images *imageFlags) {
	addObjectLimit(cmd)
	images.add(cmd)
}

func addObjectLimit(cmd *cobra.Command) {
	cmd.Flags().Var(new(cmdline.ByteSize), maxObjectSize, "reject objects of more than `SIZE` in catalogs (default 256Mi)")
}
