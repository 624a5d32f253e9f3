package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func renderCmd() *cobra.Command {
	var f renderFlags
	return command{
		Use:   "render REF...",
		Short: "Print the objects of catalogs and bundles",
		Long: `Print the objects of one or more catalogs and bundles as one stream, in a fixed order.

REF is a catalog directory or file, an archive of a directory (.tar or .tar.gz), "-" for standard
input, a bundle directory with manifests/ and metadata/, or an image of a catalog or a bundle: in
a registry (HOST/PATH:TAG or HOST/PATH@DIGEST), in an OCI layout (oci:DIRECTORY[:TAG]), or in an
image archive (FILE[:TAG]). Images need no container engine.

render does not validate. It prints nothing if an object cannot be read. Objects that several
catalogs hold are printed as often, unless --merge-duplicates is given.

With --shard, several processes or machines render a part of the references each, as JSON. To
merge the shards, render them together, in any order: the output is that of one run. A shard that
is missing, or of other references, is an error.`,
		Example: `  opm render catalog
  opm render catalog/kiln catalog/loom/catalog.json -o yaml > catalog.yaml
  opm render catalog --migrate
  opm render registry.example/pottery/kiln-bundle:v2.0.0 bundle oci:layout
  opm render --refs-file bundles.txt --lock bundles.lock --target ocp=4.18
  opm render --refs-file bundles.txt --shard 0/2 --output-file shard-0.json`,
		args: func(cmd *cobra.Command, args []string) error {
			if f.refsFile != "" {
				return nil
			}
			return cmdline.WantArgs("REF...")(cmd, args)
		},
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			addFormatFlag(cmd, &f.format)
			flags.StringVar(&f.refsFile, "refs-file", "", "also render the references in `FILE`, one a line")
			flags.BoolVar(&f.keepGoing, "keep-going", false, "skip what cannot be rendered, and fail at the end")
			flags.BoolVar(&f.merge, "merge-duplicates", false,
				"print objects that several files hold once, and fail for those that differ")
			flags.StringVar(&f.pkg, "package", "", "print the objects of `PACKAGE` only")
			addShardFlag(cmd, &f.shard, "references")
			cmdline.Exclude(cmd, "shard", "package", "output", "merge-duplicates")
			flags.StringVar(&f.file, "output-file", "", "write to `FILE` instead, once everything is rendered")
			f.bundles.addImageRef(cmd)
			f.bundleRendering.add(cmd)
		},
		do: f.run,
	}.cobra()
}

// renderFlags are the flags of render.
type renderFlags struct {
	format    declcfg.Format
	refsFile  string
	keepGoing bool
	merge     bool
	pkg       string // the only package; "" for all
	shard     render.Shard
	file      string // output file; "" for standard output
	bundleRendering
}

func (f *renderFlags) run(cmd *cobra.Command, args []string) error {
	var skipped []error
	if f.refsFile != "" {
		refs, err := readReferences(cmd, f.refsFile)
		switch {
		case err == nil:
		case f.keepGoing && refs != nil:
			skipped = append(skipped, err)
		default:
			return err
		}
		args = append(args, refs...)
		if f.refsFile == render.Stdin && slices.Contains(args, render.Stdin) {
			return cmdline.Errorf(
				"--refs-file - already reads standard input: remove \"-\" from the references")
		}
	}
	opts, closeAll, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer closeAll()
	if f.keepGoing {
		opts.Skipped = func(_ string, err error) { skipped = append(skipped, err) }
	}
	opts.Shard = f.shard
	if err := f.render(cmd, args, opts); err != nil {
		return errors.Join(append(skipped, err)...)
	}
	return errors.Join(skipped...)
}

// readReferences reads a file of references, or standard input. The result has the valid ones, also after an error.
func readReferences(cmd *cobra.Command, name string) ([]string, error) {
	in, shown := cmd.InOrStdin(), "stdin"
	if name != render.Stdin {
		file, err := regular.OpenNamed(name)
		if err != nil {
			return nil, fmt.Errorf("read references: %w", err)
		}
		defer file.Close()
		in, shown = file, name
	}
	return render.ReadReferences(shown, in)
}

// render prints the catalogs and bundles of the references, and then writes the lock file.
func (f *renderFlags) render(cmd *cobra.Command, refs []string, opts render.Options) error {
	ctx := cmd.Context()
	done := display(cmd).Start("rendering")
	defer done()
	showOpening(cmd, &opts, opts.Shard.Of(refs))
	catalog, err := render.Open(ctx, refs, opts)
	if err != nil {
		return err
	}
	defer catalog.Close()
	metas, err := catalog.Metas(ctx)
	if err != nil {
		return input.OfParts(cmd.Context(), refs, err)
	}
	if f.merge {
		if metas, err = declcfg.MergeDuplicates(metas); err != nil {
			return err
		}
	}
	warnIfNone(cmd, len(metas), "objects of a catalog", refs...)
	if f.pkg != "" {
		if metas, err = ofPackage(metas, f.pkg); err != nil {
			return err
		}
	}
	if console.IsTerminal(dataOutput(cmd)) { // which shows the output instead
		done()
	}
	warnOfFlaws(cmd, metas)
	write := declcfg.WriteOptions{Format: f.format, Edit: catalog.Edit, Check: catalog.Unchanged}
	if f.file == "" {
		err = printObjects(cmd, metas, write)
	} else {
		err = atomicfile.Write(f.file, atomicfile.Options{Replace: true, Stream: true}, func(w io.Writer) error {
			return declcfg.Write(ctx, w, metas, write)
		})
	}
	if err != nil || f.lock == "" {
		return err
	}
	return catalog.Lock.WriteFile(f.lock)
}

// ofPackage returns the objects of one package.
func ofPackage(metas []*declcfg.Meta, pkg string) ([]*declcfg.Meta, error) {
	var of []*declcfg.Meta
	var names []string
	for _, m := range metas {
		names = append(names, m.Owner())
		if m.Owner() == pkg {
			of = append(of, m)
		}
	}
	if len(of) == 0 {
		return nil, nearest.NotFound("no package", pkg, slices.Compact(names))
	}
	return of, nil
}

// completionIndex is the variable that the pods of an indexed Job have.
const completionIndex = "JOB_COMPLETION_INDEX"

// addShardFlag adds --shard to a command that asks registries for many images.
func addShardFlag(cmd *cobra.Command, shard *render.Shard, what string) {
	usage := fmt.Sprintf("only part `INDEX/COUNT` of the %s, the first is 0/COUNT; COUNT alone takes INDEX from $%s",
		what, completionIndex)
	cmd.Flags().Func("shard", usage, func(text string) (err error) {
		if !strings.Contains(text, "/") {
			index := os.Getenv(completionIndex)
			if index == "" {
				return fmt.Errorf("want INDEX/COUNT, since $%s is not set", completionIndex)
			}
			text = index + "/" + text
		}
		*shard, err = render.ParseShard(text)
		return err
	})
}
