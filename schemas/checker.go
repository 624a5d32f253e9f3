package schemas

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Finding is one departure of an object from a definition.
type Finding struct {
	Pointer    jsontext.Pointer // to the value that is wrong or missing
	Kind       Kind
	Message    string // what is wrong, such as "must not be empty"
	Definition string // the definition that it breaks, such as #Bundle
	Extra      bool   // the definition is the user's own
	Empty      bool   // the value is an empty string
}

// A Kind says in what way a value departs from its definition.
type Kind int

// The kinds of findings.
const (
	Invalid   Kind = iota // the value is of the right type, but not one that the definition allows
	Missing               // a required key is missing
	Null                  // null, where the definition wants a value
	WrongType             // the value is of another type
	Unknown               // the definition does not name the key
	Excess                // the key must be omitted, or other keys beside it
)

// A Checker checks objects against the definitions. It remembers what it has seen, in bounded memory, and serves one
// goroutine. What CUE keeps for as long as the process runs are the names of keys that the user's own definitions are
// given. The zero Checker finds nothing, but knows what is [Checker.Decodable].
type Checker struct {
	rules   *rules
	scan    scanner
	memory  memory
	key     []byte
	scratch []Finding

	decodable []bool // of the properties of the last object
}

// NewChecker returns a checker of the format and of the definitions in extra, which are the user's own: a definition
// whose field schema is a concrete string is for the objects of that schema, one whose field type is a concrete string
// is for the properties of that type, and both are in addition to the format. As anywhere in CUE, a definition without
// "..." allows no other keys.
//
//	#Thing: {schema!: "example.com/thing", level!: "gold" | "silver"}
//	#OurBundle: #Bundle & {schema: "olm.bundle", image: =~"^quay.io/ours/", ...}
//	#Tier: {type!: "example.com/tier", value!: int & <4}
//
// The files may use the definitions of the format and the packages of CUE's standard library. The error lists what is
// wrong in them, each with file, line and column; a file without any definition of this kind is an error too.
func NewChecker(extra ...File) (*Checker, error) {
	rules, err := newRules(extra)
	if err != nil {
		return nil, err
	}
	return &Checker{rules: rules}, nil
}

// maxFindings is how many findings about an object end the search for more in its elements: explaining one takes CUE
// long.
const maxFindings = 1000

// Object checks one object of a catalog: the object with its properties, its entries and its related images. What is
// deep inside of bulky values is not looked at, nor are the elements after a thousand findings. Findings are sorted by
// pointer, then message; nil means none.
func (c *Checker) Object(o *declcfg.Object) []Finding { return c.object(o.Schema, o.JSON()) }

// object checks an object of a schema, which is valid JSON without equal keys.
func (c *Checker) object(schema string, raw jsontext.Value) []Finding {
	def := objectDefinition(schema)
	found := c.scratch[:0]
	c.decodable = c.decodable[:0]
	skeleton := c.scan.object(def, raw, func(e element) {
		if e.list == "properties" {
			c.decodable = append(c.decodable, e.decodable)
		}
		if c.rules != nil {
			found = c.element(found, e)
		}
	})
	if c.rules == nil {
		return nil
	}
	if !c.sound(skeleton, def) {
		found = append(found, c.explain(def, raw)...)
	}
	found = append(found, c.users(schema, raw)...)
	c.scratch = found
	return sorted(found)
}

// Decodable reports whether a property of the object that was checked last, given by its index, surely has a value that
// can be decoded as its type. If it returns false, [declcfg.Property.Check] knows.
func (c *Checker) Decodable(property int) bool {
	return property < len(c.decodable) && c.decodable[property]
}

// UnknownKeys calls visit for each key of the object that was checked last, or of its entries, properties, related
// images and icon, that the format does not define in this spelling, with the keys that it does define there. Keys
// within the values of properties are not looked at.
func (c *Checker) UnknownKeys(o *declcfg.Object, visit func(key jsontext.Pointer, defined []string)) {
	if !c.scan.unknown {
		return
	}
	objectDefinition(o.Schema).shape.UnknownKeys(o.JSON(), func(key jsontext.Pointer, of *skim.Shape) {
		if slices.Contains(metaKeys, key) {
			return
		}
		var defined []string
		for _, f := range of.Fields {
			defined = append(defined, f.Name)
		}
		visit(key, defined)
	})
}

// metaKeys may be in any object, by the definition #Meta.
var metaKeys = []jsontext.Pointer{"/schema", "/package", "/name", "/properties"}

// element appends what is wrong with one element.
func (c *Checker) element(found []Finding, e element) []Finding {
	if len(found) >= maxFindings {
		return found
	}
	own := c.rules.users.forType(e.typ)
	if c.sound(e.skeleton, e.def) && own == nil {
		return found
	}
	at := jsontext.Pointer("").AppendToken(e.list).AppendToken(strconv.Itoa(e.index))
	for _, f := range c.elementFindings(e, own) {
		f.Pointer = at + f.Pointer
		found = append(found, f)
	}
	return found
}

// elementFindings says what is wrong with an element; pointers start at it.
func (c *Checker) elementFindings(e element, own []int) []Finding {
	// An equal sign begins no skeleton, so raw values and skeletons are never mistaken for each other.
	c.key = append(append(append(c.key[:0], '='), e.raw...), e.def.name...)
	if found, ok := c.memory.get(c.key); ok {
		return found
	}
	found := c.explain(e.def, e.raw)
	for _, i := range own {
		found = append(found, c.rules.user(i, e.raw)...)
	}
	c.memory.put(c.key, found)
	return found
}

// users says what is wrong with an object by the user's own definitions. They may relate any part of it to any other,
// so they are given all of it each time.
func (c *Checker) users(schema string, raw jsontext.Value) []Finding {
	var found []Finding
	for _, i := range c.rules.users.forSchema(schema) {
		found = append(found, c.rules.user(i, raw)...)
	}
	return found
}

// sound reports whether a definition accepts the values of a skeleton.
func (c *Checker) sound(skeleton []byte, def *definition) bool {
	if found, ok := c.memory.get(skeleton); ok {
		return found == nil
	}
	value := skeleton[:len(skeleton)-len(def.name)]
	if c.rules.accepts(def, value) {
		c.memory.put(skeleton, nil)
		return true
	}
	c.memory.put(skeleton, unsound)
	return false
}

// unsound is what the memory holds of a bad skeleton, whose strings are not those of the values: they are explained one
// by one.
var unsound = []Finding{{Message: "unsound"}}

func (c *Checker) explain(def *definition, raw jsontext.Value) []Finding {
	return c.rules.explain(def, decode(raw, def.view()))
}

// sorted returns a sorted copy of findings. What the user's own definitions only repeat is dropped.
func sorted(found []Finding) []Finding {
	if len(found) == 0 {
		return nil
	}
	list := slices.Clone(found)
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(list, func(a, b Finding) bool {
		return a.Pointer == b.Pointer && a.Message == b.Message
	})
}
