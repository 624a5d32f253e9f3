package graph

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Range is a set of versions, such as a skipRange. It is stored as intervals, so that the versions of a channel in
// the range are found without testing each. The zero value is empty.
type Range struct {
	spans []span // ascending, not empty, not adjacent
}

// A span is an interval of versions between two cuts.
type span struct{ from, to cut }

// A cut is a position between versions: directly before or after a version, or before or after all versions. Build
// metadata does not affect the order.
type cut struct {
	version *semver.Version
	end     int8 // -1 before all versions, 1 after all versions, otherwise 0
	after   bool
}

var (
	first = cut{end: -1}
	last  = cut{end: 1}
)

func before(v *semver.Version) cut { return cut{version: v} }
func after(v *semver.Version) cut  { return cut{version: v, after: true} }

func (c cut) compare(d cut) int {
	if c.end != 0 || d.end != 0 {
		return cmp.Compare(c.end, d.end)
	}
	if order := c.version.Compare(*d.version); order != 0 {
		return order
	}
	switch {
	case c.after == d.after:
		return 0
	case d.after:
		return -1
	}
	return 1
}

// ParseRange parses a range like github.com/blang/semver, which OLM uses for every skipRange. Adjacent comparisons must
// all hold, and || separates alternatives:
//
//	>=1.0.0 <1.2.0 !1.1.3 || 2.0.x
//
// Pre-releases are not treated specially: they sort as in semantic versioning, so 1.2.0-rc.1 is in the range above. The
// error is the error of blang/semver.
func ParseRange(text string) (Range, error) {
	r, ok := parseRange(text)
	if ok {
		return r, nil
	}
	if _, err := semver.ParseRange(text); err != nil {
		return Range{}, err
	}
	return Range{}, errNoAlternative
}

// errNoAlternative is the error for a range that blang/semver parses, but that panics when a version is tested.
var errNoAlternative = errors.New("there is nothing between two ||")

func parseRange(text string) (Range, bool) {
	var all []span
	a := anything()
	n := 0 // number of comparisons in the alternative
	// Split a range into comparisons and ||. Spaces after an operator are ignored. As in blang/semver, a token
	// of one byte is dropped, so "! 1.0.0" is 1.0.0 itself.
	var list []string
	start := 0
	add := func(end int) {
		if end-start > 1 {
			list = append(list, strings.ReplaceAll(text[start:end], " ", ""))
		}
	}
	var previous byte // the last byte that is not a space
	for i := range len(text) {
		switch {
		case text[i] != ' ':
			previous = text[i]
		case previous != '>' && previous != '<' && previous != '=':
			add(i)
			start = i + 1
		}
	}
	add(len(text))
	for _, token := range list {
		if token == "||" {
			if n == 0 {
				return Range{}, false
			}
			all, a, n = a.appendTo(all), anything(), 0
			continue
		}
		for _, comparison := range expand(token) {
			if !a.narrow(comparison) {
				return Range{}, false
			}
			n++
		}
	}
	return merge(a.appendTo(all)), n > 0
}

// splitOperator splits a comparison before its first digit.
func splitOperator(comparison string) (operator, version string) {
	i := strings.IndexFunc(comparison, unicode.IsDigit)
	if i < 0 {
		return comparison, ""
	}
	return strings.TrimSpace(comparison[:i]), comparison[i:]
}

// expand rewrites a comparison with a wildcard, such as 1.2.x, as comparisons without one. As in blang/semver, both
// comparisons for !=1.2.x must hold, which no version does, and an unknown operator means =.
func expand(comparison string) []string {
	if !strings.Contains(comparison, "x") {
		return []string{comparison}
	}
	operator, version := splitOperator(comparison)
	least := strings.Replace(strings.Replace(version, ".x.x", ".x", 1), ".x", ".0", 1)
	if strings.Count(least, ".") == 1 {
		least += ".0"
	}
	switch operator {
	case ">":
		return []string{">=" + above(version, least)}
	case ">=":
		return []string{">=" + least}
	case "<":
		return []string{"<" + least}
	case "<=":
		return []string{"<" + above(version, least)}
	case "", "=", "==":
		return []string{">=" + least, "<" + above(version, least)}
	case "!", "!=":
		return []string{"<" + least, ">=" + above(version, least)}
	}
	return []string{least}
}

// above returns the lowest version above all versions that a wildcard matches: 2.0.0 for 1.x, and 1.3.0 for 1.2.x. It
// returns "" if the version does not end with such a wildcard.
func above(wildcard, least string) string {
	part := strings.Count(wildcard, ".") - 1
	parts := strings.Split(least, ".")
	if !strings.HasSuffix(wildcard, ".x") || part > 1 {
		return ""
	}
	n, err := strconv.Atoi(parts[part])
	if err != nil {
		return ""
	}
	parts[part] = strconv.Itoa(n + 1)
	return strings.Join(parts, ".")
}

// An alternative is the set of versions for which several comparisons hold: an interval, except for some versions.
type alternative struct {
	span
	except []semver.Version
}

func anything() alternative { return alternative{span: span{first, last}} }

// narrow removes the versions for which a comparison does not hold. It returns false if the comparison is invalid.
func (a *alternative) narrow(comparison string) bool {
	operator, text := splitOperator(comparison)
	version, err := semver.Parse(text)
	if err != nil {
		return false
	}
	v := &version
	switch operator {
	case ">":
		a.from = later(a.from, after(v))
	case ">=":
		a.from = later(a.from, before(v))
	case "<":
		a.to = earlier(a.to, before(v))
	case "<=":
		a.to = earlier(a.to, after(v))
	case "!", "!=":
		a.except = append(a.except, version)
	case "", "=", "==":
		a.from, a.to = later(a.from, before(v)), earlier(a.to, after(v))
	default:
		return false
	}
	return true
}

// appendTo appends the intervals of the alternative to spans.
func (a *alternative) appendTo(spans []span) []span {
	slices.SortFunc(a.except, semver.Version.Compare)
	rest := a.span
	for i := range a.except {
		v := &a.except[i]
		if part := (span{rest.from, earlier(rest.to, before(v))}); !part.empty() {
			spans = append(spans, part)
		}
		rest.from = later(rest.from, after(v))
	}
	if !rest.empty() {
		spans = append(spans, rest)
	}
	return spans
}

func (s span) empty() bool { return s.from.compare(s.to) >= 0 }

// merge returns the union of the intervals.
func merge(spans []span) Range {
	slices.SortFunc(spans, func(a, b span) int { return a.from.compare(b.from) })
	var r Range
	for _, next := range spans {
		if n := len(r.spans); n > 0 && next.from.compare(r.spans[n-1].to) <= 0 {
			r.spans[n-1].to = later(r.spans[n-1].to, next.to)
			continue
		}
		r.spans = append(r.spans, next)
	}
	return r
}

func later(c, d cut) cut { return slices.MaxFunc([]cut{c, d}, cut.compare) }

func earlier(c, d cut) cut { return slices.MinFunc([]cut{d, c}, cut.compare) }

// Empty reports whether no version is in the range.
func (r Range) Empty() bool { return len(r.spans) == 0 }

// Contains reports whether a version is in the range.
func (r Range) Contains(v semver.Version) bool {
	at := before(&v)
	i := sort.Search(len(r.spans), func(i int) bool { return r.spans[i].to.compare(at) > 0 })
	return i < len(r.spans) && r.spans[i].from.compare(at) <= 0
}

// Indexes yields the indexes of the versions in the range, as intervals from i up to but not including j. version must
// return the n versions in ascending order.
func (r Range) Indexes(n int, version func(int) *declcfg.Version) iter.Seq2[int, int] {
	position := func(c cut) int {
		return sort.Search(n, func(i int) bool { return before(&version(i).Semver).compare(c) >= 0 })
	}
	return func(yield func(i, j int) bool) {
		for _, s := range r.spans {
			if i, j := position(s.from), position(s.to); i < j && !yield(i, j) {
				return
			}
		}
	}
}
