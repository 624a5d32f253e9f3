package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/pkg/image"
)

func mirrorCmd() *cobra.Command {
	var f mirrorFlags
	cmd := command{
		Use:   "mirror (CATALOG... | --config FILE | --from-dir DIRECTORY) (--to REGISTRY/PATH | --to-dir DIRECTORY)",
		Short: "Copy a part of a catalog and all its images to another registry",
		Long: `Filter catalogs as opm filter does, build their images, and copy these with all images that
their bundles name: by digest, for all architectures, with signatures, attestations and SBOMs of
cosign and everything else that refers to them. quay.io/org/app becomes REGISTRY/PATH/org/app.

The copy goes from registry to registry, or to a directory (--to-dir) and from there, on the
other side of the gap, to a registry (--from-dir). --since RECORD leaves out of the directory
what the run with that record copied. The record of a directory is its opm-mirror.json, that of a
registry is written with --record.

Blobs that the target has are not sent again, so that a run that was interrupted continues. Tags
are set last. An image that fails does not stop the others; a table names all that failed, and
the exit status is 1. The tag of a catalog does not change then, unless --incomplete is set, and
the images of earlier runs stay needed until a run writes all its catalogs.

--dry-run prints what would be copied, the sizes by package, the images that cannot be copied, and
those of the last run (--record) that are no longer selected; with -v, also a line for each image.

--manifests writes an ImageDigestMirrorSet and an ImageTagMirrorSet, a CatalogSource and a
ClusterCatalog for each catalog. opm mirror prune deletes what is no longer selected.

--verify checks that a mirror has every manifest, blob and tag now, with the right size, and copies
nothing. FILE is the record of a run, which names the mirror; that of a directory is its
opm-mirror.json. Or FILE is an ImageSetConfiguration, with the flags of its run for the target, for
names and architectures: then the catalogs in the mirror and all images that they name are checked.
No source is asked. A table names what is incomplete, and the exit status is 1.

The image of a filtered catalog has the opm of --base-image or else of its source, if that is an
image with /bin/opm. If it is opm of this project, the image has its store, and otherwise no cache.
Without a program (--base-image scratch), the opm of the cluster serves the catalog: this needs
OLM 0.26, which is in OpenShift 4.15.

--config reads an ImageSetConfiguration of oc-mirror (v1alpha2 or v2alpha1): its operators, which
are the catalogs if no CATALOG is given, its additionalImages, and its blockedImages, which are not
copied: images whose reference begins with a name there, or matches it as a regular expression.` + catalogNote,
		Example: `  opm mirror catalog --package kiln:stable --to-dir /tmp/nowhere/mirror --dry-run || echo not found
  docker login mirror.example && opm mirror --config imageset.yaml --to mirror.example/crafts --record crafts.json
  docker login mirror.example && opm mirror --from-dir /media/usb/mirror --to mirror.example/crafts`,
		args:     cobra.ArbitraryArgs,
		complete: completion.Files,
		flags:    f.add,
		formats:  []output.Format{output.Text, output.JSON, output.YAML},
		images:   &f.filter.images,
		do:       f.run,
	}.cobra()
	cmd.AddCommand(mirrorPruneCmd())
	return cmd
}

func (f *mirrorFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := f.check(cmd, args); err != nil {
		return cmdline.Invalid(err)
	}
	if f.verify != "" {
		return f.runVerify(cmd)
	}
	if err := f.readRecords(); err != nil {
		return err
	}
	sources, err := f.sources(cmd)
	if err != nil {
		return err
	}
	catalogs, err := sources.Catalogs(args)
	if err != nil {
		return err
	}
	registry, err := f.filter.images.options(cmd)
	if err != nil {
		return err
	}
	sources.Registry = registry
	opener := image.NewOpener(registry)
	defer func() { err = errors.Join(err, opener.Close(), registry.Cache.Close()) }()
	to, err := f.target(opener)
	if err != nil {
		return err
	}
	if d, ok := to.(*mirror.Directory); ok {
		defer d.Close()
	}
	images, closeAll, err := f.images(cmd, sources, catalogs)
	defer closeAll()
	if err != nil {
		return err
	}
	done := display(cmd).StartLogged("resolving")
	defer func() { done() }()
	plan, err := mirror.NewPlan(cmd.Context(), images, to, mirror.Options{
		Opener: opener, Platforms: f.platforms, Jobs: f.jobs, Last: f.last, RetryFailed: f.retryFailed,
		Limits: image.Limits{Manifests: f.maxManifests}, Progress: display(cmd), Log: registry.Log,
	})
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	done()
	if f.dryRun {
		report := plan.Report()
		for _, i := range report.Images {
			plan.Log.Info("image planned", "image", i.Source, "to", i.Target, "state", i.State, "bytes", i.Bytes)
		}
		return f.print(cmd, report)
	}
	done = display(cmd).StartLogged("mirroring")
	record, runErr := plan.Run(cmd.Context(), mirror.RunOptions{Incomplete: f.incomplete})
	done()
	if record != nil {
		err = errors.Join(f.write(to, record), f.writeManifests(cmd, record))
	}
	if err := cmp.Or(runErr, err); err != nil {
		return err
	}
	return f.print(cmd, plan.Report())
}

// readRecords reads the records of the last run and of --since.
func (f *mirrorFlags) readRecords() (err error) {
	if f.since != "" {
		if f.sinceRecord, err = mirror.ReadRecord(f.since); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	file := f.record
	if f.toDir != "" {
		file = filepath.Join(f.toDir, mirror.RecordFile)
	}
	if file == "" {
		return nil
	}
	f.last, err = mirror.ReadRecord(file)
	if errors.Is(err, fs.ErrNotExist) && !f.retryFailed {
		return nil
	}
	if err == nil {
		err = f.last.CheckTarget(strings.TrimSuffix(f.to, "/"))
	}
	if err != nil {
		return fmt.Errorf("--record %s: %w", file, err)
	}
	return nil
}

func (f *mirrorFlags) target(opener *image.Opener) (mirror.Target, error) {
	if f.toDir != "" {
		return mirror.ToDirectory(f.toDir, f.sinceRecord)
	}
	return mirror.ToRegistry(opener, f.to)
}

// images returns the images to mirror: the images of a directory, or catalogs, all images that they name, and the
// additional images. closeAll removes temporary files; call it after an error, too.
func (f *mirrorFlags) images(
	cmd *cobra.Command, sources *mirror.Sources, catalogs []*mirror.Catalog,
) (images []*mirror.Image, closeAll func(), err error) {
	closers := []func() error{}
	closeAll = func() {
		for _, c := range closers {
			_ = c() // only reads and temporary files
		}
	}
	if f.fromDir != "" {
		dir, record, err := mirror.FromDirectory(f.fromDir)
		if err != nil {
			return nil, closeAll, err
		}
		closers = append(closers, dir.Close)
		if cmd.Flags().Changed("keep-hosts") || cmd.Flags().Changed("max-components") {
			f.names.RenameAll(record.Images)
		}
		return record.Images, closeAll, nil
	}
	if images, err = sources.AdditionalImages(); err != nil {
		return nil, closeAll, err
	}
	for _, from := range catalogs {
		tmp, err := os.MkdirTemp("", "opm-mirror-")
		if err != nil {
			return nil, closeAll, err
		}
		closers = append(closers, func() error { return os.RemoveAll(tmp) })
		filtering := f.filter
		filtering.entry, filtering.transport = from.Entry, true
		filtering.unusable = func(ref string) error { return sources.Unusable(from, ref) }
		filtering.use = func(c *catalog, kept *filter.Result) error {
			found, err := sources.CatalogImages(cmd.Context(), tmp, &mirror.FilteredCatalog{
				Catalog: from, Kept: kept, Digest: c.digest(), Edit: c.Edit, Unchanged: c.Unchanged, Opener: c.images.opener,
			})
			images = append(images, found...)
			if len(found) > 0 {
				closers = append(closers, found[0].Close)
			}
			return err
		}
		if err := filtering.run(cmd, from.Ref); err != nil {
			return nil, closeAll, err
		}
	}
	return images, closeAll, nil
}

// write writes the record of a run.
func (f *mirrorFlags) write(to mirror.Target, record *mirror.Record) error {
	if dir, ok := to.(*mirror.Directory); ok {
		return dir.Finish(record)
	}
	if f.record == "" {
		return nil
	}
	return record.WriteFile(f.record)
}

// writeManifests writes the objects for a cluster.
func (f *mirrorFlags) writeManifests(cmd *cobra.Command, record *mirror.Record) error {
	if f.manifests == "" {
		return nil
	}
	if tags := record.TagOnly(); f.icsp && len(tags) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: an ImageContentSourcePolicy does not mirror images named by tag: %s\n",
			plural.Some(tags))
	}
	files, err := record.Cluster(mirror.ClusterOptions{ICSP: f.icsp, Namespace: f.namespace})
	if err == nil {
		err = manifests.WriteFiles(f.manifests, files)
	}
	if err != nil {
		return fmt.Errorf("--manifests: %w", err)
	}
	return nil
}

// print prints the report of a plan or of a run.
func (f *mirrorFlags) print(cmd *cobra.Command, r *mirror.Report) error {
	failures := r.Failures()
	text := func(w io.Writer) error { return r.WriteText(w, f.dryRun) }
	if f.verify != "" {
		text = r.WriteVerified
	}
	if err := printResult(cmd, output.InText(r, text)); err != nil {
		return err
	}
	if len(failures) == 0 {
		return nil
	}
	what := "were not copied"
	switch {
	case f.verify != "":
		what = "are incomplete"
	case f.dryRun:
		what = "cannot be copied"
	}
	return failure.New(fmt.Sprintf("%s of %s %s", plural.Number(len(failures)), plural.Of(r.Total.Images, "image"), what))
}
