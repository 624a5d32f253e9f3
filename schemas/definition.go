package schemas

import (
	"reflect"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A definition is what the checker knows about a definition of the CUE files.
//
// Its verdict on a value depends on nothing but the keys, the kinds, which strings are empty, and what the strings
// named schema and type say, down to a depth, and it treats the elements of a list alike. That is what makes skeletons
// exact, and FuzzChecker holds the files to it.
type definition struct {
	name  string // as in CUE, such as #Bundle
	file  string // for a schema: the file that states it
	depth int    // how many objects and lists, one in the other, it looks into; what is deeper only has a kind

	// text is set where the verdict depends on what any string or number says.
	text bool

	// shape is that of an object of the schema, nil for any other: its keys are those that the format defines.
	shape *skim.Shape

	// lists are the fields whose elements are checked one by one, and are not part of the value itself.
	lists map[string]*definition

	// constraint is set for olm.constraint, whose constraints are checked one by one.
	constraint bool
}

var (
	// property means every definition of a property: the type decides which.
	property     = &definition{name: "#Property", depth: 1}
	channelEntry = &definition{name: "#ChannelEntry", depth: 2}
	relatedImage = &definition{name: "#RelatedImage", depth: 1}
	deprecation  = &definition{name: "#Deprecation", depth: 2}
)

var meta = &definition{name: "#Meta", file: "meta", depth: 1, lists: map[string]*definition{"properties": property}}

// objectDefinitions are by schema; objects of other schemas have to be a meta.
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

// propertyDefinitions are by type; properties of other types have to be a property.
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

// view returns how much of a value the definition has to be given. CUE keeps every name of a key that it has ever seen,
// so it does not see those that say nothing to it.
func (d *definition) view() view {
	v := view{depth: d.depth, empty: d.lists, keys: fieldNames()}
	if d.constraint {
		v.keys = nil // here an unknown key is wrong
	}
	return v
}

// fieldNames returns the names of all fields of all definitions.
var fieldNames = sync.OnceValue(func() map[string]bool {
	file, err := parser.ParseFile("catalog.cue", All())
	if err != nil {
		panic(err) // the files are our own
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
