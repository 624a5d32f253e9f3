package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
)

// renderTemplateCmd returns the command, below alpha as upstream or at the top level.
func renderTemplateCmd(path string) *cobra.Command {
	var f templateFlags
	cmd := &cobra.Command{
		Use:   "render-template [TYPE] [FILE]",
		Short: "Print the catalog that a template makes",
		Long: `Print the catalog that a template makes of images of bundles. TYPE is the type of the template;
without it, the schema decides:

  basic        olm.template.basic: a catalog in which bundles are named by their images
  semver       olm.semver: lists of images; channels and updates follow from the versions
  substitutes  olm.template.substitutes: a catalog, and bundles that replace some of its bundles

FILE is the template. Without it, or if it is "-", standard input is read.

As in upstream, the catalog is not validated, except for a substitutes template. render-template
prints nothing if a bundle cannot be rendered.`,
		Example: "  " + path + ` render-template templates/basic.yaml
  ` + path + ` render-template semver templates/semver.yaml --strict-channels -o yaml
  ` + path + ` render-template templates/semver.yaml --lock bundles.lock --target ocp=4.18
  ` + path + ` render-template -o mermaid < templates/basic.yaml`,
		Args:              rangeArgs(0, "TYPE", "FILE"),
		ValidArgsFunction: completeTemplate,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

// completeTemplate completes a type or a file, and then a file.
func completeTemplate(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return texts(template.Types()), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// mermaid is the format that draws the catalog.
const mermaid = "mermaid"

// templateFlags are the flags of render-template.
type templateFlags struct {
	format string
	opts   template.Options
	bundleRendering
}

func (f *templateFlags) add(cmd *cobra.Command) {
	choiceVar(cmd, &f.format, "output", "o", string(declcfg.JSON), "output format",
		string(declcfg.JSON), string(declcfg.YAML), mermaid)
	cmd.Flags().BoolVar(&f.opts.StrictChannels, "strict-channels", false,
		"of semver templates, prefer default channels of the preferred type, and update entries of the same channel only")
	f.bundleRendering.add(cmd)
}

func (f *templateFlags) run(cmd *cobra.Command, args []string) error {
	typ, file, err := templateArgs(args)
	if err != nil {
		return err
	}
	t, err := readTemplate(cmd, typ, file)
	if err != nil {
		return err
	}
	opts, images, err := f.options(cmd)
	if err != nil {
		return err
	}
	defer images.close()
	closeReused, err := f.openReused(cmd, &opts)
	if err != nil {
		return err
	}
	defer closeReused()
	done := progress(cmd, "rendering")
	defer done()
	bundles, err := t.Pull(cmd.Context(), opts)
	if err != nil {
		return err
	}
	defer bundles.Close()
	catalog, err := t.Render(cmd.Context(), bundles, f.opts)
	if err != nil {
		return err
	}
	if isTerminal(cmd.OutOrStdout()) { // which shows the output instead
		done()
	}
	if err := f.write(cmd, catalog); err != nil || f.lock == "" {
		return err
	}
	return bundles.Lock.WriteFile(f.lock)
}

// write prints the catalog.
func (f *templateFlags) write(cmd *cobra.Command, catalog *template.Catalog) error {
	if f.format != mermaid {
		opts := declcfg.WriteOptions{Format: declcfg.Format(f.format), Edit: catalog.Edit}
		return declcfg.Write(cmd.Context(), cmd.OutOrStdout(), catalog.Metas, opts)
	}
	index, err := catalog.Index()
	if err != nil {
		return err
	}
	return draw.UpstreamMermaid(cmd.OutOrStdout(), index, draw.UpstreamOptions{V0: true})
}

// templateArgs returns the type and the file of the arguments [TYPE] [FILE]. One argument is a type if there is one of
// that name.
func templateArgs(args []string) (template.Type, string, error) {
	types := texts(template.Types())
	switch {
	case len(args) == 0:
		return template.Detect, render.Stdin, nil
	case slices.Contains(types, args[0]):
		return template.Type(args[0]), append(args, render.Stdin)[1], nil
	case len(args) == 1:
		return template.Detect, args[0], nil
	}
	return "", "", usageError{fmt.Errorf("unknown type of template %q%s: want %s",
		args[0], nearest.Hint(args[0], types), oneOf(types))}
}

// readTemplate reads a template from a file or from standard input.
func readTemplate(cmd *cobra.Command, typ template.Type, file string) (*template.Template, error) {
	name, in := "stdin", cmd.InOrStdin()
	if file != render.Stdin {
		f, err := os.Open(file)
		if err != nil {
			hint := nearest.Hint(file, texts(template.Types()))
			return nil, fmt.Errorf("read template: %w%s", err, hint)
		}
		defer f.Close()
		name, in = file, f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return template.Parse(name, text, typ, func(e *declcfg.Error) {
		fmt.Fprintln(cmd.ErrOrStderr(), placed(e.Pos, "warning", e.Message()))
	})
}
