package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func addCmd() *cobra.Command {
	f := editFlags{each: eachFlag{at: 1, together: true}}
	var from bundleRendering
	var add edit.Add
	return command{
		Use:   "add BUNDLE CATALOG --channel CHANNEL",
		Short: "Add a bundle to a catalog or a template",
		Long: `Add a bundle to its package, and put it into a channel. It replaces the head of the channel,
unless --replaces says otherwise. --create makes what does not exist yet: the channel, the package
with the description and the icon of the bundle, and the catalog.

BUNDLE is an image, a bundle directory, or a file with a rendered bundle. An image in a registry is
written by its digest. Unless a flag says otherwise, the bundle carries its manifests as the others
of the package do. In a semver template, CHANNEL is candidate, fast or stable.

With --each, catalogs for releases of OpenShift that the bundle excludes, by its annotation
com.redhat.openshift.versions, are left out. The platform of a catalog is its target in opm.yaml or
the version at the end of its name; --all-platforms leaves none out.

With --impact, the command also prints who is updated to the bundle and who is not, and what is new
with it; see opm diff. With --dry-run, the diff follows the text, but not the other formats.` + editNote,
		Example: `  opm add registry.example/weavers/loom-bundle:v0.6.0 looms --channel weekly --create
  opm add registry.example/pottery/kiln-bundle:v2.0.0 catalog --channel candidate --skip-range "<2.0.0"
  opm add loom catalog --channel weekly --alpha-image-ref-template registry.example/weavers/loom:v0.6.0
  opm add registry.example/pottery/kiln-bundle:v2.0.0 catalog --channel stable --impact -o markdown
  opm add registry.example/pottery/kiln-bundle:v2.0.0 templates/semver.yaml --channel candidate`,
		flags: func(cmd *cobra.Command) {
			const created = "the channel, the package and the catalog if they do not exist"
			f.addEntry(cmd, "channel", &add.Channel, &add.Updates, created)
			completion.With(cmd, completion.ChannelsOfSecond, "channel")
			from.bundles.addImageRef(cmd)
			from.add(cmd)
			flags := cmd.Flags()
			flags.BoolVar(&f.impact, "impact", false, "report what the bundle means for users and clusters")
			cmdline.ChoiceVar(cmd, new(string), "output", "o", "text", "output format, also of the report of --impact",
				"text", "markdown", "json", "yaml")
			flags.BoolVar(&f.allPlatforms, "all-platforms", false,
				"add the bundle to the catalogs of --each for all releases of OpenShift")
			f.add(cmd)
		},
		each: &f.each,
		do: func(cmd *cobra.Command, args []string) error {
			if cmdline.Format(cmd) == output.Markdown && !f.impact {
				return cmdline.Errorf("--output markdown needs --impact")
			}
			changesForm := from.form != "" || from.target != "" || from.migrate || from.level != ""
			if add.LikeOthers = !changesForm; cmd.Flags().Changed("replaces") {
				add.Updates.Replaces = &f.replaces
			}
			if err := from.readBundle(cmd, args[0], &add, &f.releases); err != nil {
				return err
			}
			if err := f.leaveOut(cmd, add.Bundle); err != nil {
				return err
			}
			if f.impact {
				write := func(r *reference.Named) error { return f.writeImpact(cmd, &from.images, r.Ref, add) }
				if err := f.each.runOr(cmd, args[1], write); err != nil {
					return err
				}
			}
			return f.run(cmd, args[1], add)
		},
	}.cobra()
}

// platformsOf returns the platforms of the catalogs to which an edit adds a bundle, zero for a catalog without one. For
// other edits it returns nil: they do not read opm.yaml.
func platformsOf(refs []*reference.Named, e edit.Edit) ([]platform.Platform, error) {
	switch e.(type) {
	case edit.Add, edit.Promote:
	default:
		return nil, nil
	}
	platforms := make([]platform.Platform, len(refs))
	for i, r := range refs {
		p, _, err := catalogPlatform("", r)
		if err != nil {
			return nil, err
		}
		platforms[i] = p
	}
	return platforms, nil
}

// leaveOut removes the catalogs of --each that are for releases of OpenShift that a bundle excludes by its annotation.
// It prints a line about them, and one about catalogs whose platform is not known. It is an error if none is left.
func (f *editFlags) leaveOut(cmd *cobra.Command, b *declcfg.Bundle) error {
	releases := f.releasesOf(b)
	if !f.each.given() || f.allPlatforms || releases == "" {
		return nil
	}
	name := legible.Name(b.Name)
	supported, err := platform.ParseSupported(releases)
	if err != nil {
		why := legible.Text(err.Error())
		warn(cmd, "%s of %s: %s; it goes into all catalogs", platform.AnnotationVersions, name, why)
		return nil
	}
	args, err := input.Each(f.each.values)
	if err != nil {
		return err
	}
	refs, err := parseNamedRefs(args)
	if err != nil {
		return err
	}
	platforms, err := platformsOf(refs, edit.Add{})
	if err != nil {
		return err
	}
	var kept, excluded, unknown []string
	for i, p := range platforms {
		switch ref := legible.Name(refs[i].Ref); {
		case p == (platform.Platform{}):
			unknown = append(unknown, ref)
			fallthrough
		case p.OpenShift == (platform.Version{}) || supported.Contains(p.OpenShift):
			kept = append(kept, args[i])
		default:
			excluded = append(excluded, ref)
		}
	}
	reason := fmt.Sprintf("%s is for %s (%s)", name, supported, platform.AnnotationVersions)
	if len(kept) == 0 {
		return fmt.Errorf("%s, and no catalog is; --all-platforms adds it to all", reason)
	}
	f.each.values = kept
	stderr := cmd.ErrOrStderr()
	if len(excluded) > 0 {
		names := strings.Join(excluded, ", ")
		fmt.Fprintf(stderr, "opm: left out %s: %s; --all-platforms adds it there, too\n", names, reason)
	}
	if len(unknown) > 0 {
		names := strings.Join(unknown, ", ")
		fmt.Fprintf(stderr, "opm: not left out %s, whose platform is not known: %s\n", names, reason)
	}
	return nil
}

// releasesOf returns the annotation of a bundle with the releases of OpenShift that it supports, or "".
func (f *editFlags) releasesOf(b *declcfg.Bundle) string {
	return cmp.Or(f.releases, b.CSVMetadata().Annotations[platform.AnnotationVersions])
}

// warnOfPlatform warns if the platform of a catalog, which may be zero, does not support the bundle that an edit added
// or promoted.
func (f *editFlags) warnOfPlatform(cmd *cobra.Command, path string, p platform.Platform, b *declcfg.Bundle) {
	if b == nil || p == (platform.Platform{}) {
		return
	}
	if why := p.Unsupported(b, f.releasesOf(b)); why != "" {
		warn(cmd, "%s does not belong in %s, which is for %s: %s",
			legible.Name(b.Name), legible.Name(path), p, legible.Text(why))
	}
}

// readBundle renders the bundle that an edit adds, with its image by digest. It sets releases to the annotation with
// the releases of OpenShift that the bundle supports, if there is one.
func (f *bundleRendering) readBundle(cmd *cobra.Command, ref string, add *edit.Add, releases *string) error {
	opts, closeAll, err := f.open(cmd)
	if err != nil {
		return err
	}
	defer closeAll()
	opts.Bundles.Releases = func(found string) { *releases = found } // of one bundle
	catalog, err := render.Open(cmd.Context(), []string{ref}, opts)
	if err != nil {
		return err
	}
	defer catalog.Close()
	metas, err := catalog.Metas(cmd.Context())
	if err != nil {
		return err
	}
	if len(metas) != 1 || metas[0].Schema != declcfg.SchemaBundle {
		return fmt.Errorf("add %q: want one bundle, found a catalog with %d objects", ref, len(metas))
	}
	v, err := metas[0].Decode()
	if err != nil {
		return err
	}
	b := v.(*declcfg.Bundle) //nolint:forcetypeassert // by its schema
	if b.Image == "" && reference.Of(ref).Kind == reference.Directory {
		return &declcfg.Error{Pos: declcfg.Pos{File: ref}, Err: bundle.ErrNoImage}
	}
	if image := b.Image; image == ref && len(catalog.Lock.References) == 1 {
		b.Image = catalog.Lock.References[0].Pinned()
		for i := range b.RelatedImages {
			if b.RelatedImages[i].Image == image {
				b.RelatedImages[i].Image = b.Image
			}
		}
	}
	add.Bundle, add.Reference = b, ref
	add.Package = &declcfg.Package{Description: b.CSVMetadata().Description, Icon: b.ManifestIcon()}
	return catalog.Edit(b)
}
