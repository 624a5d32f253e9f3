package schemas

import (
	"reflect"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A definition describes a definition of the CUE files to the checker.
//
// Its verdict on a value must depend only on the keys, the kinds, the emptiness of strings, and the strings named
// schema and type, down to a depth. It must treat the elements of a list alike. So the verdict on a skeleton is exact;
// FuzzChecker checks that the CUE files keep these rules.
type definition struct {
	name  string // as in CUE, such as #Bundle
	file  string // file that defines the schema; "" for a property or element
	depth int    // nesting depth of objects and lists that it examines; of deeper values, only the kind

	// text is set if the verdict depends on the content of any string or number.
	text bool

	// shape has the keys that the format defines for an object of the schema; nil if this is not an object of the
	// format.
	shape *skim.Shape

	// lists maps the fields whose elements are checked one by one, and not as part of the value, to their definitions.
	lists map[string]*definition

	// constraint is set for olm.constraint; its nested constraints are checked one by one.
	constraint bool
}

var (
	// property stands for all definitions of properties; the type selects one of propertyDefinitions.
	property     = &definition{name: "#Property", depth: 1}
	channelEntry = &definition{name: "#ChannelEntry", depth: 2}
	relatedImage = &definition{name: "#RelatedImage", depth: 1}
	deprecation  = &definition{name: "#Deprecation", depth: 2}
)

var meta = &definition{name: "#Meta", file: "meta", depth: 1, lists: map[string]*definition{"properties": property}}

// objectDefinitions maps schemas to definitions. Objects of other schemas must conform to meta.
var objectDefinitions = map[string]*definition{
	"olm.package": {
		name: "#Package", file: "package", depth: 2, shape: skim.ShapeOf(reflect.TypeFor[declcfg.Package]()),
		lists: map[string]*definition{"properties": property},
	},
	"olm.channel": {
		name: "#Channel", file: "channel", depth: 1, shape: skim.ShapeOf(reflect.TypeFor[declcfg.Channel]()),
		lists: map[string]*definition{"properties": property, "entries": channelEntry},
	},
	"olm.bundle": {
		name: "#Bundle", file: "bundle", depth: 1, shape: skim.ShapeOf(reflect.TypeFor[declcfg.Bundle]()),
		lists: map[string]*definition{"properties": property, "relatedImages": relatedImage},
	},
	"olm.deprecations": {
		name: "#Deprecations", file: "deprecations", depth: 1, shape: skim.ShapeOf(reflect.TypeFor[declcfg.Deprecations]()),
		lists: map[string]*definition{"properties": property, "entries": deprecation},
	},
}

// propertyDefinitions maps property types to definitions. Properties of other types must conform to property.
var propertyDefinitions = map[string]*definition{
	"olm.package":             {name: "#PropertyPackage", depth: 2},
	"olm.package.required":    {name: "#PropertyPackageRequired", depth: 2},
	"olm.gvk":                 {name: "#PropertyGVK", depth: 2},
	"olm.gvk.required":        {name: "#PropertyGVKRequired", depth: 2},
	"olm.csv.metadata":        {name: "#PropertyCSVMetadata", depth: 2},
	"olm.bundle.object":       {name: "#PropertyBundleObject", depth: 2},
	"olm.maxOpenShiftVersion": {name: "#PropertyMaxOpenShiftVersion", depth: 1, text: true},
	"olm.constraint":          {name: "#PropertyConstraint", depth: whole.depth, constraint: true},
}

func objectDefinition(schema string) *definition {
	if def, ok := objectDefinitions[schema]; ok {
		return def
	}
	return meta
}

// fieldNames returns the names of all fields of all definitions.
var fieldNames = sync.OnceValue(func() map[string]bool {
	file, err := parser.ParseFile("catalog.cue", All())
	if err != nil {
		panic(err) // cannot happen: the files are part of this package
	}
	names := map[string]bool{}
	ast.Walk(file, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok {
			name, _, _ := ast.LabelName(field.Label)
			names[name] = true
		}
		return true
	}, nil)
	return names
})
