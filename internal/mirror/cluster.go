package mirror

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/pkg/image"
)

// ClusterOptions configure the objects for a cluster.
type ClusterOptions struct {
	ICSP      bool   // write an ImageContentSourcePolicy, for clusters without ImageDigestMirrorSet; see TagOnly
	Namespace string // namespace of the CatalogSources; "" for the Namespace of each catalog
}

// DefaultNamespace is the namespace of CatalogSources on OpenShift.
const DefaultNamespace = "openshift-marketplace"

// Cluster returns the files that make a cluster use the mirror: the mirror sets for images by digest and by tag, with
// an entry for each repository, and a CatalogSource and a ClusterCatalog for each catalog. They include what is in
// Served. Their names differ from those of other catalogs in the same target. The record must be the record of a
// registry.
func (r *Record) Cluster(o ClusterOptions) ([]manifests.File, error) {
	digests, tags, err := r.sources()
	if err != nil {
		return nil, err
	}
	served, servedTags, err := (&Record{Images: r.Served}).sources()
	if err != nil {
		return nil, err
	}
	name := r.mirrorSet(digests, tags)
	var files []manifests.File
	add := func(file string, text []byte, failed error) {
		files, err = append(files, manifests.File{Name: file, Text: text}), cmp.Or(err, failed)
	}
	kinds := []struct {
		file, apiVersion, kind, field string
		sources, served               repositories
		use                           bool
	}{
		{
			"imagedigestmirrorset.yaml", "config.openshift.io/v1", "ImageDigestMirrorSet", "imageDigestMirrors", digests,
			served, !o.ICSP,
		},
		{
			"imagecontentsourcepolicy.yaml", "operator.openshift.io/v1alpha1", "ImageContentSourcePolicy",
			"repositoryDigestMirrors", digests, served, o.ICSP,
		},
		{
			"imagetagmirrorset.yaml", "config.openshift.io/v1", "ImageTagMirrorSet", "imageTagMirrors", tags, servedTags,
			!o.ICSP,
		},
	}
	for _, k := range kinds {
		entries := r.mirrors(k.sources, k.served)
		if len(entries) == 0 || !k.use {
			continue
		}
		text, err := manifests.Encode([]map[string]any{{
			"apiVersion": k.apiVersion, "kind": k.kind, "metadata": map[string]any{"name": name},
			"spec": map[string]any{k.field: entries},
		}}, manifests.YAML)
		add(k.file, text, err)
	}
	for catalog, img := range r.catalogs() {
		for _, kind := range []manifests.Kind{manifests.CatalogSource, manifests.ClusterCatalog} {
			opts := manifests.Options{Kind: kind, Name: catalog, Image: r.Target + "/" + img.Target()}
			if kind == manifests.CatalogSource {
				opts.Namespace = cmp.Or(o.Namespace, img.Namespace, DefaultNamespace)
				opts.Template, opts.Program = img.CatalogSource, img.Program
			}
			set, failed := manifests.New(opts)
			if failed != nil {
				return nil, fmt.Errorf("catalog %s: %w", img.Source, failed)
			}
			text, failed := set.Text(manifests.YAML)
			add(string(kind)+"-"+catalog+".yaml", text, failed)
		}
	}
	slices.SortFunc(files, func(a, b manifests.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, err
}

// TagOnly returns the sources of the images that are named by tag, which an ImageContentSourcePolicy does not mirror.
func (r *Record) TagOnly() (sources []string) {
	for _, img := range r.needed() {
		ref, err := parse(img.Source)
		if _, byTag := ref.(name.Tag); !img.Catalog && err == nil && byTag && !slices.Contains(sources, img.Source) {
			sources = append(sources, img.Source)
		}
	}
	return sources
}

// repositories maps repositories of sources to the repositories of the mirror that have their images.
type repositories map[string][]string

func (r repositories) add(source, mirror string) {
	if !slices.Contains(r[source], mirror) {
		r[source] = append(r[source], mirror)
	}
}

// sources returns the repositories of images by digest and of images by tag. An image with another tag than its source
// has no mirror for its tag.
func (r *Record) sources() (digests, tags repositories, err error) {
	digests, tags = repositories{}, repositories{}
	for _, img := range r.Images {
		if img.Catalog || img.Manifests == nil {
			continue
		}
		ref, err := parse(img.Source)
		if err != nil {
			return nil, nil, err
		}
		switch ref := ref.(type) {
		case name.Digest:
			digests.add(image.RepositoryName(ref), img.Repository)
		case name.Tag:
			if ref.TagStr() == img.Tag {
				tags.add(image.RepositoryName(ref), img.Repository)
			}
		}
	}
	return digests, tags, nil
}

// mirrors returns the entries of a mirror set, sorted by source. A source may have several mirrors, those in sources
// and then those in served.
func (r *Record) mirrors(sources, served repositories) (entries []map[string]any) {
	all := repositories{}
	for _, repos := range []repositories{sources, served} {
		for source, mirrors := range repos {
			for _, repo := range mirrors {
				all.add(source, r.Target+"/"+repo)
			}
		}
	}
	for _, source := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, map[string]any{"source": source, "mirrors": all[source]})
	}
	return entries
}

// mirrorSet returns the name of the mirror sets, after the target and the catalogs. Without catalogs, it depends on
// the sources instead. So mirrors of other catalogs in the same target have mirror sets of their own.
func (r *Record) mirrorSet(digests, tags repositories) string {
	var parts []string
	for _, img := range r.Images {
		if img.Catalog {
			parts = append(parts, catalogName(img))
		}
	}
	if parts == nil {
		sources := slices.Sorted(maps.Keys(digests))
		sources = append(sources, slices.Sorted(maps.Keys(tags))...)
		parts = []string{hashed(strings.Join(sources, " "))}
	}
	return limited("mirror-"+dashed(r.Target)+"-"+strings.Join(parts, "-"), validation.DNS1123SubdomainMaxLength)
}

// catalogs returns the catalogs by the names of their objects.
func (r *Record) catalogs() map[string]*Image {
	byName, seen := map[string]*Image{}, map[string]bool{}
	for _, img := range r.needed() {
		if !img.Catalog || img.Manifests == nil || seen[img.Target()] {
			continue
		}
		seen[img.Target()] = true
		object := catalogName(img)
		if byName[object] != nil { // such as a-b/c and a/b-c
			object = limited(object, validation.DNS1035LabelMaxLength-hashLength-1) + "-" + hashed(img.Target())
		}
		byName[object] = img
	}
	return byName
}

// catalogName returns the name of the objects of a catalog, which is also that of a Service: the repository and the
// tag, with the path of the repository, since catalogs of several organizations may have the same last component.
func catalogName(img *Image) string {
	text := img.Repository
	if img.Tag != "latest" {
		text += "-" + img.Tag
	}
	object := dashed(text)
	if object[0] < 'a' {
		object = "catalog-" + object // the name of a Service begins with a letter
	}
	return limited(object, validation.DNS1035LabelMaxLength)
}

// limited returns text, or its beginning and its hash if it is longer than limit.
func limited(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.TrimRight(text[:limit-hashLength-1], "-") + "-" + hashed(text)
}

// hashLength is the length of a hash in a name.
const hashLength = 8

// hashed returns a hash of text for a name.
func hashed(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:hashLength] }

// dashed returns text in lower case with dashes instead of the characters that object names must not have.
func dashed(text string) string {
	return strings.Trim(notInPath.ReplaceAllString(strings.ToLower(text), "-"), "-")
}
