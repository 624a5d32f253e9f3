package filter

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A Config is a file with one ImageSetConfiguration of oc-mirror or several, which select the content to mirror from
// catalogs.
type Config struct {
	file string
	sets []*imageSet
}

// An imageSet is an ImageSetConfiguration.
type imageSet struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Mirror     struct {
		Operators        []operator        `json:"operators"`
		AdditionalImages []additionalImage `json:"additionalImages"`

		Platform jsontext.Value `json:"platform"`
		Helm     jsontext.Value `json:"helm"`
		Samples  jsontext.Value `json:"samples"`

		BlockedImages []struct {
			Name string `json:"name"`
		} `json:"blockedImages"`
	} `json:"mirror"`

	ArchiveSize   jsontext.Value `json:"archiveSize"`
	StorageConfig jsontext.Value `json:"storageConfig"`

	file    *strictyaml.File
	blocked []*regexp.Regexp // the names of BlockedImages
}

type operator struct {
	Catalog          string          `json:"catalog"`
	Full             bool            `json:"full"`
	SkipDependencies bool            `json:"skipDependencies"`
	SkipDeps         bool            `json:"skipDeps"` // the name in early versions
	Packages         []configPackage `json:"packages"`

	TargetName    string `json:"targetName"` // only in v1alpha2
	TargetCatalog string `json:"targetCatalog"`
	TargetTag     string `json:"targetTag"`

	// Template is a file with a CatalogSource whose fields the CatalogSource for the catalog has, too.
	Template  string   `json:"targetCatalogSourceTemplate"`
	Platforms []string `json:"platforms"` // each os/arch or os/arch/variant; empty for all
}

type additionalImage struct {
	Name       string   `json:"name"`
	TargetRepo string   `json:"targetRepo"` // path in the mirror; "" for that of the source
	TargetTag  string   `json:"targetTag"`  // "" for the tag of the source
	Platforms  []string `json:"platforms"`  // each os/arch or os/arch/variant; empty for all
}

type configPackage struct {
	bounds
	Name           string          `json:"name"`
	DefaultChannel string          `json:"defaultChannel"`
	Channels       []configChannel `json:"channels"`
}

type configChannel struct {
	bounds
	Name string `json:"name"`
}

// bounds are the limits of the mirrored versions.
type bounds struct {
	MinVersion string `json:"minVersion"`
	MaxVersion string `json:"maxVersion"`
	MinBundle  string `json:"minBundle"` // only in v1alpha2
}

// The API versions of oc-mirror v1 and v2, which select differently.
const (
	apiV1 = "mirror.openshift.io/v1alpha2"
	apiV2 = "mirror.openshift.io/v2alpha1"
)

const maxConfig = 16 << 20

// ReadConfig reads a file with an ImageSetConfiguration; see [ParseConfig].
func ReadConfig(file string) (*Config, error) {
	dir, name := filepath.Split(file)
	text, err := regular.ReadFile(os.DirFS(cmp.Or(dir, ".")), name, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("read config %s: %w", file, regular.WithoutPath(err))
	}
	return ParseConfig(file, text)
}

// ParseConfig parses a file with documents, each an ImageSetConfiguration of v1alpha2 or v2alpha1. The error joins a
// [*declcfg.Error] for each problem, sorted by position.
func ParseConfig(file string, text []byte) (*Config, error) {
	documents, err := strictyaml.ReadAll(file, text)
	if err != nil {
		return nil, err
	}
	c := &Config{file: file}
	var errs []error
	for _, f := range documents {
		set := &imageSet{file: f}
		err := set.checkKind()
		if err == nil {
			err = f.Decode(set, strictyaml.Options{})
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, set.check()...)
		c.sets = append(c.sets, set)
	}
	if err := place.JoinErrors(errs); err != nil {
		return nil, err
	}
	return c, nil
}

// checkKind returns an error for a DeleteImageSetConfiguration, whose keys differ.
func (c *imageSet) checkKind() error {
	var head struct {
		Kind jsontext.Value `json:"kind"`
	}
	if json.Unmarshal(c.file.JSON(), &head) == nil && string(head.Kind) == `"DeleteImageSetConfiguration"` {
		return c.file.Errorf("/kind", "opm mirrors with an ImageSetConfiguration, and deletes what its records no longer "+
			"need: run: opm mirror prune --record FILE --execute")
	}
	return nil
}

// check returns the problems of the configuration, by the rules of oc-mirror.
func (c *imageSet) check() (errs []error) {
	fail := func(ptr jsontext.Pointer, format string, args ...any) {
		errs = append(errs, c.file.Errorf(ptr, format, args...))
	}
	if c.Kind != "ImageSetConfiguration" {
		fail("/kind", "want an ImageSetConfiguration, found %q", c.Kind)
	}
	if c.APIVersion != apiV1 && c.APIVersion != apiV2 {
		fail("/apiVersion", "unknown version %q, want %s or %s", c.APIVersion, apiV1, apiV2)
	}
	if m := c.Mirror; len(m.Operators) == 0 && len(m.AdditionalImages) == 0 && len(c.unsupported()) == 0 {
		errs = append(errs, c.noCatalog())
	}
	for i, img := range c.Mirror.AdditionalImages {
		if img.Name == "" {
			fail(item("/mirror/additionalImages", i)+"/name", "missing: want the reference of an image")
		}
	}
	for i, img := range c.Mirror.BlockedImages {
		at := item("/mirror/blockedImages", i) + "/name"
		if img.Name == "" {
			fail(at, "missing: want the beginning of image references, or a regular expression that they match")
			continue
		}
		pattern, err := regexp.Compile(img.Name)
		if err != nil {
			fail(at, "%q is not a valid regular expression: %v", img.Name, err)
			continue
		}
		c.blocked = append(c.blocked, pattern)
	}
	for i, o := range c.Mirror.Operators {
		at := item("/mirror/operators", i)
		if o.Catalog == "" {
			fail(at+"/catalog", "missing: want the reference of a catalog")
		}
		if strings.ContainsAny(o.TargetCatalog, ":@") {
			fail(at+"/targetCatalog", "%q: want a path without a tag or a digest; a tag is set with targetTag", o.TargetCatalog)
		}
		seen := map[string]bool{}
		for j, p := range o.Packages {
			at := item(at+"/packages", j)
			checkName(fail, at, "package", p.Name, seen)
			if c.checkPackage(fail, at, p) && o.Full && c.APIVersion == apiV2 {
				fail(at, "package %q has a range, but all versions are mirrored (full: true): want one of them", p.Name)
			}
		}
	}
	return errs
}

// checkPackage checks a package and its channels, and reports whether the package or a channel has a range.
func (c *imageSet) checkPackage(fail failFunc, at jsontext.Pointer, p configPackage) (hasRange bool) {
	none := bounds{}
	hasRange = p.bounds != none
	c.checkBounds(fail, at, p.bounds)
	seen := map[string]bool{}
	for i, ch := range p.Channels {
		at := item(at+"/channels", i)
		checkName(fail, at, "channel", ch.Name, seen)
		c.checkBounds(fail, at, ch.bounds)
		if ch.bounds != none && p.bounds != none {
			fail(at, "package %q has a range, and so has its channel %q: want one of them", p.Name, ch.Name)
		}
		hasRange = hasRange || ch.bounds != none
	}
	return hasRange
}

type failFunc = func(ptr jsontext.Pointer, format string, args ...any)

// checkName checks that a name is neither empty nor in known, and adds it to known.
func checkName(fail failFunc, at jsontext.Pointer, what, name string, known map[string]bool) {
	switch {
	case name == "":
		fail(at+"/name", "missing: want the name of a %s", what)
	case known[name]:
		fail(at+"/name", "%s %q is already selected above", what, name)
	}
	known[name] = true
}

// checkBounds checks that the versions are valid, and that the bounds can be combined.
func (c *imageSet) checkBounds(fail failFunc, at jsontext.Pointer, b bounds) {
	for key, version := range map[jsontext.Pointer]string{"/minVersion": b.MinVersion, "/maxVersion": b.MaxVersion} {
		if version == "" {
			continue
		}
		if _, err := semver.ParseTolerant(version); err != nil {
			fail(at+key, "%q is not a version: %v", version, err)
		}
	}
	switch {
	case b.MinBundle == "":
	case c.APIVersion == apiV2:
		fail(at+"/minBundle", "%s has no minBundle; use minVersion", apiV2)
	case b.MinVersion != "":
		fail(at+"/minBundle", "want either minBundle or minVersion")
	}
}

func (c *imageSet) noCatalog() *declcfg.Error {
	return c.file.Errorf("/mirror/operators", "missing: no catalog is mirrored")
}

func item(list jsontext.Pointer, i int) jsontext.Pointer { return list.AppendToken(strconv.Itoa(i)) }

// An Entry is a catalog that a [Config] mirrors. A config may have several entries of one catalog, whose names in the
// mirror differ.
type Entry struct {
	operator
	set *imageSet
	at  jsontext.Pointer
}

// Entries returns the catalogs that the config mirrors, in its order.
func (c *Config) Entries() []*Entry {
	var entries []*Entry
	for _, set := range c.sets {
		for i, o := range set.Mirror.Operators {
			o.Catalog = withoutTransport(o.Catalog)
			entries = append(entries, &Entry{o, set, item("/mirror/operators", i)})
		}
	}
	return entries
}

// withoutTransport returns a reference of oc-mirror to a catalog as a reference of opm: without docker://, and without
// the slashes of oci://.
func withoutTransport(catalog string) string {
	if path, ok := strings.CutPrefix(catalog, "oci://"); ok {
		return "oci:" + path
	}
	return reference.WithoutTransport(catalog)
}

// EntriesOf returns the entries of a catalog, at least one, in the order of the config. The only entry of a config
// applies to any name, so that it can be used for a copy of the catalog.
func (c *Config) EntriesOf(catalog string) ([]*Entry, error) {
	all := c.Entries()
	switch len(all) {
	case 0:
		return nil, c.sets[0].noCatalog()
	case 1:
		return all, nil
	}
	var found []*Entry
	var names []string
	for _, e := range all {
		if e.Catalog == withoutTransport(catalog) {
			found = append(found, e)
		}
		if !slices.Contains(names, e.Catalog) {
			names = append(names, e.Catalog)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s mirrors no catalog %q%s: choose one with --config-catalog: %s",
			c.file, catalog, nearest.Hint(catalog, names), strings.Join(names, ", "))
	}
	return found, nil
}

// EntryOf returns the only entry of a catalog, or the entry at a position as [Entry.Pos] prints it.
func (c *Config) EntryOf(catalog string) (*Entry, error) {
	for _, e := range c.Entries() {
		if e.Pos().String() == catalog {
			return e, nil
		}
	}
	found, err := c.EntriesOf(catalog)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var places []string
	for _, e := range found {
		places = append(places, e.Pos().String())
	}
	return nil, fmt.Errorf("%s mirrors catalog %q %d times: choose one with --config-catalog: %s", c.file, catalog,
		len(found), strings.Join(places, ", "))
}

// Pos returns the position of the catalog in the config.
func (e *Entry) Pos() declcfg.Pos { return e.set.file.Pos(e.at + "/catalog")[0] }

// Located adds to an error the position of the value of a key of the entry. It returns nil for nil.
func (e *Entry) Located(key string, err error) error { return located(e.set.file, e.at, key, err) }

func located(file *strictyaml.File, at jsontext.Pointer, key string, err error) error {
	if err == nil {
		return nil
	}
	return file.Errorf(at.AppendToken(key), "%w", err)
}

// Selection returns the selection of the entry, and whether the config also mirrors dependencies.
func (e *Entry) Selection() (s Selection, dependencies bool) {
	c := e.set
	s.blocks = c.blocks
	if e.Full {
		s.Rule = All
	}
	for j, p := range e.Packages {
		at := item(e.at+"/packages", j)
		want := Package{Name: p.Name, DefaultChannel: p.DefaultChannel, Rule: c.rule(p.bounds)}
		want.at = func(ptr jsontext.Pointer, err error) error { return c.file.Errorf(at+ptr, "%w", err) }
		for k, ch := range p.Channels {
			want.Channels = append(want.Channels, Channel{Name: ch.Name, Rule: c.rule(ch.bounds), ptr: item("/channels", k)})
		}
		s.Packages = append(s.Packages, want)
	}
	return s, c.APIVersion == apiV1 && !e.SkipDependencies && !e.SkipDeps
}

// rule returns the rule for the bounds, or nil if there are none.
func (c *imageSet) rule(b bounds) Rule {
	switch {
	case b == (bounds{}):
		return nil
	case c.APIVersion == apiV1:
		// With a maximum, oc-mirror v1 keeps the versions within the bounds, including pre-releases. Without one, it
		// keeps the minimum and all updates from it to the head. The versions are valid.
		least, highest := mustParse(b.MinVersion), mustParse(b.MaxVersion)
		switch {
		case b.MaxVersion != "":
			return &between{b, least, highest}
		case b.MinVersion != "":
			return &upFrom{least.String(), func(bundle *graph.Bundle) bool {
				return bundle.Version != nil && bundle.Version.Semver.Equals(least)
			}}
		}
		return &upFrom{b.MinBundle, func(bundle *graph.Bundle) bool { return bundle.Name == b.MinBundle }}
	}
	var parts []string
	if b.MinVersion != "" {
		parts = append(parts, ">="+b.MinVersion)
	}
	if b.MaxVersion != "" {
		parts = append(parts, "<="+b.MaxVersion)
	}
	versions, err := graph.ParseConstraint(strings.Join(parts, " "))
	if err != nil {
		panic(err) // unreachable: the versions were checked
	}
	return InRange(versions)
}

// Target returns the name of the catalog in the mirror, as PATH, PATH:TAG or :TAG, or "" for the name of the catalog
// itself.
func (e *Entry) Target() string {
	target := e.TargetCatalog
	if target == "" && e.TargetName != "" { // instead of the last component
		_, repo, _ := strings.Cut(e.Catalog, "/")
		target = path.Join(path.Dir(repo), e.TargetName)
	}
	if e.TargetTag != "" {
		target += ":" + e.TargetTag
	}
	return target
}

// blocks reports whether the configuration blocks an image: its reference begins with a name in blockedImages, or a
// part of it matches the name as a regular expression.
func (c *imageSet) blocks(image string) bool {
	return slices.ContainsFunc(c.blocked, func(name *regexp.Regexp) bool {
		return strings.HasPrefix(image, name.String()) || name.MatchString(image)
	})
}

// Blocks reports whether the config of the entry blocks an image.
func (e *Entry) Blocks(image string) bool { return e.set.blocks(image) }

// An AdditionalImage is an image that a [Config] mirrors beside the images of its catalogs.
type AdditionalImage struct {
	additionalImage
	set *imageSet
	at  jsontext.Pointer
}

// Located adds to an error the position of the value of a key of the image. It returns nil for nil.
func (i *AdditionalImage) Located(key string, err error) error {
	return located(i.set.file, i.at, key, err)
}

// AdditionalImages returns the other images that the config mirrors, in its order, without the blocked ones.
func (c *Config) AdditionalImages() []*AdditionalImage {
	var images []*AdditionalImage
	for _, set := range c.sets {
		for i, img := range set.Mirror.AdditionalImages {
			if !set.blocks(img.Name) {
				images = append(images, &AdditionalImage{img, set, item("/mirror/additionalImages", i)})
			}
		}
	}
	return images
}

// CheckMirrored returns an error if opm mirror does not support a part of the config. The error joins a
// [*declcfg.Error] for each such part, sorted by position.
func (c *Config) CheckMirrored() error {
	var errs []error
	for _, set := range c.sets {
		errs = append(errs, set.unsupported()...)
	}
	return place.JoinErrors(errs)
}

// unsupported returns an error for each part that opm mirror does not support. Parts that are empty are ignored.
func (c *imageSet) unsupported() (errs []error) {
	for _, part := range []struct {
		value  jsontext.Value
		ptr    jsontext.Pointer
		advice string
	}{
		{c.Mirror.Platform, "/mirror/platform",
			"opm does not mirror releases of OpenShift: remove this, and mirror them with oc-mirror"},
		{c.Mirror.Helm, "/mirror/helm", "opm does not mirror Helm charts: remove this, and mirror them with oc-mirror"},
		{c.Mirror.Samples, "/mirror/samples", "opm does not mirror samples: remove this"},
		{c.ArchiveSize, "/archiveSize", "opm writes a directory, not archives: remove this"},
	} {
		if !slices.Contains([]string{"", "null", "{}", "[]", "0"}, string(part.value)) {
			errs = append(errs, c.file.Errorf(part.ptr, "%s", part.advice))
		}
	}
	for i, o := range c.Mirror.Operators {
		if o.TargetName != "" && c.APIVersion == apiV2 {
			errs = append(errs, c.file.Errorf(item("/mirror/operators", i)+"/targetName",
				"%s has no targetName; use targetCatalog", apiV2))
		}
	}
	return errs
}

// Ignored returns a warning for each part that opm mirror ignores.
func (c *Config) Ignored() (warnings []*declcfg.Error) {
	for _, set := range c.sets {
		if set.StorageConfig != nil {
			warnings = append(warnings, set.file.Errorf("/storageConfig",
				"it is ignored: the record of opm mirror is the file of --record"))
		}
	}
	return warnings
}
