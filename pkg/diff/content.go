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

// A content is what an object holds besides its schema, package and name: a sum for each part of it, sorted. Parts that
// are empty are left out, since writing an object may do that, or write them.
type content []part

// A part is a key of an object. Those of properties are a part for each type of property.
type part struct {
	key      string
	property string // the type, or ""
	sum      uint64
}

func (p part) compare(q part) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.property, q.property))
}

// differences returns the parts that are not in both with the same sum, each once.
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

// has tells whether there is such a part.
func (c content) has(key, property string) bool {
	return slices.ContainsFunc(c, func(p part) bool { return p.key == key && p.property == property })
}

// sum returns one sum for all of the content.
func (c content) sum() uint64 {
	sum := mix('{', 0)
	for _, p := range c {
		sum = mix(sum, mix(maphash.String(seed, p.key), p.sum))
	}
	return sum
}

// sumOf returns the sum of a value, which is valid JSON, or nil.
func sumOf(raw jsontext.Value) uint64 {
	sum, _ := newSummer(raw).value()
	return sum
}

// sumUp returns the content of an object.
func sumUp(schema string, raw jsontext.Value) (content, error) {
	s := newSummer(raw)
	sums := map[part]uint64{}
	err := s.members(func(name jsontext.Value) error {
		key, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return err
		}
		p := part{key: string(key)}
		switch {
		case p.key == "schema", p.key == "package", p.key == "name":
			return s.dec.SkipValue()
		case p.key == "properties" && s.dec.PeekKind() == '[' && schema == declcfg.SchemaBundle:
			return s.properties(sums)
		case p.key == "relatedImages" && s.dec.PeekKind() == '[':
			sums[p], err = s.set()
		default:
			sums[p], err = s.value()
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

// A summer sums up JSON values: equal values have the same sum in one run of the program, whatever the order of keys,
// the white space, the escapes in text and the spelling of numbers.
type summer struct {
	dec     *jsontext.Decoder
	scratch []byte
}

// newSummer returns a summer of a valid value without equal keys.
func newSummer(raw jsontext.Value) *summer {
	return &summer{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))}
}

// seed is that of all sums. Two values that differ have the same sum once in 2^64 times.
var seed = maphash.MakeSeed()

func mix(a, b uint64) uint64 {
	var both [16]byte
	binary.LittleEndian.PutUint64(both[:8], a)
	binary.LittleEndian.PutUint64(both[8:], b)
	return maphash.Bytes(seed, both[:])
}

// isEmpty tells whether the sum is that of null, "", [] or {}, or of no properties.
func isEmpty(sum uint64) bool { return slices.Contains(empties, sum) }

var empties = []uint64{
	0, mix('n', maphash.String(seed, "null")), mix('"', maphash.String(seed, "")), mix('[', 0), mix('{', 0),
}

// value reads the next value and returns its sum.
func (s *summer) value() (uint64, error) {
	switch s.dec.PeekKind() {
	case '{':
		return s.object(false)
	case '[':
		sum := mix('[', 0)
		err := s.elements(func() error {
			element, err := s.value()
			sum = mix(sum, element)
			return err
		})
		return sum, err
	}
	raw, err := s.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	return s.scalar(raw)
}

// object reads an object. Those of some members are the same whether a member is empty or not there.
func (s *summer) object(optional bool) (uint64, error) {
	var sum uint64
	err := s.members(func(name jsontext.Value) error {
		key, err := s.scalar(name)
		if err != nil {
			return err
		}
		value, err := s.value()
		if !optional || !isEmpty(value) {
			sum += mix(key, value)
		}
		return err
	})
	return mix('{', sum), err
}

// set reads a list of objects whose order means nothing.
func (s *summer) set() (uint64, error) {
	var sum uint64
	err := s.elements(func() error {
		read := s.value
		if s.dec.PeekKind() == '{' {
			read = func() (uint64, error) { return s.object(true) }
		}
		element, err := read()
		sum += mix(0, element)
		return err
	})
	return mix('[', sum), err
}

// properties reads the properties of a bundle, whose order means nothing, into sums by their type.
func (s *summer) properties(sums map[part]uint64) error {
	return s.elements(func() error {
		p := part{key: "properties"}
		if s.dec.PeekKind() != '{' {
			element, err := s.value()
			sums[p] += mix(0, element)
			return err
		}
		var sum uint64
		err := s.members(func(name jsontext.Value) error {
			key, err := s.scalar(name)
			if err != nil {
				return err
			}
			if string(name) == `"type"` && s.dec.PeekKind() == '"' {
				token, err := s.dec.ReadToken()
				p.property = token.String()
				return err
			}
			value, err := s.value()
			sum += mix(key, value)
			return err
		})
		sums[p] += mix(1, sum)
		return err
	})
}

// members reads an object and calls fn for each member, with its name as it is written and before its value.
func (s *summer) members(fn func(name jsontext.Value) error) error {
	return s.elements(func() error {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		return fn(name)
	})
}

// elements reads a list, or an object, and calls fn before each element, or the name of each member.
func (s *summer) elements(fn func() error) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for k := s.dec.PeekKind(); k != ']' && k != '}' && k != jsontext.KindInvalid; k = s.dec.PeekKind() {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

func (s *summer) scalar(raw jsontext.Value) (uint64, error) {
	kind := uint64(raw.Kind())
	switch raw.Kind() {
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return mix(kind, maphash.Bytes(seed, raw[1:len(raw)-1])), nil
		}
		var err error
		s.scratch, err = jsontext.AppendUnquote(s.scratch[:0], raw)
		return mix(kind, maphash.Bytes(seed, s.scratch)), err
	case '0':
		return mix(kind, maphash.String(seed, number(string(raw)))), nil
	}
	return mix(kind, maphash.Bytes(seed, raw)), nil
}

// number returns one spelling for all of a number. Integers keep all of their digits.
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
