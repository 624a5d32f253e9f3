package list

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Match is a row of [Search]: a text of a package, and the bundles that have it.
type Match struct {
	Catalog string         `json:"catalog,omitzero"` // if several are searched
	Package string         `json:"package"`
	Field   Field          `json:"field"`
	Value   string         `json:"value"`
	Bundles []BundleByName `json:"bundles"` // the highest version first; none for the name of the package
}

// A BundleByName is a bundle and its version.
type BundleByName struct {
	Name    string `json:"name"`
	Version string `json:"version"` // with the release; "" if unknown

	version *declcfg.Version
}

// A Field is what a text is to a package.
type Field string

// The fields, in the order of the rows.
const (
	FieldName        Field = "name" // of the package
	FieldDisplayName Field = "displayName"
	FieldProvider    Field = "provider"
	FieldKeyword     Field = "keyword"
	FieldAPI         Field = "api"    // GROUP/VERSION/KIND that bundles provide
	FieldBundle      Field = "bundle" // the name of a bundle
	FieldImage       Field = "image"  // of a bundle, or a related one
	FieldDescription Field = "description"
)

var fields = []Field{
	FieldName, FieldDisplayName, FieldProvider, FieldKeyword, FieldAPI, FieldBundle, FieldImage,
	FieldDescription,
}

// Search returns the names, providers, keywords, provided APIs and images in a catalog that contain a text, whatever
// the case of letters: by package, field and value. Names of bundles and images are not among them if the name of the
// package is. Behind them are the packages of which only a description contains the text, with the words around it.
// With pkg, only that package is searched.
//
// The catalog need not be valid. The error joins those of all objects that cannot be read, by place, or wraps
// [declcfg.ErrNotFound] if there is no such package. Only what matches is kept in memory.
func Search(ctx context.Context, text, pkg string, sources ...declcfg.Source) ([]Match, error) {
	s := searcher{strings.ToLower(text), pkg}
	found := map[finding]*Match{}
	packages := map[string]bool{}
	var errs []error
	for o, err := range declcfg.Map(ctx, s.object, sources...) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		packages[o.pkg] = true
		for _, f := range o.findings {
			m := found[f]
			if m == nil {
				m = &Match{Package: f.pkg, Field: f.field, Value: f.value, Bundles: []BundleByName{}}
				found[f] = m
			}
			if o.bundle.Name != "" {
				m.Bundles = append(m.Bundles, o.bundle)
			}
		}
	}
	slices.SortStableFunc(errs, declcfg.CompareErrors)
	if pkg != "" && !packages[pkg] && errs == nil {
		return nil, declcfg.NotFound("no package", pkg, slices.Collect(maps.Keys(packages)))
	}
	byName := map[string]bool{} // packages
	for f := range found {
		byName[f.pkg] = byName[f.pkg] || f.field != FieldDescription
	}
	var all []Match
	for f, m := range found {
		if f.field == FieldDescription && byName[f.pkg] {
			continue
		}
		slices.SortStableFunc(m.Bundles, BundleByName.compare)
		all = append(all, *m)
	}
	slices.SortFunc(all, Match.compare)
	return all, errors.Join(errs...)
}

// compare orders by version, the highest first, and then by name.
func (b BundleByName) compare(c BundleByName) int {
	switch {
	case b.version != nil && c.version != nil:
		return cmp.Or(c.version.Compare(*b.version), cmp.Compare(b.Name, c.Name))
	case b.version != nil:
		return -1
	case c.version != nil:
		return 1
	}
	return cmp.Compare(b.Name, c.Name)
}

func (m Match) compare(n Match) int {
	isDescription := func(m Match) int {
		if m.Field == FieldDescription {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(isDescription(m), isDescription(n)), cmp.Compare(m.Package, n.Package),
		cmp.Compare(slices.Index(fields, m.Field), slices.Index(fields, n.Field)), cmp.Compare(m.Value, n.Value))
}

// A searcher looks for a text, in lower case, in a package or in all.
type searcher struct{ text, pkg string }

// A finding is a text that matches.
type finding struct {
	pkg   string
	field Field
	value string
}

// findings are those in one object.
type findings struct {
	pkg      string
	bundle   BundleByName // of the object, if it is one
	findings []finding
}

func (s searcher) object(o *declcfg.Object) (findings, error) {
	all := findings{pkg: o.Owner()}
	elsewhere := s.pkg != "" && s.pkg != all.pkg
	if elsewhere || o.Schema != declcfg.SchemaPackage && o.Schema != declcfg.SchemaBundle {
		return all, nil
	}
	v, err := o.Decode()
	if err != nil {
		return all, err
	}
	found := map[finding]bool{}
	look := func(field Field, value string, spellings ...string) {
		if s.matches(value) || slices.ContainsFunc(spellings, s.matches) {
			found[finding{all.pkg, field, strings.Clone(value)}] = true // values share memory with the object
		}
	}
	describe := func(text string) {
		if at := strings.Index(strings.ToLower(text), s.text); at >= 0 {
			found[finding{all.pkg, FieldDescription, excerpt(text, at, at+len(s.text))}] = true
		}
	}
	if p, ok := v.(*declcfg.Package); ok {
		look(FieldName, o.Name)
		describe(p.Description)
	}
	if b, ok := v.(*declcfg.Bundle); ok {
		if !s.matches(b.Package) {
			lookInNames(b, look)
		}
		lookInProperties(b, look, describe)
		if len(found) > 0 {
			all.bundle = bundleByName(b)
		}
	}
	all.findings = slices.Collect(maps.Keys(found))
	return all, nil
}

// lookInNames looks at the names of the bundle and its images.
func lookInNames(b *declcfg.Bundle, look func(field Field, value string, spellings ...string)) {
	look(FieldBundle, b.Name)
	look(FieldImage, b.Image)
	for _, image := range b.RelatedImages {
		look(FieldImage, image.Image)
	}
}

func (s searcher) matches(text string) bool { return strings.Contains(strings.ToLower(text), s.text) }

func bundleByName(b *declcfg.Bundle) BundleByName {
	named := BundleByName{Name: strings.Clone(b.Name)}
	if v := b.Summarize().Version; v != nil {
		named.Version, named.version = v.String(), v
	}
	return named
}

// lookInProperties looks at the provided APIs and at what the ClusterServiceVersion says of the operator.
func lookInProperties(
	b *declcfg.Bundle, look func(field Field, value string, spellings ...string), describe func(string),
) {
	for i := range b.Properties {
		var api declcfg.GVK
		if p := &b.Properties[i]; p.Type == declcfg.PropertyGVK && p.Unmarshal(&api) == nil {
			look(FieldAPI, api.Group+"/"+api.Version+"/"+api.Kind,
				api.Kind+"."+api.Group, api.Kind+"."+api.Version+"."+api.Group)
		}
	}
	about := metadataOf(b)
	look(FieldDisplayName, about.DisplayName)
	look(FieldProvider, about.Provider.Name)
	for _, keyword := range about.Keywords {
		look(FieldKeyword, keyword)
	}
	describe(about.Description)
}

// aroundMatch is how many bytes of a description are shown before and behind a match, but for the ends of words.
const aroundMatch = 40

// excerpt returns the words around a part of a text, on one line. The offsets are those in the text in lower case,
// which may have another length.
func excerpt(text string, from, to int) string {
	from, to = min(from, len(text)), min(to, len(text))
	start, end := max(0, from-aroundMatch), min(len(text), to+aroundMatch)
	if i := strings.IndexAny(text[start:from], " \n\t"); start > 0 && i >= 0 {
		start += i
	}
	if i := strings.LastIndexAny(text[to:end], " \n\t"); end < len(text) && i >= 0 {
		end = to + i
	}
	words := strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "")), " ")
	if start > 0 {
		words = "… " + words
	}
	if end < len(text) {
		words += " …"
	}
	return words
}

// metadata is the part of [declcfg.CSVMetadata] to list and search. Decoding all of it takes several times as long.
type metadata struct {
	DisplayName string          `json:"displayName"`
	Keywords    []string        `json:"keywords"`
	Provider    declcfg.AppLink `json:"provider"`
	Description string          `json:"description"`
}

// metadataOf returns the metadata of b in either form.
func metadataOf(b *declcfg.Bundle) metadata {
	for i := range b.Properties {
		var m metadata
		if p := &b.Properties[i]; p.Type == declcfg.PropertyCSVMetadata && p.Unmarshal(&m) == nil {
			return m
		}
	}
	m := b.CSVMetadata() // from the manifests
	return metadata{
		DisplayName: m.DisplayName, Keywords: m.Keywords, Provider: m.Provider, Description: m.Description,
	}
}

// WriteMatches writes matches in a format. Text has a column for the catalog if they have one.
func WriteMatches(w io.Writer, all []Match, f Format) error {
	if f != Text || !slices.ContainsFunc(all, func(m Match) bool { return m.Catalog != "" }) {
		return Write(w, slices.Values(all), f)
	}
	return Write(w, func(yield func(matchIn) bool) {
		for _, m := range all {
			if !yield(matchIn{m}) {
				return
			}
		}
	}, f)
}

// A matchIn is a match in one of several catalogs.
type matchIn struct{ Match }

func (m matchIn) layout() layout {
	return layout{columns: append([]string{"CATALOG"}, m.Match.layout().columns...)}
}

func (m matchIn) cells(wide bool) []string {
	return append([]string{m.Catalog}, m.Match.cells(wide)...)
}

func (m Match) title() string {
	if m.Field == FieldBundle {
		return m.Value
	}
	return m.Package
}

func (Match) layout() layout {
	return layout{columns: []string{"PACKAGE", "MATCH", "VALUE", "BUNDLES", "HIGHEST"}}
}

func (m Match) cells(bool) []string {
	bundles, highest := "", ""
	if len(m.Bundles) > 0 {
		bundles, highest = strconv.Itoa(len(m.Bundles)), m.Bundles[0].Name
	}
	return []string{m.Package, string(m.Field), m.Value, bundles, highest}
}
