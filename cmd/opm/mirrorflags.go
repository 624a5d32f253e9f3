package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/pkg/image"
)

// mirrorFlags are the flags of mirror.
type mirrorFlags struct {
	to, toDir, fromDir   string
	since, record        string
	catalogImage         string
	additional           []string
	platforms            []string
	names                mirror.Names
	jobs, maxManifests   int
	dryRun, retryFailed  bool
	verify               string
	manifests, namespace string
	icsp                 bool
	incomplete           bool
	base                 string // of the images of catalogs; "" for their sources
	filter               filterFlags
	last, sinceRecord    *mirror.Record
}

func (f *mirrorFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "copy to `REGISTRY[/PATH]`")
	flags.StringVar(&f.toDir, "to-dir", "", "copy to `DIRECTORY`, an OCI layout")
	flags.StringVar(&f.fromDir, "from-dir", "", "copy what --to-dir wrote to `DIRECTORY`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be copied, and copy nothing")
	flags.StringVar(&f.verify, "verify", "",
		"check that the mirror has everything that the record or the configuration in `FILE` names, and copy nothing")
	flags.StringVar(&f.record, "record", "", "read the record of the last run from `FILE`, and write that of this run")
	flags.StringVar(&f.since, "since", "", "leave out of --to-dir what the run with the record in `FILE` copied")
	flags.BoolVar(&f.retryFailed, "retry-failed", false, "copy only catalogs, and images that failed in the last run")
	flags.BoolVar(&f.incomplete, "incomplete", false, "set the tags of catalogs even if some of their images failed")
	flags.StringArrayVar(&f.additional, "image", nil, "also copy the image `REF`; repeatable")
	flags.StringSliceVar(&f.platforms, "platform", nil,
		"copy only `OS/ARCH` of indexes, if the target accepts that; repeatable (default all)")
	flags.StringVar(&f.catalogImage, "catalog-image", "",
		"name the image of CATALOG `[PATH][:TAG]` in the mirror (default: as its source)")
	flags.StringVarP(&f.base, "base-image", "i", "",
		"base of filtered catalogs: `IMAGE` that contains opm, self or scratch (default: the source, if it has opm)")
	flags.BoolVar(&f.names.KeepHosts, "keep-hosts", false, "begin paths in the mirror with the host of the source")
	flags.IntVar(&f.names.MaxComponents, "max-components", 0,
		"join the last components of paths in the mirror with dashes if there are more than `N`, with those of --to")
	flags.IntVar(&f.maxManifests, "max-manifests", image.DefaultManifests,
		"reject images with more than `N` manifests, with their signatures and everything that refers to them")
	flags.IntVar(&f.jobs, "jobs", mirror.DefaultJobs, "copy `N` blobs at once")
	f.filter.addSelection(cmd)
	flags.StringVar(&f.manifests, "manifests", "",
		"write to `DIRECTORY` the objects that make a cluster use the mirror")
	flags.StringVar(&f.namespace, "namespace", "",
		"write CatalogSources for this `NAMESPACE` (default openshift-marketplace, or olm if the target is Kubernetes)")
	flags.BoolVar(&f.icsp, "icsp", false, "write an ImageContentSourcePolicy, for clusters before OpenShift 4.13")
	cmdline.Exclude(cmd, "to-dir", "to")
	cmdline.Exclude(cmd, "to-dir", "manifests")
	cmdline.Exclude(cmd, "to-dir", "from-dir")
	for _, name := range []string{
		"package", "full", "default-channel", "with-dependencies", "config", "keep-going", "image", "platform",
		"catalog-image", "since", "base-image",
	} {
		cmdline.Exclude(cmd, "from-dir", name)
	}
	cmdline.Exclude(cmd, "verify", besideVerify...)
	for _, name := range []string{"to-dir", "from-dir", "manifests"} {
		cmdline.Must(cmd.MarkFlagDirname(name))
	}
	cmdline.Must(cmd.MarkFlagFilename("verify", "json", "yaml", "yml"))
	for _, name := range []string{"since", "record"} {
		cmdline.Must(cmd.MarkFlagFilename(name, "json"))
	}
	completion.Nothing(cmd, "base-image", "namespace", "to", "image", "platform", "catalog-image", "max-components",
		"max-manifests", "jobs")
}

// check checks the flags and arguments against each other.
func (f *mirrorFlags) check(cmd *cobra.Command, args []string) error {
	selecting := f.filter.packages != nil || f.filter.defaults != nil
	f.names.Above = strings.Count(strings.TrimSuffix(f.to, "/"), "/")
	switch {
	case f.verify != "":
		if err := f.checkVerify(args); err != nil {
			return err
		}
	case f.to == "" && f.toDir == "":
		return errors.New("--to or --to-dir is missing: it says where the images go")
	case f.fromDir != "" && len(args) > 0:
		return fmt.Errorf("unexpected argument %q: --from-dir has the catalogs", args[0])
	case f.fromDir == "" && len(args) == 0 && f.filter.config == "" && f.additional == nil:
		return errors.New("argument CATALOG is missing")
	case len(args) > 1 && (selecting || f.catalogImage != ""):
		return errors.New("--package, --default-channel and --catalog-image are for one CATALOG; for several, use --config")
	case f.since != "" && f.toDir == "":
		return errors.New("--since needs --to-dir")
	case f.record != "" && f.to == "":
		return fmt.Errorf("--record is for --to: the record of a directory is its %s", mirror.RecordFile)
	case f.retryFailed && f.record == "" && f.toDir == "":
		return errors.New("--retry-failed needs --record")
	case f.manifests == "" && (f.icsp || cmd.Flags().Changed("namespace")):
		return errors.New("--icsp and --namespace need --manifests")
	}
	switch {
	case f.names.MaxComponents < 0:
		return fmt.Errorf("--max-components %d: want 1 or more", f.names.MaxComponents)
	case f.names.MaxComponents > 0 && f.names.MaxComponents <= f.names.Above:
		return fmt.Errorf("--max-components %d: want more than the %s of the path of --to", f.names.MaxComponents,
			plural.Of(f.names.Above, "component"))
	case f.maxManifests < 1:
		return fmt.Errorf("--max-manifests %d: want 1 or more", f.maxManifests)
	}
	if err := image.CheckPlatforms(f.platforms...); err != nil {
		return fmt.Errorf("--platform: %w", err)
	}
	return checkJobs(cmd, f.jobs)
}

// sources returns the catalogs and images to mirror.
func (f *mirrorFlags) sources(cmd *cobra.Command) (*mirror.Sources, error) {
	s := &mirror.Sources{
		Names: f.names, CatalogImage: f.catalogImage, Additional: f.additional, Platforms: f.platforms, Base: f.base,
		Namespace: namespaceOf,
		Warn:      func(format string, args ...any) { warn(cmd, format, args...) },
		Note:      func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "opm: "+format+"\n", args...) },
	}
	s.Self = func(ctx context.Context, platforms []string) ([]publish.Platform, func(), error) {
		build := buildFlags{base: baseSelf, platforms: platforms}
		if err := build.checkPlatforms(); err != nil {
			return nil, func() {}, fmt.Errorf("--base-image self is for the platform of this opm: %w", err)
		}
		return build.open(ctx, s.Registry)
	}
	if f.filter.config == "" {
		return s, nil
	}
	var err error
	if s.Config, err = filter.ReadConfig(f.filter.config); err == nil {
		err = s.Config.CheckMirrored()
	}
	if err != nil {
		return nil, err
	}
	for _, w := range s.Config.Ignored() {
		warnAt(cmd, w.Pos, w.Message())
	}
	return s, nil
}

// namespaceOf returns the namespace of the CatalogSource for a catalog whose target in opm.yaml is Kubernetes without
// OpenShift, or "".
func namespaceOf(ref string) (string, error) {
	config, err := readConfig("", ref)
	if err != nil {
		return "", err
	}
	target, err := config.TargetOf(ref)
	if err != nil || target.Kubernetes == (platform.Version{}) || target.OpenShift != (platform.Version{}) {
		return "", err
	}
	return "olm", nil
}
