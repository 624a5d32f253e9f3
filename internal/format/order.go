package format

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A member is one member of an object: its key without quotes and escapes, and the nodes of key and value.
type member struct {
	key  []byte
	node int // of the key; the value is the node after it
}

// pushMembers appends the members of object i to d.members and returns the index of the first one. Equal keys occur
// once, with their last value. Keys are in byte order, in natural order, or in the order of the object if JSON keeps
// it. popMembers removes the members.
func (d *Document) pushMembers(i int, natural bool) int {
	base := len(d.members)
	for k, end := i+1, int(d.nodes[i].next); k < end; k = d.next(k + 1) {
		d.members = append(d.members, member{key: d.key(k), node: k})
	}
	if d.nodes[i].ordered && !natural {
		return base
	}
	if !ascending(d.members[base:]) {
		slices.SortStableFunc(d.members[base:], compareBytes)
		d.members = d.members[:base+dropShadowed(d.members[base:])]
	}
	// Natural order is not transitive for every set of keys (a10, a1b, a2), so the result of sorting depends on the input,
	// which is always in byte order.
	if natural && !slices.IsSortedFunc(d.members[base:], compareNatural) {
		slices.SortStableFunc(d.members[base:], compareNatural)
	}
	return base
}

// popMembers removes the members from base on, and the memory that they refer to.
func (d *Document) popMembers(base int) {
	clear(d.members[base:])
	d.members = d.members[:base]
}

// key returns the text of the key at node i. It stays valid until the document is released.
func (d *Document) key(i int) []byte {
	if !d.nodes[i].escaped {
		return d.body(i)
	}
	start := len(d.keys)
	d.keys = appendUnescaped(d.keys, d.body(i))
	return d.keys[start:]
}

// string returns the text of the string at node i. It stays valid until the next call.
func (d *Document) string(i int) []byte {
	if !d.nodes[i].escaped {
		return d.body(i)
	}
	d.scratch = appendUnescaped(d.scratch[:0], d.body(i))
	return d.scratch
}

// body returns the text between the quotes of the string at node i.
func (d *Document) body(i int) []byte { return d.src[d.nodes[i].start+1 : d.nodes[i].end-1] }

// ascending reports whether every key is greater than the one before it.
func ascending(ms []member) bool {
	for i := 1; i < len(ms); i++ {
		if bytes.Compare(ms[i-1].key, ms[i].key) >= 0 {
			return false
		}
	}
	return true
}

// dropShadowed moves the last member of every run of equal keys to the front and returns the number of these members.
func dropShadowed(ms []member) int {
	kept := 0
	for i, m := range ms {
		if i+1 < len(ms) && bytes.Equal(m.key, ms[i+1].key) {
			continue
		}
		ms[kept] = m
		kept++
	}
	clear(ms[kept:])
	return kept
}

func compareBytes(a, b member) int { return bytes.Compare(a.key, b.key) }

func compareNatural(a, b member) int { return naturalCompare(a.key, b.key) }

// naturalCompare orders keys as YAML output does: at the first difference letters go by code point and after anything
// else, and digits count as the number that starts there.
func naturalCompare(a, b []byte) int {
	i := commonRunes(a, b)
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	ar, _ := utf8.DecodeRune(a[i:])
	br, _ := utf8.DecodeRune(b[i:])
	aLetter, bLetter := unicode.IsLetter(ar), unicode.IsLetter(br)
	switch {
	case aLetter && bLetter:
		return cmp.Compare(ar, br)
	case aLetter:
		return +1
	case bLetter:
		return -1
	}
	// A zero inside a number counts for its length: 101 comes after 11. A leading zero does not count.
	var start int64
	if (ar == '0' || br == '0') && endsInNumber(a[:i]) {
		start = 1
	}
	an, aDigits := leadingNumber(a[i:], start)
	bn, bDigits := leadingNumber(b[i:], start)
	return cmp.Or(cmp.Compare(an, bn), cmp.Compare(aDigits, bDigits), cmp.Compare(ar, br))
}

// commonRunes returns the length of the longest common prefix of a and b that ends between two characters.
func commonRunes(a, b []byte) int {
	i, n := 0, min(len(a), len(b))
	for i < n && a[i] == b[i] {
		i++
	}
	for i > 0 && i < n && !utf8.RuneStart(a[i]) {
		i--
	}
	return i
}

// endsInNumber reports whether the digits at the end of b are more than zeros.
func endsInNumber(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		if !unicode.IsDigit(r) {
			return false
		}
		if r != '0' {
			return true
		}
		b = b[:len(b)-size]
	}
	return false
}

// leadingNumber reads the digits at the start of b as the continuation of the number n. It wraps around, and gives
// digits of other scripts wrong values, exactly as upstream does.
func leadingNumber(b []byte, n int64) (value int64, digits int) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if !unicode.IsDigit(r) {
			break
		}
		n = n*10 + int64(r-'0')
		digits++
		b = b[size:]
	}
	return n, digits
}
