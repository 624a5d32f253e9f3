package main

import (
	"errors"
	"strings"
	"text/template"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A catalogName is the data of templates in the values of flags: {{.Catalog}}.
type catalogName string

var errNoName = errors.New("there is no catalog with a name")

// Catalog returns the name, or errNoName.
func (n catalogName) Catalog() (string, error) {
	if n == "" {
		return "", errNoName
	}
	return string(n), nil
}

// forCatalog replaces {{.Catalog}} in the value of a flag by the name of a catalog. It is an error if name is "".
func forCatalog(flag, value, name string) (string, error) {
	tmpl, err := template.New(flag).Option("missingkey=error").Parse(value)
	var text strings.Builder
	if err == nil {
		err = tmpl.Execute(&text, catalogName(name))
	}
	if errors.Is(err, errNoName) {
		err = errNoName // not its place in the template
	}
	if err != nil {
		return "", cmdline.Errorf("--%s %q: %w", flag, value, err)
	}
	return text.String(), nil
}

// tagsOf returns the tags of the image of each catalog, in which {{.Catalog}} is replaced by its name. It is an error
// if two catalogs have the same tag.
func tagsOf(refs []*reference.Named, tags []string) (all [][]string, err error) {
	first := map[string]string{} // names of catalogs by full references
	for _, r := range refs {
		var own []string
		for _, tag := range tags {
			text, err := forCatalog("tag", tag, r.Name)
			if err != nil {
				return nil, err
			}
			own = append(own, text)
			full := text
			if parsed, err := image.ParseReference(text); err == nil { // checkImage reports others
				full = parsed.Name()
			}
			if other, taken := first[full]; taken && other != r.Name {
				return nil, cmdline.Errorf("--tag %q names the image of both %s and %s: "+
					"put {{.Catalog}} into it, the name of the catalog", tag, other, r.Name)
			}
			first[full] = r.Name
		}
		all = append(all, own)
	}
	return all, nil
}
