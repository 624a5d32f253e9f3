package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
)

// renderTemplateCmd returns the command, which exists at the top level and, as upstream, below alpha.
func renderTemplateCmd(path string) *cobra.Command {
	var f templateFlags
	return command{
		Use:   "render-template [TYPE] [FILE]",
		Short: "Print the catalog that a template makes",
		Long: `Print the catalog that a template makes of images of bundles. TYPE is the type of the template;
without it, the schema decides:

  basic        olm.template.basic: a catalog in which bundles are named by their images
  semver       olm.semver: lists of images; channels and updates follow from the versions
  substitutes  olm.template.substitutes: a catalog, and bundles that replace some of its bundles
  composite    olm.composite: builds a package for several catalogs, and writes files instead of
               printing; --composite-config and --catalog-config name its two files

FILE is the template. Without it, or if it is "-", standard input is read.

As in upstream, the catalog is not validated, except for a substitutes template. render-template
prints nothing if a bundle cannot be rendered.

--targets renders one template for several versions of a platform. Each bundle is read once, and
nothing is written unless all targets can be. The file is like

  targets:
  - name: v4.16                  # catalogs are written to v4.16/PACKAGE/catalog.json
    target: ocp=4.16             # or bundleFormat: object
    exclude: [kiln.v2.0.0]       # these bundles are ignored; include lists the only ones
    defaultChannel: stable-v1    # instead of that of the template
  - name: v4.18
    target: ocp=4.18`,
		Example: "  " + path + ` render-template templates/basic.yaml
  ` + path + ` render-template semver templates/semver.yaml --strict-channels -o yaml
  ` + path + ` render-template templates/semver.yaml --lock bundles.lock --target ocp=4.18
  ` + path + ` render-template templates/semver.yaml --targets templates/targets.yaml --output-dir catalogs
  ` + path + ` render-template -o mermaid < templates/basic.yaml`,
		complete: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return append(cmdline.Texts(template.Types()), compositeType), cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		flags: f.add,
		do:    f.run,
	}.cobra()
}

func (f *templateFlags) add(cmd *cobra.Command) {
	cmdline.ChoiceVar(cmd, &f.format, "output", "o", declcfg.JSON, "output format", declcfg.JSON, declcfg.YAML, mermaid)
	flags := cmd.Flags()
	flags.BoolVar(&f.preview, "preview", false, "show channels and updates instead of printing the catalog")
	cmdline.Exclude(cmd, "preview", "output")
	flags.StringVar(&f.targets, "targets", "", "write a catalog for each target in `FILE`")
	flags.StringVar(&f.outputDir, "output-dir", ".", "write the catalogs of --targets below `DIRECTORY`")
	flags.StringVarP(&f.composite.contribution, "composite-config", "c", "composite.yaml",
		"of composite templates, `FILE` with components")
	flags.StringVarP(&f.composite.catalogs, "catalog-config", "f", "catalogs.yaml",
		"of composite templates, `FILE` or URL of the catalogs")
	flags.BoolVar(&f.composite.validate, "validate", true,
		"of composite templates, validate the catalogs before they are written")
	flags.BoolVar(&f.composite.allowExec, "allow-exec", false,
		"of composite templates, run the commands of custom builders")
	f.templateRendering.add(cmd)
	cmdline.Exclude(cmd, "targets", "preview", "target", "bundle-format")
}

// mermaid is the output format for a drawing of the catalog.
const mermaid = "mermaid"

// templateFlags are the flags of render-template.
type templateFlags struct {
	format    declcfg.Format
	preview   bool
	targets   string
	outputDir string
	composite compositeFlags
	templateRendering
}

// templateRendering are the flags of commands that render templates.
type templateRendering struct {
	opts template.Options
	bundleRendering
}

func (f *templateRendering) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.opts.StrictChannels, "strict-channels", false,
		"of semver templates, prefer default channels of the preferred type, and update entries of the same channel only")
	f.bundleRendering.add(cmd)
}

func (f *templateFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == compositeType {
		return f.runComposite(cmd, args[1:])
	}
	for _, name := range []string{"composite-config", "catalog-config", "validate", "allow-exec"} {
		if cmd.Flags().Changed(name) {
			return cmdline.Errorf("--%s is for composite templates: run opm render-template composite", name)
		}
	}
	typ, file, err := templateArgs(args)
	if err != nil {
		return err
	}
	targets, err := f.readTargets(cmd)
	if err != nil {
		return err
	}
	t, err := readTemplate(cmd, typ, file)
	if err != nil {
		return err
	}
	done := display(cmd).Start("rendering")
	defer done()
	bundles, closeAll, err := f.pull(cmd, t)
	if err != nil {
		return err
	}
	defer closeAll()
	if targets != nil {
		err = f.writeTargets(cmd, targets, t, bundles)
	} else {
		err = f.print(cmd, t, bundles, done)
	}
	if err != nil || f.lock == "" {
		return err
	}
	return bundles.Lock.WriteFile(f.lock)
}

// pull renders the bundles of a template. They can be read until closeAll is called.
func (f *bundleRendering) pull(
	cmd *cobra.Command, t *template.Template,
) (bundles *template.Bundles, closeAll func(), err error) {
	opts, closeOpened, err := f.open(cmd)
	if err != nil {
		return nil, nil, err
	}
	showOpening(cmd, &opts, t.Images())
	if bundles, err = t.Pull(cmd.Context(), opts); err != nil {
		closeOpened()
		return nil, nil, err
	}
	return bundles, func() {
		bundles.Close()
		closeOpened()
	}, nil
}

// readTargets reads the file of --targets, if there is one.
func (f *templateFlags) readTargets(cmd *cobra.Command) (*template.Targets, error) {
	switch {
	case f.targets == "" && cmd.Flags().Changed("output-dir"):
		return nil, cmdline.Errorf("--output-dir needs --targets")
	case f.targets == "":
		return nil, nil //nolint:nilnil // none
	case f.format == mermaid:
		return nil, cmdline.Errorf("--targets and -o mermaid cannot be combined")
	}
	text, err := regular.ReadNamed(f.targets)
	if err != nil {
		return nil, fmt.Errorf("read targets: %w", err)
	}
	return template.ReadTargets(f.targets, text)
}

// print prints the catalog, or its preview or drawing for --preview or -o mermaid.
func (f *templateFlags) print(
	cmd *cobra.Command, t *template.Template, bundles *template.Bundles, done func(),
) error {
	catalog, err := t.Render(cmd.Context(), bundles, f.opts)
	if err != nil {
		return err
	}
	if console.IsTerminal(dataOutput(cmd)) { // which shows the output instead
		done()
	}
	if !f.preview && f.format != mermaid {
		opts := declcfg.WriteOptions{Format: f.format, Edit: catalog.Edit}
		return declcfg.Write(cmd.Context(), dataOutput(cmd), catalog.Metas, opts)
	}
	if f.preview {
		index, err := catalog.Index(nil)
		if err != nil {
			return err
		}
		return template.WritePreview(textOutput(cmd), index)
	}
	index, err := catalog.Index(draw.CheckUpstream)
	if err != nil {
		return err
	}
	opts := draw.UpstreamOptions{V0: true, TooLarge: func(size draw.MermaidSize) {
		warnOfSize(cmd, "the drawing", size, "write the catalog with -o yaml, and run: opm graph CATALOG -o html")
	}}
	return draw.UpstreamMermaid(textOutput(cmd), index, opts)
}

// writeTargets writes the catalogs of all targets to a staging directory, and moves them to the output directory after
// the last one is written.
func (f *templateFlags) writeTargets(
	cmd *cobra.Command, targets *template.Targets, t *template.Template, bundles *template.Bundles,
) error {
	rendered, err := targets.Render(cmd.Context(), t, bundles, f.opts)
	if err != nil {
		return err
	}
	return atomicfile.InDir(f.outputDir, func(root *os.Root) error {
		return atomicfile.Merge(root, func(stage *os.Root) error {
			for _, r := range rendered {
				dir, opts := filepath.Join(stage.Name(), r.Name), declcfg.WriteOptions{Format: f.format, Edit: r.Edit}
				if err := declcfg.WriteDir(cmd.Context(), dir, r.Metas, opts); err != nil {
					return fmt.Errorf("target %q: %w", r.Name, err)
				}
			}
			return nil
		})
	})
}

// templateArgs returns the type and the file of the arguments [TYPE] [FILE]. A single argument is a type if it is the
// name of one.
func templateArgs(args []string) (template.Type, string, error) {
	types := append(cmdline.Texts(template.Types()), compositeType)
	switch {
	case len(args) == 0:
		return template.Detect, render.Stdin, nil
	case slices.Contains(types, args[0]):
		return template.Type(args[0]), append(args, render.Stdin)[1], nil
	case len(args) == 1:
		return template.Detect, args[0], nil
	}
	return "", "", cmdline.Errorf("unknown type of template %q%s: want %s",
		args[0], nearest.Hint(args[0], types), cmdline.OneOf(types))
}

// readTemplate reads a template from a file or from standard input.
func readTemplate(cmd *cobra.Command, typ template.Type, file string) (*template.Template, error) {
	name, in := "stdin", cmd.InOrStdin()
	if file != render.Stdin {
		f, err := regular.OpenNamed(file)
		if err != nil {
			hint := nearest.Hint(file, cmdline.Texts(template.Types()))
			return nil, fmt.Errorf("read template: %w%s", err, hint)
		}
		defer f.Close()
		name, in = file, f
	}
	text, err := regular.ReadLimited(in)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return template.Parse(name, text, typ, warnOnce(cmd))
}
