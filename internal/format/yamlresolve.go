package format

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

// resolves reports whether YAML 1.1 readers take v, unquoted, for another type than a string: a boolean, null, a
// number, a time. Decimal numbers count whatever their size: upstream takes those beyond floating point for strings,
// but our reader does not.
func resolves(v []byte) bool {
	if len(v) == 0 {
		return true
	}
	switch c := v[0]; {
	case c == '.':
		return isSpecialFloat(v) || isPointFloat(v)
	case c == '+' || c == '-':
		return isSpecialFloat(v[1:]) && v[len(v)-1]|0x20 == 'f' || resolvesAsNumber(v)
	case isDigit(c):
		return resolvesAsNumber(v) || isTime(v)
	}
	return len(v) <= len("false") && isWord(v)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether v is a word for true, false or null. Not every mix of cases is one.
func isWord(v []byte) bool {
	switch string(v) {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
		"~", "null", "Null", "NULL":
		return true
	}
	return false
}

func isSpecialFloat(v []byte) bool {
	switch string(v) {
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF":
		return true
	}
	return false
}

// isPointFloat reports whether v, which starts with a point, is a number.
func isPointFloat(v []byte) bool {
	if len(v) < 2 || !isDigit(v[1]) {
		return false
	}
	_, err := strconv.ParseFloat(string(v), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// resolvesAsNumber reports whether v, which starts with a sign or a digit, is a number. Underscores may stand anywhere
// behind the first character.
func resolvesAsNumber(v []byte) bool {
	if isSexagesimal(v) {
		return true
	}
	var buf [64]byte
	plain := v
	if bytes.IndexByte(v, '_') >= 0 {
		plain = buf[:0]
		for _, c := range v {
			if c != '_' {
				plain = append(plain, c)
			}
		}
	}
	return isFloat(plain) || isPrefixedInteger(plain)
}

// isFloat reports whether v has the form of a decimal number, integers included, whatever its size.
func isFloat(v []byte) bool {
	v = trimSign(v)
	rest := trimDigits(v)
	digits := len(v) - len(rest)
	if len(rest) > 0 && rest[0] == '.' {
		fraction := rest[1:]
		rest = trimDigits(fraction)
		digits += len(fraction) - len(rest)
	}
	if digits == 0 {
		return false
	}
	if len(rest) == 0 {
		return true
	}
	exponent := trimSign(rest[1:])
	return rest[0]|0x20 == 'e' && len(exponent) > 0 && len(trimDigits(exponent)) == 0
}

// isPrefixedInteger reports whether v is a binary, octal or hexadecimal integer of up to 64 bits.
func isPrefixedInteger(v []byte) bool {
	digits := trimSign(v)
	if len(digits) < 3 || digits[0] != '0' {
		return false
	}
	switch digits[1] | 0x20 {
	case 'x', 'o', 'b':
		return fits64Bits(string(v), 0) || bytes.HasPrefix(v, []byte("0b")) && fits64Bits(string(v[2:]), 2)
	}
	return false
}

func fits64Bits(s string, base int) bool {
	if _, err := strconv.ParseInt(s, base, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(s, base, 64)
	return err == nil
}

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

// timeLayouts are the forms of a time that upstream knows, a part of those of YAML 1.1.
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
