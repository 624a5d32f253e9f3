package format

import (
	"time"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

// resolves reports whether YAML 1.1 readers take v, unquoted, for another type than a string: a boolean, null, a
// number, a time. Decimal numbers of any size count: upstream takes those beyond floating point for strings,
// but our reader does not. Numbers in base 60 and times are strings to upstream's reader, but its writer quotes them.
func resolves(v []byte) bool {
	return !yamljson.IsText(v) || (isDigit(v[0]) || v[0] == '+' || v[0] == '-') && (isSexagesimal(v) || isTime(v))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isSexagesimal reports whether v is a number in base 60 such as 12:30:45, which may have a fraction.
func isSexagesimal(v []byte) bool {
	v = trimSign(v)
	if len(v) == 0 || !isDigit(v[0]) {
		return false
	}
	v = trimDigitsAndUnderscores(v)
	if len(v) == 0 || v[0] != ':' {
		return false
	}
	for len(v) > 0 && v[0] == ':' {
		part := v[1:]
		v = trimDigits(part)
		if size := len(part) - len(v); size == 0 || size > 2 || size == 2 && part[0] > '5' {
			return false
		}
	}
	if len(v) > 0 && v[0] == '.' {
		v = trimDigitsAndUnderscores(v[1:])
	}
	return len(v) == 0
}

// timeLayouts are the forms of a time that upstream supports, a part of the forms in YAML 1.1.
var timeLayouts = []string{
	"2006-1-2T15:4:5.999999999Z07:00",
	"2006-1-2t15:4:5.999999999Z07:00",
	"2006-1-2 15:4:5.999999999",
	"2006-1-2",
}

// isTime reports whether v is a time or a date, with a year of four digits.
func isTime(v []byte) bool {
	if len(v) < len("2006-1-2") || v[4] != '-' || len(trimDigits(v[:4])) > 0 {
		return false
	}
	for _, layout := range timeLayouts {
		if _, err := time.Parse(layout, string(v)); err == nil {
			return true
		}
	}
	return false
}

func trimSign(v []byte) []byte {
	if len(v) > 0 && (v[0] == '+' || v[0] == '-') {
		return v[1:]
	}
	return v
}

func trimDigits(v []byte) []byte {
	for len(v) > 0 && isDigit(v[0]) {
		v = v[1:]
	}
	return v
}

func trimDigitsAndUnderscores(v []byte) []byte {
	for len(v) > 0 && (isDigit(v[0]) || v[0] == '_') {
		v = v[1:]
	}
	return v
}
