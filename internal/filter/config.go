package filter

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
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

// IsConfig reports whether a file is an ImageSetConfiguration, and not JSON without a kind, such as a record of
// mirroring.
func IsConfig(file string) (bool, error) {
	text, err := regular.ReadNamed(file)
	if err != nil {
		return false, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return true, nil
	}
	var head struct {
		Kind jsontext.Value `json:"kind"`
	}
	return json.Unmarshal(text, &head) == nil && head.Kind != nil, nil
}

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
			fail(place.Item("/mirror/additionalImages", i)+"/name", "missing: want the reference of an image")
		}
	}
	for i, img := range c.Mirror.BlockedImages {
		at := place.Item("/mirror/blockedImages", i) + "/name"
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
		at := place.Item("/mirror/operators", i)
		if o.Catalog == "" {
			fail(at+"/catalog", "missing: want the reference of a catalog")
		}
		if strings.ContainsAny(o.TargetCatalog, ":@") {
			fail(at+"/targetCatalog", "%q: want a path without a tag or a digest; a tag is set with targetTag", o.TargetCatalog)
		}
		seen := map[string]bool{}
		for j, p := range o.Packages {
			at := place.Item(at+"/packages", j)
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
		at := place.Item(at+"/channels", i)
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

func located(file *strictyaml.File, at jsontext.Pointer, key string, err error) error {
	if err == nil {
		return nil
	}
	return file.Errorf(at.AppendToken(key), "%w", err)
}

// blocks reports whether the configuration blocks an image: its reference begins with a name in blockedImages, or a
// part of it matches the name as a regular expression.
func (c *imageSet) blocks(image string) bool {
	return slices.ContainsFunc(c.blocked, func(name *regexp.Regexp) bool {
		return strings.HasPrefix(image, name.String()) || name.MatchString(image)
	})
}

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
				images = append(images, &AdditionalImage{img, set, place.Item("/mirror/additionalImages", i)})
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
			errs = append(errs, c.file.Errorf(place.Item("/mirror/operators", i)+"/targetName",
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
