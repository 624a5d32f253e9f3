package publish

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Place says where the image of a catalog goes. In all texts, {{.Catalog}} is the name of the catalog; see
// [Place.ForEach]. Empty texts are no places.
type Place struct {
	Tags    []string // in registries
	Layout  string   // the directory of an OCI layout
	Archive string   // the file of an OCI archive
}

// ForEach returns the places of the images of catalogs, in which {{.Catalog}} is replaced by the name of each. It is an
// error if a text needs the name of a catalog whose name is "", or if two catalogs have the same place.
func (p Place) ForEach(names []string) ([]Place, error) {
	taken := map[string]string{} // names of catalogs by full reference and by file
	var all []Place
	for _, name := range names {
		var one Place
		var err error
		for _, tag := range p.Tags {
			text, err := forCatalog("tag", tag, name)
			if err != nil {
				return nil, err
			}
			full := text
			if parsed, err := image.ParseReference(text); err == nil { // invalid tags are reported later
				full = parsed.Name()
			}
			if other, ok := taken["--tag "+full]; ok && other != name {
				return nil, fmt.Errorf("--tag %q names the image of both %s and %s: "+
					"put {{.Catalog}} into it, the name of the catalog", tag, other, name)
			}
			taken["--tag "+full] = name
			one.Tags = append(one.Tags, text)
		}
		if one.Archive, err = forCatalog("archive", p.Archive, name); err != nil {
			return nil, err
		}
		if one.Layout, err = forCatalog("oci-layout", p.Layout, name); err != nil {
			return nil, err
		}
		other, archive := taken["--archive "+one.Archive]
		_, layout := taken["--oci-layout "+one.Layout]
		switch {
		case archive && one.Archive != "":
			return nil, fmt.Errorf("--archive %q is the file of both %s and %s: "+
				"put {{.Catalog}} into it, the name of the catalog", one.Archive, other, name)
		case layout && one.Layout != "" && len(p.Tags) == 0:
			return nil, errors.New("several catalogs in one --oci-layout need {{.Catalog}} in it or in --tag")
		}
		taken["--archive "+one.Archive], taken["--oci-layout "+one.Layout] = name, name
		all = append(all, one)
	}
	return all, nil
}

// A catalogName is the data of the templates in places.
type catalogName string

var errNoName = errors.New("there is no catalog with a name")

// Catalog returns the name, or errNoName.
func (n catalogName) Catalog() (string, error) {
	if n == "" {
		return "", errNoName
	}
	return string(n), nil
}

// forCatalog replaces {{.Catalog}} in the value of a flag.
func forCatalog(flag, value, name string) (string, error) {
	tmpl, err := template.New(flag).Option("missingkey=error").Parse(value)
	var text strings.Builder
	if err == nil {
		err = tmpl.Execute(&text, catalogName(name))
	}
	switch {
	case errors.Is(err, errNoName):
		err = errNoName // not its place in the template
	case err != nil && strings.Contains(err.Error(), "can't evaluate field"):
		err = errors.New("the only value is {{.Catalog}}, the name of the catalog") // not a type of Go
	}
	if err != nil {
		return "", fmt.Errorf("--%s %q: %w", flag, value, err)
	}
	return text.String(), nil
}

// Write writes an image to the layout and the archive, with the first tag as its name.
func (p Place) Write(artifact image.Artifact) error {
	name := ""
	if len(p.Tags) > 0 {
		name = p.Tags[0]
	}
	if p.Layout != "" {
		if err := image.WriteLayout(artifact, p.Layout, name); err != nil {
			return err
		}
	}
	if p.Archive == "" {
		return nil
	}
	return atomicfile.Write(p.Archive, atomicfile.Options{Replace: true, Stream: true}, func(w io.Writer) error {
		return image.WriteArchive(w, artifact, name)
	})
}

// References returns a reference by digest for each repository of the tags, or only the digest if there are no tags.
func References(tags []string, digest string) (all []string, err error) {
	for _, tag := range tags {
		ref, err := image.ParseReference(tag)
		if err != nil {
			return nil, err
		}
		if named := image.RepositoryName(ref) + "@" + digest; !slices.Contains(all, named) {
			all = append(all, named)
		}
	}
	if all == nil {
		all = []string{digest}
	}
	return all, nil
}
