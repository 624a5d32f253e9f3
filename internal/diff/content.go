package diff

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A content is a hash of each part of an object except schema, package and name, sorted. Empty parts are omitted, since
// writing an object may add or remove them.
type content []part

// A part is a key of an object, or the properties of one type.
type part struct {
	key      string
	property string // property type, or ""
	sum      uint64
}

func (p part) compare(q part) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.property, q.property))
}

// differences returns the parts that differ, each once, without hashes.
func (c content) differences(d content) []part {
	var all []part
	for _, p := range slices.Concat(c, d) {
		if !slices.Contains(c, p) || !slices.Contains(d, p) {
			all = append(all, part{p.key, p.property, 0})
		}
	}
	slices.SortFunc(all, part.compare)
	return slices.Compact(all)
}

// has reports whether the content has the part.
func (c content) has(key, property string) bool {
	return slices.ContainsFunc(c, func(p part) bool { return p.key == key && p.property == property })
}

// sumOf returns the hash of a value, which must be valid JSON or nil.
func sumOf(raw jsontext.Value) uint64 {
	h := hasher{skim.New(raw)}
	return h.value()
}

// contentOf returns the content of an object, which must be valid JSON without equal keys.
func contentOf(schema string, raw jsontext.Value) content {
	h := hasher{skim.New(raw)}
	sums := map[part]uint64{}
	for h.Enter(); h.More(); {
		p := part{key: string(skim.Unquote(h.Value()))}
		switch isList := h.Kind() == '['; {
		case p.key == "schema", p.key == "package", p.key == "name":
			h.Skip()
		case p.key == "properties" && isList && schema == declcfg.SchemaBundle:
			h.properties(sums)
		case p.key == "relatedImages" && isList:
			sums[p] = h.set()
		default:
			sums[p] = h.value()
		}
	}
	var all content
	for p, sum := range sums {
		if !isEmpty(sum) {
			all = append(all, part{p.key, p.property, sum})
		}
	}
	slices.SortFunc(all, part.compare)
	return all
}

// A hasher hashes JSON values. In one run of the program, equal values have the same hash regardless of key order,
// white space, escapes and number notation.
type hasher struct{ skim.Cursor }

// seed is the seed of all hashes. Different values have the same hash with a probability of 2^-64.
var seed = maphash.MakeSeed()

func mix(a, b uint64) uint64 {
	var both [16]byte
	binary.LittleEndian.PutUint64(both[:8], a)
	binary.LittleEndian.PutUint64(both[8:], b)
	return maphash.Bytes(seed, both[:])
}

// isEmpty reports whether a hash is the hash of an empty value: null, "", [], {} or no properties.
func isEmpty(sum uint64) bool { return slices.Contains(empties, sum) }

var empties = []uint64{
	0, mix('n', maphash.String(seed, "null")), mix('"', maphash.String(seed, "")), mix('[', 0), mix('{', 0),
}

// value reads the next value and returns its hash.
func (h *hasher) value() uint64 {
	switch h.Kind() {
	case '{':
		return h.object(false)
	case '[':
		sum := mix('[', 0)
		for h.Enter(); h.More(); {
			sum = mix(sum, h.value())
		}
		return sum
	}
	return scalar(h.Value())
}

// object reads an object and returns its hash. If optional is set, empty members are ignored.
func (h *hasher) object(optional bool) uint64 {
	var sum uint64
	for h.Enter(); h.More(); {
		key, value := scalar(h.Value()), h.value()
		if !optional || !isEmpty(value) {
			sum += mix(key, value)
		}
	}
	return mix('{', sum)
}

// set reads a list and returns a hash that does not depend on the order of its elements. Empty members of elements are
// ignored.
func (h *hasher) set() uint64 {
	var sum uint64
	for h.Enter(); h.More(); {
		if h.Kind() == '{' {
			sum += mix(0, h.object(true))
		} else {
			sum += mix(0, h.value())
		}
	}
	return mix('[', sum)
}

// properties reads the properties of a bundle, in any order, and adds their hashes to sums by type.
func (h *hasher) properties(sums map[part]uint64) {
	for h.Enter(); h.More(); {
		p := part{key: "properties"}
		if h.Kind() != '{' {
			sums[p] += mix(0, h.value())
			continue
		}
		var sum uint64
		for h.Enter(); h.More(); {
			name := h.Value()
			if string(name) == `"type"` && h.Kind() == '"' {
				p.property = string(skim.Unquote(h.Value()))
			} else {
				sum += mix(scalar(name), h.value())
			}
		}
		sums[p] += mix(1, sum)
	}
}

func scalar(raw jsontext.Value) uint64 {
	kind := uint64(raw.Kind())
	switch raw.Kind() {
	case '"':
		return mix(kind, maphash.Bytes(seed, skim.Unquote(raw)))
	case '0':
		return mix(kind, maphash.String(seed, number(string(raw))))
	}
	return mix(kind, maphash.Bytes(seed, raw))
}

// number returns the same notation for equal numbers. Integers keep all digits.
func number(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
