package diff

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
	sum, _ := newHasher(raw).value()
	return sum
}

// contentOf returns the content of an object.
func contentOf(schema string, raw jsontext.Value) (content, error) {
	h := newHasher(raw)
	sums := map[part]uint64{}
	err := h.members(func(name jsontext.Value) error {
		key, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return err
		}
		p := part{key: string(key)}
		switch {
		case p.key == "schema", p.key == "package", p.key == "name":
			return h.dec.SkipValue()
		case p.key == "properties" && h.dec.PeekKind() == '[' && schema == declcfg.SchemaBundle:
			return h.properties(sums)
		case p.key == "relatedImages" && h.dec.PeekKind() == '[':
			sums[p], err = h.set()
		default:
			sums[p], err = h.value()
		}
		return err
	})
	var all content
	for p, sum := range sums {
		if !isEmpty(sum) {
			all = append(all, part{p.key, p.property, sum})
		}
	}
	slices.SortFunc(all, part.compare)
	return all, err
}

// A hasher hashes JSON values. In one run of the program, equal values have the same hash regardless of key order,
// white space, escapes and number notation.
type hasher struct {
	dec     *jsontext.Decoder
	scratch []byte
}

// newHasher returns a hasher of a valid value without duplicate keys.
func newHasher(raw jsontext.Value) *hasher {
	return &hasher{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))}
}

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
func (h *hasher) value() (uint64, error) {
	switch h.dec.PeekKind() {
	case '{':
		return h.object(false)
	case '[':
		sum := mix('[', 0)
		err := h.elements(func() error {
			element, err := h.value()
			sum = mix(sum, element)
			return err
		})
		return sum, err
	}
	raw, err := h.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	return h.scalar(raw)
}

// object reads an object and returns its hash. If optional is set, empty members are ignored.
func (h *hasher) object(optional bool) (uint64, error) {
	var sum uint64
	err := h.members(func(name jsontext.Value) error {
		key, err := h.scalar(name)
		if err != nil {
			return err
		}
		value, err := h.value()
		if !optional || !isEmpty(value) {
			sum += mix(key, value)
		}
		return err
	})
	return mix('{', sum), err
}

// set reads a list and returns a hash that does not depend on the order of its elements. Empty members of elements are
// ignored.
func (h *hasher) set() (uint64, error) {
	var sum uint64
	err := h.elements(func() error {
		read := h.value
		if h.dec.PeekKind() == '{' {
			read = func() (uint64, error) { return h.object(true) }
		}
		element, err := read()
		sum += mix(0, element)
		return err
	})
	return mix('[', sum), err
}

// properties reads the properties of a bundle, in any order, and adds their hashes to sums by type.
func (h *hasher) properties(sums map[part]uint64) error {
	return h.elements(func() error {
		p := part{key: "properties"}
		if h.dec.PeekKind() != '{' {
			element, err := h.value()
			sums[p] += mix(0, element)
			return err
		}
		var sum uint64
		err := h.members(func(name jsontext.Value) error {
			key, err := h.scalar(name)
			if err != nil {
				return err
			}
			if string(name) == `"type"` && h.dec.PeekKind() == '"' {
				token, err := h.dec.ReadToken()
				p.property = token.String()
				return err
			}
			value, err := h.value()
			sum += mix(key, value)
			return err
		})
		sums[p] += mix(1, sum)
		return err
	})
}

// members reads an object and calls fn with the quoted name of each member, before its value.
func (h *hasher) members(fn func(name jsontext.Value) error) error {
	return h.elements(func() error {
		name, err := h.dec.ReadValue()
		if err != nil {
			return err
		}
		return fn(name)
	})
}

// elements reads a list or an object, and calls fn before each element or member name.
func (h *hasher) elements(fn func() error) error {
	if _, err := h.dec.ReadToken(); err != nil {
		return err
	}
	for k := h.dec.PeekKind(); k != ']' && k != '}' && k != jsontext.KindInvalid; k = h.dec.PeekKind() {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := h.dec.ReadToken()
	return err
}

func (h *hasher) scalar(raw jsontext.Value) (uint64, error) {
	kind := uint64(raw.Kind())
	switch raw.Kind() {
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return mix(kind, maphash.Bytes(seed, raw[1:len(raw)-1])), nil
		}
		var err error
		h.scratch, err = jsontext.AppendUnquote(h.scratch[:0], raw)
		return mix(kind, maphash.Bytes(seed, h.scratch)), err
	case '0':
		return mix(kind, maphash.String(seed, number(string(raw)))), nil
	}
	return mix(kind, maphash.Bytes(seed, raw)), nil
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
