package mirror

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/pkg/image"
)

// ClusterOptions configure the objects for a cluster.
type ClusterOptions struct {
	ICSP      bool   // write an ImageContentSourcePolicy, for clusters without ImageDigestMirrorSet; see TagOnly
	Namespace string // namespace of the CatalogSources
}

// Cluster returns the files that make a cluster use the mirror: the mirror sets for images by digest and by tag, with
// an entry for each repository, and a CatalogSource and a ClusterCatalog for each catalog. They include what is in
// Served. The record must be the record of a registry.
func (r *Record) Cluster(o ClusterOptions) ([]manifests.File, error) {
	digests, tags, err := r.sources()
	if err != nil {
		return nil, err
	}
	served, servedTags, err := (&Record{Images: r.Served}).sources()
	if err != nil {
		return nil, err
	}
	name := "mirror-" + dashed(r.Target)
	var files []manifests.File
	add := func(file string, text []byte, failed error) {
		files, err = append(files, manifests.File{Name: file, Text: text}), cmp.Or(err, failed)
	}
	kinds := []struct {
		file, apiVersion, kind, field string
		sources, served               map[string]string
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
				opts.Namespace = o.Namespace
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
		if !img.Catalog && img.Tag != "" && !slices.Contains(sources, img.Source) {
			sources = append(sources, img.Source)
		}
	}
	return sources
}

// sources maps the repositories of the sources to repositories of the mirror, for images by digest and images by tag.
func (r *Record) sources() (digests, tags map[string]string, err error) {
	digests, tags = map[string]string{}, map[string]string{}
	for _, img := range r.Images {
		if img.Catalog || img.Manifests == nil {
			continue
		}
		ref, err := parse(img.Source)
		if err != nil {
			return nil, nil, err
		}
		to := digests
		if _, ok := ref.(name.Tag); ok {
			to = tags
		}
		to[image.RepositoryName(ref)] = img.Repository
	}
	return digests, tags, nil
}

// mirrors returns the entries of a mirror set, sorted by source. A source may have two mirrors, the one in sources and
// the one in served.
func (r *Record) mirrors(sources, served map[string]string) (entries []map[string]any) {
	mirrors := map[string][]string{}
	for _, repos := range []map[string]string{sources, served} {
		for source, repo := range repos {
			if mirror := r.Target + "/" + repo; !slices.Contains(mirrors[source], mirror) {
				mirrors[source] = append(mirrors[source], mirror)
			}
		}
	}
	for source, all := range mirrors {
		entries = append(entries, map[string]any{"source": source, "mirrors": all})
	}
	slices.SortFunc(entries, func(a, b map[string]any) int {
		return cmp.Compare(a["source"].(string), b["source"].(string))
	})
	return entries
}

// catalogs returns the catalogs by the names of their objects: the last component of the repository and the tag, or the
// whole repository if another catalog has that name.
func (r *Record) catalogs() map[string]*Image {
	byName, seen := map[string]*Image{}, map[string]bool{}
	for _, img := range r.needed() {
		if !img.Catalog || img.Manifests == nil || seen[img.Target()] {
			continue
		}
		seen[img.Target()] = true
		object := catalogName(path.Base(img.Repository), img.Tag)
		if byName[object] != nil {
			object = catalogName(img.Repository, img.Tag)
		}
		byName[object] = img
	}
	return byName
}

func catalogName(repo, tag string) string {
	text := repo
	if tag != "latest" {
		text += "-" + tag
	}
	object := dashed(text)
	if object[0] < 'a' {
		object = "catalog-" + object // the name of a Service begins with a letter
	}
	return object
}

// dashed returns text in lower case with dashes instead of the characters that object names must not have.
func dashed(text string) string {
	return strings.Trim(notInPath.ReplaceAllString(strings.ToLower(text), "-"), "-")
}
