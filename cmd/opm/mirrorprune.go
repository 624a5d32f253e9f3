package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/image"
)

func mirrorPruneCmd() *cobra.Command {
	var f pruneFlags
	return command{
		Use:   "prune --record FILE...",
		Short: "Delete images from a mirror that its catalogs no longer need",
		Long: `List the manifests of a mirror that earlier runs of opm mirror copied and that are no longer
selected, by the records of the runs. Name the records of everything that is mirrored to this
registry: nothing is listed that one of them needs, and nothing that a catalog may name which a run
left as it was, since it failed or was interrupted. --execute deletes them by digest, and removes
them from the records. The registry frees their blobs when it collects garbage.

--execute deletes nothing if the tag of a catalog refers to a catalog that is not in the records:
the record of its run is missing, or the run was killed before it wrote the record.`,
		Example: `  docker login mirror.example && opm mirror prune --record crafts.json --execute`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringArrayVar(&f.files, "record", nil, "read the record of opm mirror in `FILE`; repeatable")
			flags.BoolVar(&f.execute, "execute", false, "delete what is listed")
			cmdline.Must(cmd.MarkFlagFilename("record", "json"))
			f.images.add(cmd)
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML},
		do:      f.run,
	}.cobra()
}

// pruneFlags are the flags of mirror prune.
type pruneFlags struct {
	files   []string
	execute bool
	images  imageFlags
}

func (f *pruneFlags) run(cmd *cobra.Command, _ []string) error {
	if len(f.files) == 0 {
		return cmdline.Errorf("--record is missing: it has the images of the mirror")
	}
	var records []*mirror.Record
	for _, file := range f.files {
		record, err := mirror.ReadRecord(file)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	pruning, err := mirror.NewPruning(records)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	if err := printResult(cmd, output.InText(pruning, pruning.WriteText)); err != nil || !f.execute {
		return err
	}
	return f.prune(cmd, pruning, records)
}

// prune deletes the obsolete manifests, and writes the records, even if some manifests could not be deleted.
func (f *pruneFlags) prune(cmd *cobra.Command, pruning *mirror.Pruning, records []*mirror.Record) error {
	registry, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	opener := image.NewOpener(registry)
	done := display(cmd).Start("deleting")
	display(cmd).Count(len(pruning.Manifests), "manifests")
	n := 0
	failed := pruning.Run(cmd.Context(), opener, func(m mirror.Obsolete) {
		display(cmd).Did(m.Source)
		n++
	})
	done()
	for i, r := range records {
		failed = errors.Join(failed, r.WriteFile(f.files[i]))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "opm: deleted %s of %s\n", plural.Number(n),
		plural.Of(len(pruning.Manifests), "manifest"))
	return errors.Join(failed, opener.Close(), registry.Cache.Close())
}
