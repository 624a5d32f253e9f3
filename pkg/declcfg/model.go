package declcfg

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The schemas that the format itself defines. Objects of other schemas are not changed.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// SchemaShard is the schema of the last object of a part of a catalog, which opm render --shard prints.
const SchemaShard = "opm.shard"

// A Package is an object of schema olm.package: the presentation of an operator, for all of its versions.
type Package struct {
	Schema         string     `json:"schema"`
	Name           string     `json:"name"`
	DefaultChannel string     `json:"defaultChannel"`
	Icon           *Icon      `json:"icon,omitempty"`        // nil if there is none
	Description    string     `json:"description,omitempty"` // Markdown
	Properties     []Property `json:"properties,omitempty"`

	Unknown jsontext.Value `json:",embed"` // keys that the format does not define, as one JSON object; nil for none
}

// An Icon is the picture of a package.
type Icon struct {
	Data      []byte `json:"base64data"` // nil is written as null, as upstream does
	MediaType string `json:"mediatype"`

	Unknown jsontext.Value `json:",embed"`
}

// A Channel is an object of schema olm.channel: a stream of updates within a package.
type Channel struct {
	Schema     string     `json:"schema"`
	Name       string     `json:"name"`
	Package    string     `json:"package"`
	Entries    []Entry    `json:"entries"` // in the order of the author, which has no meaning
	Properties []Property `json:"properties,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// An Entry puts a bundle into a channel and says which bundles it updates.
type Entry struct {
	Name string `json:"name"` // of an olm.bundle of the package

	// What the bundle updates: a bundle, which need not exist; further bundles, which are then no longer installed; and
	// the bundles with versions in a range, in the syntax of blang/semver.

	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// A Bundle is an object of schema olm.bundle: one installable version of an operator.
type Bundle struct {
	Schema        string         `json:"schema"`
	Name          string         `json:"name,omitempty"`
	Package       string         `json:"package,omitempty"`
	Image         string         `json:"image"` // may be empty if the properties of the bundle contain its manifests
	Properties    []Property     `json:"properties,omitempty"`
	RelatedImages []RelatedImage `json:"relatedImages,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// A Property is a typed piece of metadata. The content of Value depends on Type; see [Property.Check].
type Property struct {
	Type  string         `json:"type"`
	Value jsontext.Value `json:"value"` // nil if the key is missing, which is not the same as null

	// Ordered reports whether the keys within Value are in their final order, as in values that opm encodes itself. In
	// other values they are sorted when they are written.
	Ordered bool `json:"-"`

	Unknown jsontext.Value `json:",embed"`
}

// A RelatedImage is an image that a bundle needs, such as its own. Mirroring tools copy all of them.
type RelatedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`

	Unknown jsontext.Value `json:",embed"`
}

// Deprecations is an object of schema olm.deprecations: the deprecated parts of a package.
type Deprecations struct {
	Schema  string        `json:"schema"`
	Package string        `json:"package"`
	Entries []Deprecation `json:"entries"`

	Unknown jsontext.Value `json:",embed"`
}

// A Deprecation is a message to the users of a package, a channel or a bundle.
type Deprecation struct {
	Reference Reference `json:"reference"`
	Message   string    `json:"message"`

	Unknown jsontext.Value `json:",embed"`
}

// A Reference names a deprecated object: the package itself (schema olm.package, no name), a channel or a bundle.
type Reference struct {
	Schema string `json:"schema"`
	Name   string `json:"name,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}
