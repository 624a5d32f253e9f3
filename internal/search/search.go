// Package search finds a text in the names, providers, keywords, categories, APIs, images and descriptions of a
// catalog.
//
//	matches, _, err := search.Search(ctx, "pottery", "", declcfg.Source{FS: os.DirFS("catalog")})
//
// [Search] reads a catalog, for the command. The page of opm serve makes an [Index] at the first search, of the
// distinct values of each package: 1.3 MB in s2 for a catalog of 191 MiB. Both find the same.
package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Match is a row of [Search]: a value of a field in a package, and the bundles that have it.
type Match struct {
	Catalog string         `json:"catalog,omitzero"` // if several catalogs are searched
	Package string         `json:"package"`
	Field   Field          `json:"field"`
	Value   string         `json:"value"`
	Bundles []BundleByName `json:"bundles"` // the highest version first; empty for the name of the package
}

// A BundleByName is a bundle and its version.
type BundleByName struct {
	Name    string `json:"name"`
	Version string `json:"version"` // with the release; "" if unknown

	version *declcfg.Version
}

// A Field is the kind of a searched value.
type Field string

// The fields, in the order of the rows.
const (
	FieldName        Field = "name" // of the package
	FieldDisplayName Field = "displayName"
	FieldProvider    Field = "provider"
	FieldKeyword     Field = "keyword"
	FieldCategory    Field = "category"
	FieldAPI         Field = "api"    // GROUP/VERSION/KIND that bundles provide
	FieldBundle      Field = "bundle" // the name of a bundle
	FieldImage       Field = "image"  // the image or a related image of a bundle
	FieldDescription Field = "description"
)

var fields = []Field{
	FieldName, FieldDisplayName, FieldProvider, FieldKeyword, FieldCategory, FieldAPI, FieldBundle, FieldImage,
	FieldDescription,
}

// Search returns the values in a catalog that contain a text, ignoring case, sorted by rank, package, field and value.
// It searches names, providers, keywords, categories, provided APIs and images. Bundle names and images are omitted in
// a package whose name contains the text. Packages come in the order of the fields in which the text is found first: a
// name before an API, and descriptions, with the words around the text, last. If no value contains a text of several
// words, Search looks for the words instead: the result has the packages in which every word is found, with the values
// that contain a word. If pkg is not "", only that package is searched.
//
// The catalog need not be valid. Search also returns its olm.package objects. The error joins the errors of all objects
// that cannot be read, sorted by position, or wraps [declcfg.ErrNotFound] if the package does not exist. Only matches
// and the identities of packages are kept in memory. To search a catalog several times, use an [Index].
func Search(
	ctx context.Context, text, pkg string, sources ...declcfg.Source,
) (all []Match, index *declcfg.Index, err error) {
	for i, s := range searchers(text, pkg) {
		index = &declcfg.Index{}
		found, err := s.search(memo.For(ctx, i), index, sources)
		for _, p := range found {
			all = append(all, p.Matches...)
		}
		if len(all) > 0 || err != nil {
			return all, index, err
		}
	}
	return all, index, nil
}

// search returns the matches of each package, in the order of [Search], and adds the olm.package objects to index.
func (s searcher) search(
	ctx context.Context, index *declcfg.Index, sources []declcfg.Source,
) ([]PackageMatches, error) {
	packages := map[string]*collector{}
	add := func(m *declcfg.Meta, o objectMatches) {
		if m.Schema == declcfg.SchemaPackage {
			index.Add(m, nil)
		}
		name := m.Owner()
		if packages[name] == nil {
			packages[name] = &collector{pkg: name}
		}
		packages[name].add(o.findings, o.bundle)
	}
	err := declcfg.Collect(ctx, s.object, add, sources...)
	if s.pkg != "" && packages[s.pkg] == nil && err == nil {
		return nil, nearest.NotFound("no package", s.pkg, slices.Collect(maps.Keys(packages)))
	}
	var r ranking
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		r.add(packages[name].matches(s.every()))
	}
	return r.all(), err
}

// PackageMatches are the matches of a package.
type PackageMatches struct {
	Package string
	Matches []Match
	Count   int // number of all matches, as Matches may be limited

	rank int // index of the first field that has a text of the search: of its texts, the highest
}

// A ranking orders the matches of packages by rank. Packages of the same rank stay in the order in which they are
// added.
type ranking []PackageMatches

func (r *ranking) add(p PackageMatches) {
	if len(p.Matches) > 0 {
		*r = append(*r, p)
	}
}

func (r ranking) all() []PackageMatches {
	slices.SortStableFunc(r, func(a, b PackageMatches) int { return cmp.Compare(a.rank, b.rank) })
	return r
}

// object searches one object.
func (s searcher) object(o *declcfg.Object) (objectMatches, error) {
	var found objectMatches
	if s.pkg != "" && s.pkg != o.Owner() {
		return found, nil
	}
	t, err := textsOf(o)
	if err != nil {
		return found, err
	}
	found.findings = s.find(s.in(o.Owner()), t.texts...)
	if len(found.findings) > 0 && t.bundle != nil {
		named := BundleByName{Name: strings.Clone(t.bundle.Name)}
		if v := t.bundle.Summarize().Version; v != nil {
			named.Version, named.version = v.String(), v
		}
		found.bundle = []BundleByName{named}
	}
	return found, nil
}

// objectMatches are the matches in one object.
type objectMatches struct {
	bundle   []BundleByName // the object, if it is a bundle
	findings []finding
}

// A collector collects the matches of a package.
type collector struct {
	pkg  string
	rows map[fieldText]*row

	named, found textSet // texts found in fields other than descriptions, and in any field
}

// A row is a possible match. matches decides whether it is returned.
type row struct {
	texts   textSet // texts of the search that the value contains
	bundles []BundleByName
}

// add adds the findings in an object; bundles is empty for an olm.package.
func (c *collector) add(findings []finding, bundles []BundleByName) {
	for _, f := range findings {
		r := c.rows[f.fieldText]
		if r == nil {
			r = &row{bundles: []BundleByName{}}
			if c.rows == nil {
				c.rows = map[fieldText]*row{}
			}
			c.rows[f.fieldText] = r
		}
		r.texts |= f.texts
		r.bundles = append(r.bundles, bundles...)
		c.found |= f.texts
		if f.field != FieldDescription {
			c.named |= f.texts
		}
	}
}

// matches returns the matches of the package if every text is found, or else no matches. Descriptions are included only
// for texts that no other field contains.
func (c *collector) matches(every textSet) PackageMatches {
	p := PackageMatches{Package: c.pkg}
	if c.found != every {
		return p
	}
	p.rank = c.rank()
	for f, r := range c.rows {
		if f.field == FieldDescription && r.texts&^c.named == 0 {
			continue
		}
		slices.SortStableFunc(r.bundles, BundleByName.compare)
		// Two descriptions of a bundle may have the same words around a text.
		bundles := slices.CompactFunc(r.bundles, func(a, b BundleByName) bool { return a.compare(b) == 0 })
		p.Matches = append(p.Matches, Match{Package: c.pkg, Field: f.field, Value: f.text, Bundles: bundles})
	}
	slices.SortFunc(p.Matches, Match.compare)
	p.Count = len(p.Matches)
	return p
}

// rank returns the index of the first field that has a text of the search; of several texts, the highest index counts.
func (c *collector) rank() int {
	byField := make([]textSet, len(fields))
	for f, r := range c.rows {
		byField[slices.Index(fields, f.field)] |= r.texts
	}
	var found textSet
	rank := 0
	for i, texts := range byField {
		if texts&^found != 0 {
			found, rank = found|texts, i
		}
	}
	return rank
}

// compare orders bundles by version, the highest first, and then by name.
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

// compare orders the matches of a package by field and value.
func (m Match) compare(n Match) int {
	return cmp.Or(cmp.Compare(slices.Index(fields, m.Field), slices.Index(fields, n.Field)), cmp.Compare(m.Value, n.Value))
}
