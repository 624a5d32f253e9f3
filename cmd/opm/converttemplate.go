package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
)

// convertTemplateCmd returns the command, which exists at the top level and, as upstream, below alpha.
func convertTemplateCmd(path string) *cobra.Command {
	path += " convert-template"
	cmd := cmdline.Group(&cobra.Command{
		Use:     "convert-template",
		Short:   "Convert a catalog to a template",
		Example: "  " + path + " basic catalog/loom/catalog.json",
	})
	for _, typ := range template.Convertible() {
		cmd.AddCommand(convertToCmd(path, typ))
	}
	return cmd
}

// kept describes how templates of each type refer to bundles.
var kept = map[template.Type]string{
	template.Basic:       "Bundles are named by their images.",
	template.Substitutes: "It has all of the catalog, so that no image is read to render it again.",
}

func convertToCmd(path string, typ template.Type) *cobra.Command {
	var format declcfg.Format
	path += " " + string(typ)
	return command{
		Use:   string(typ) + " [FILE]",
		Short: fmt.Sprintf("Convert a catalog to a %s template", typ),
		Long: fmt.Sprintf(`Print a %s template of the objects of a catalog, in their order.
%s

FILE is a catalog file. Without it, or if it is "-", standard input is read.`, typ, kept[typ]),
		Example: "  " + path + " catalog/loom/catalog.json > template.json\n" +
			"  opm render catalog | " + path + " -o yaml > template.yaml",
		flags: func(cmd *cobra.Command) { addFormatFlag(cmd, &format) },
		work:  "converting",
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			ref := append(args, render.Stdin)[0]
			if kind := reference.Of(ref).Kind; kind == reference.Directory || kind == reference.LayoutDirectory {
				return nil, fmt.Errorf("convert %q: want a catalog file, found a directory; run: opm render %s | %s",
					ref, ref, path)
			}
			catalog, err := render.Open(cmd.Context(), []string{ref}, openOptions(cmd))
			if err != nil {
				return nil, err
			}
			defer catalog.Close()
			return output.Bytes(template.Convert(cmd.Context(), typ, format, catalog.Sources...))
		},
	}.cobra()
}
