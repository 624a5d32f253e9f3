package schemas

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Finding is one violation of a definition by an object.
type Finding struct {
	Pointer    jsontext.Pointer // pointer to the wrong or missing value
	Kind       Kind
	Message    string // description of the violation, such as "must not be empty"
	Definition string // name of the violated definition, such as #Bundle
	Extra      bool   // the definition comes from the user's files
	Empty      bool   // the wrong value is an empty string
	Rule       string // name of the rule about the value, such as bundle-image; "" if the definition names none
}

// A Kind is the kind of a violation.
type Kind int

// The kinds of findings.
const (
	Invalid   Kind = iota // the value has the right type, but the definition does not allow it
	Missing               // a required key is missing
	Null                  // null instead of a value
	WrongType             // the value has the wrong type
	Unknown               // the definition does not allow the key
	Excess                // the key, or another key of the same object, must be omitted
)

// A Checker checks objects against the definitions. It caches results in bounded memory, except that CUE keeps all key
// names passed to the user's definitions until the process ends. A Checker must be used by one goroutine at a time. The
// zero Checker has no findings, but [Checker.Decodable] and [Checker.UnknownKeys] work.
type Checker struct {
	rules   *rules
	scan    scanner
	memory  memory
	key     []byte
	scratch []Finding

	decodable []bool // Decodable, for the properties of the last object
}

// NewChecker returns a checker for the format and for the user's definitions in extra. A user definition whose field
// schema is a concrete string applies to the objects of that schema. A user definition whose field type is a concrete
// string applies to the properties of that type. Both apply in addition to the format. As usual in CUE, a definition
// without "..." allows no other keys.
//
//	#Thing: {schema!: "example.com/thing", level!: "gold" | "silver"}
//	#OurBundle: #Bundle & {schema: "olm.bundle", image: =~"^quay.io/ours/", ...}
//	#Tier: {type!: "example.com/tier", value!: int & <4}
//
// The files may use the definitions of the format and the packages of CUE's standard library. The error lists all
// mistakes in the files, each with file, line and column. A file without a definition that applies to objects or
// properties is an error, too.
//
// The evaluation of the user's definitions is limited to 20 seconds, and 0.1 seconds for each checked object, and to
// 1 GiB of memory. The error of a file that exceeds a limit has its name only.
func NewChecker(extra ...File) (*Checker, error) { return NewExtra(extra...).NewChecker() }

// maxFindings is the number of findings after which no further elements of an object are checked, because CUE takes
// long to explain one.
const maxFindings = 1000

// Object checks one object of a catalog, including its properties, entries and related images. It ignores the deep
// parts of bulky values, and all elements after 1,000 findings. Findings are sorted by pointer, then message; nil means
// none.
func (c *Checker) Object(o *declcfg.Object) []Finding { return c.object(o.Schema, o.JSON()) }

// object checks an object of a schema. It must be valid JSON without duplicate keys.
func (c *Checker) object(schema string, raw jsontext.Value) []Finding {
	def := objectDefinition(schema)
	if c.rules != nil {
		c.rules.users.left += userTimePerObject
	}
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
	// The user's definitions may relate any parts of the object, so they get the whole, and results are not cached.
	found = append(found, c.user(c.rules.users.bySchema[schema], raw)...)
	c.scratch = found
	return sorted(found)
}

// user returns the findings of user definitions for a value. If they exceed a limit, the checker has no more findings,
// because CUE is still evaluating them.
func (c *Checker) user(definitions []int, raw jsontext.Value) (found []Finding) {
	for _, i := range definitions {
		if c.rules == nil {
			break
		}
		more, err := c.rules.user(i, raw)
		if err != nil {
			c.rules = nil
			return nil
		}
		found = append(found, more...)
	}
	return found
}

// Decodable reports whether the value of a property, given by its index in the object checked last, can certainly be
// decoded as its type. If it returns false, call [declcfg.Property.Check] to find out.
func (c *Checker) Decodable(property int) bool {
	return property < len(c.decodable) && c.decodable[property]
}

// UnknownKeys calls visit for each key that the format does not define in this spelling, with the keys that it defines
// in the same place. It covers the object, its entries, properties, related images and icon, but not the values of
// properties. It must be called with the object that was checked last.
func (c *Checker) UnknownKeys(o *declcfg.Object, visit func(key jsontext.Pointer, defined []string)) {
	if !c.scan.unknown {
		return
	}
	objectDefinition(o.Schema).shape.UnknownKeys(o.JSON(), func(key jsontext.Pointer, of *skim.Shape) *skim.Field {
		if !slices.Contains(metaKeys, key) {
			visit(key, of.Names())
		}
		return nil
	})
}

// metaKeys lists the keys that #Meta allows in any object.
var metaKeys = []jsontext.Pointer{"/schema", "/package", "/name", "/properties"}

func (c *Checker) element(found []Finding, e element) []Finding {
	if len(found) >= maxFindings {
		return found
	}
	own := c.rules.users.byType[string(e.typ)]
	if c.sound(e.skeleton, e.def) && own == nil {
		return found
	}
	at := place.Item(jsontext.Pointer("/"+e.list), e.index) // no list has a name with an escape
	for _, f := range c.elementFindings(e, own) {
		f.Pointer = at + f.Pointer
		found = append(found, f)
	}
	return found
}

// elementFindings returns the findings of an element. Pointers are relative to the element.
func (c *Checker) elementFindings(e element, own []int) []Finding {
	// No skeleton begins with an equal sign, so the keys of raw values and of skeletons cannot collide.
	c.key = append(append(append(c.key[:0], '='), e.raw...), e.def.name...)
	if found, ok := c.memory.get(c.key); ok {
		return found
	}
	found := append(c.explain(e.def, e.raw), c.user(own, e.raw)...)
	c.memory.put(c.key, found)
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

// unsound marks a skeleton that a definition rejects, in the memory. It is not a real finding, because the strings of a
// skeleton differ from the strings of the values; each value is explained on its own.
var unsound = []Finding{{Message: "unsound"}}

func (c *Checker) explain(def *definition, raw jsontext.Value) []Finding {
	v := view{depth: def.depth, empty: def.lists}
	if !def.constraint { // an unknown key of a constraint is an error
		v.keys = fieldNames() // CUE keeps the names of all keys that it sees in memory
	}
	return c.rules.explain(def, decode(raw, v))
}

// sorted returns a sorted copy of findings, without findings of the user's definitions that repeat others.
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

// A memory caches findings. The key consists of the bytes of a value and the name of a definition. Entries never become
// wrong, because a definition always has the same findings for a value; they can only be evicted.
type memory struct {
	verdicts map[string][]Finding
	size     int // approximate size of verdicts in bytes
}

const (
	longestKey    = 8 << 10 // bytes; longer values rarely repeat
	memoryLimit   = 4 << 20 // bytes; a large catalog needs less than a tenth
	entryOverhead = 128     // bytes of an entry in addition to its key
	findingSize   = 256     // approximate bytes of a finding
)

// get returns the cached findings of a value; ok is false if there are none in the memory.
func (m *memory) get(key []byte) (found []Finding, ok bool) {
	found, ok = m.verdicts[string(key)]
	return found, ok
}

// put caches the findings of a value. A full memory is emptied, because frequent values return soon.
func (m *memory) put(key []byte, found []Finding) {
	if len(key) > longestKey {
		return
	}
	size := len(key) + entryOverhead + len(found)*findingSize
	if m.verdicts == nil || m.size+size > memoryLimit {
		m.verdicts, m.size = make(map[string][]Finding), 0
	}
	m.verdicts[string(key)] = found
	m.size += size
}
