package declcfg

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// The property types that the format itself defines. A property of another type may have any JSON as its value.
const (
	PropertyPackage             = "olm.package"
	PropertyPackageRequired     = "olm.package.required"
	PropertyGVK                 = "olm.gvk"
	PropertyGVKRequired         = "olm.gvk.required"
	PropertyBundleObject        = "olm.bundle.object"
	PropertyCSVMetadata         = "olm.csv.metadata"
	PropertyConstraint          = "olm.constraint"
	PropertyMaxOpenShiftVersion = "olm.maxOpenShiftVersion"
	PropertyChannel             = "olm.channel"
	PropertyDeprecated          = "olm.deprecated"
)

// A PackageProperty is the value of olm.package: the package and the version of a bundle. See [ParseVersion].
type PackageProperty struct {
	PackageName string `json:"packageName"`
	Version     string `json:"version"`
	Release     string `json:"release,omitempty"`
}

// A PackageRequired is the value of olm.package.required: a package that the bundle depends on.
type PackageRequired struct {
	PackageName  string `json:"packageName"`
	VersionRange string `json:"versionRange"`
}

// A GVK is the value of olm.gvk: an API that a bundle provides.
type GVK struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// A GVKRequired is the value of olm.gvk.required: an API that another bundle has to provide.
type GVKRequired GVK

// A ChannelProperty is the value of olm.channel, which only registries use.
type ChannelProperty struct {
	ChannelName string `json:"channelName"`
}

// A BundleObject is the value of olm.bundle.object: one manifest of a bundle, in JSON or YAML. Data is base64 in the
// catalog; it is empty if the value has the old form, {ref: PATH}.
type BundleObject struct {
	Data []byte `json:"data"`
}

// ErrBrokenManifest is wrapped by the error about a manifest that upstream accepts, because it begins with {, although
// it is neither JSON nor YAML.
var ErrBrokenManifest = errors.New("it begins with { and is not JSON")

// JSON returns the manifest as JSON, which may share memory with Data. The keys of a JSON manifest keep their order. As
// in upstream, only the first document counts, an empty document is null, and JSON need not be UTF-8. Upstream does not
// read a manifest whose first character except white space is {, but takes it for JSON (k8s.io/apimachinery,
// pkg/util/yaml.ToJSON): if it cannot be read, the error wraps [ErrBrokenManifest]. Other errors are from the YAML
// parser.
func (o *BundleObject) JSON() (jsontext.Value, error) {
	data := jsontext.Value(o.Data)
	isObject := bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{"))
	switch {
	case isObject && data.IsValid(jsontext.AllowDuplicateNames(true)):
		return data, nil
	case isObject && data.IsValid(document.Lenient): // not UTF-8
		return document.Repair(data), nil
	}
	switch manifest, err := yamljson.First(data); {
	case errors.Is(err, yamljson.ErrEmpty):
		return jsontext.Value("null"), nil
	case err != nil && isObject:
		return nil, fmt.Errorf("%w: %w", ErrBrokenManifest, err)
	default:
		return manifest, err
	}
}

// propertyTypes maps property types to the Go types of their values. Properties of other types may have any JSON.
var propertyTypes = map[string]reflect.Type{
	PropertyPackage:         reflect.TypeFor[PackageProperty](),
	PropertyPackageRequired: reflect.TypeFor[PackageRequired](),
	PropertyGVK:             reflect.TypeFor[GVK](),
	PropertyGVKRequired:     reflect.TypeFor[GVKRequired](),
	PropertyBundleObject:    reflect.TypeFor[BundleObject](),
	PropertyCSVMetadata:     reflect.TypeFor[CSVMetadata](),
	PropertyChannel:         reflect.TypeFor[ChannelProperty](),
}

// ValueType returns the Go type for values of a property type, into which [Property.Check] decodes them. Nil means any
// JSON.
func ValueType(typ string) reflect.Type { return propertyTypes[typ] }

// valueOptions make decoding as lenient as upstream: names match in any case, the last of several equal names counts,
// null changes nothing, base64 may have line breaks. Unlike in upstream, decoding stops at the first error and returns
// its pointer.
var valueOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsonv1.ReportErrorsWithLegacySemantics(false),
)

// sortedOptions are valueOptions, but decoding fails if two keys of an object match the same field, in different case.
var sortedOptions = json.JoinOptions(valueOptions, jsontext.AllowDuplicateNames(false))

// buildOptions make encoding write the same bytes as upstream.
var buildOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsontext.EscapeForHTML(false),
)

// ErrNoValue is wrapped by the error about a property without a value. Null is a value.
var ErrNoValue = errors.New("no value")

// A ValueError is a problem with the value of a property.
type ValueError struct {
	Type    string           // of the property
	Pointer jsontext.Pointer // to the problem within the value; "" for the whole value
	Err     error
}

func (e *ValueError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s: %v", e.Type, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Type, e.Pointer, e.Err)
}

func (e *ValueError) Unwrap() error { return e.Err }

// NewProperty returns a property whose value is v in JSON, with keys in the order of struct fields or, for maps,
// sorted. The error is from encoding v.
func NewProperty(typ string, v any) (Property, error) {
	value, err := json.Marshal(v, buildOptions)
	return Property{Type: typ, Value: value, Ordered: true}, err
}

// Check returns an error if the value does not match the type of the property: the error of decoding it into a
// [PackageProperty], [PackageRequired], [GVK], [GVKRequired], [BundleObject], [CSVMetadata] or [ChannelProperty]. A
// property of another type may have any JSON. Check does not check the text within values, such as versions and
// manifests. It does not decode values unless it has to: CSV metadata is most of a large catalog.
func (p *Property) Check() error {
	t, ok := propertyTypes[p.Type]
	if !ok {
		return p.Unmarshal(new(jsontext.Value))
	}
	if p.Value.IsValid() && skim.Fits(p.Value, t) {
		return nil
	}
	return p.Unmarshal(reflect.New(t).Interface())
}

// Unmarshal decodes the value into the variable that v points to, for any type of property. Missing keys and null
// become zero values, unknown keys are ignored. Of keys that differ only in case the last one counts: in byte order or,
// if the value is ordered, in the order of the value. The error is a *[ValueError].
func (p *Property) Unmarshal(v any) error {
	if len(p.Value) == 0 {
		return &ValueError{Type: p.Type, Err: ErrNoValue}
	}
	err := p.unmarshal(v)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*json.SemanticError](err); ok {
		ptr, err := place.TypeError(err)
		return &ValueError{p.Type, ptr, err}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &ValueError{p.Type, syntactic.JSONPointer, syntactic.Err}
	}
	return &ValueError{Type: p.Type, Err: err}
}

func (p *Property) unmarshal(v any) error {
	if p.Ordered {
		return json.Unmarshal(p.Value, v, valueOptions)
	}
	err := json.Unmarshal(p.Value, v, sortedOptions)
	if !errors.Is(err, jsontext.ErrDuplicateName) {
		return err
	}
	reflect.ValueOf(v).Elem().SetZero()
	text := p.Value
	if text.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		text = format.AppendCompact(nil, bytes.ToValidUTF8(text, []byte("\ufffd")))
	}
	return json.Unmarshal(text, v, valueOptions)
}
