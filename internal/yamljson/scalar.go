package yamljson

import (
	"cmp"
	"strconv"
	"strings"
)

// A kind is the type of a plain scalar.
type kind uint8

const (
	kindText kind = iota
	kindNull
	kindTrue
	kindFalse
	kindInteger  // fits 64 bits, signed or not
	kindFloat    // any other decimal number
	kindInfinite // infinity or not a number, which JSON does not have
)

// The types that the first byte of a plain scalar allows.
const (
	anyText   = iota // text, whatever follows
	maybeWord        // one of the words below
	maybeNumber
)

// starts is indexed by the first byte. It is the first test because most scalars end there.
var starts = [256]uint8{
	'y': maybeWord, 'Y': maybeWord, 'n': maybeWord, 'N': maybeWord, 't': maybeWord, 'T': maybeWord,
	'f': maybeWord, 'F': maybeWord, 'o': maybeWord, 'O': maybeWord, '~': maybeWord,
	'0': maybeNumber, '1': maybeNumber, '2': maybeNumber, '3': maybeNumber, '4': maybeNumber, '5': maybeNumber,
	'6': maybeNumber, '7': maybeNumber, '8': maybeNumber, '9': maybeNumber,
	'+': maybeNumber, '-': maybeNumber, '.': maybeNumber,
}

// resolve returns the type of a plain scalar, by the rules of YAML 1.1 as go.yaml.in/yaml/v2 applies them, and the JSON
// form of an integer or a float. Times and numbers of base 60 are text.
func resolve(s string) (k kind, number string) {
	if s == "" {
		return kindNull, ""
	}
	switch starts[s[0]] {
	case maybeWord:
		return resolveWord(s), ""
	case maybeNumber:
		return resolveNumber(s)
	}
	return kindText, ""
}

// IsText reports whether a plain scalar is text, and not a number, a boolean or null.
func IsText(s []byte) bool {
	if len(s) == 0 {
		return false
	}
	switch starts[s[0]] {
	case anyText:
		return true
	case maybeWord:
		return len(s) > len("false") || resolveWord(string(s)) == kindText
	}
	k, _ := resolveNumber(string(s))
	return k == kindText
}

func resolveWord(s string) kind {
	switch s {
	case "~", "null", "Null", "NULL":
		return kindNull
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return kindTrue
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return kindFalse
	}
	return kindText
}

func resolveNumber(s string) (k kind, number string) {
	switch s {
	case ".nan", ".NaN", ".NAN",
		".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return kindInfinite, ""
	}
	if !numeric(s) {
		return kindText, ""
	}
	digits := withoutUnderscores(s)
	if n, ok := parseInteger(digits); ok {
		return kindInteger, n
	}
	if n, ok := parseDecimal(digits); ok {
		return kindFloat, n
	}
	return kindText, ""
}

// numeric reports whether s has only bytes that a number may have. It keeps versions, digests and times, which begin
// like numbers, from being parsed as such.
func numeric(s string) bool {
	for i := range len(s) {
		switch c := s[i] | 0x20; { // letters in lower case
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c == 'x', c == 'o':
		case s[i] == '.', s[i] == '+', s[i] == '-', s[i] == '_':
		default:
			return false
		}
	}
	return true
}

// withoutUnderscores drops the underscores of a number. Upstream passes a number that begins with a point to strconv
// unchanged, which accepts underscores only between digits.
func withoutUnderscores(s string) string {
	if s[0] == '.' && !separated(s) {
		return s
	}
	return strings.ReplaceAll(s, "_", "")
}

// separated reports whether the underscores of s are between digits.
func separated(s string) bool {
	for i := range len(s) {
		if s[i] == '_' && (i+1 == len(s) || !digit(s[i-1]) || !digit(s[i+1])) {
			return false
		}
	}
	return true
}

func digit(c byte) bool {
	return c >= '0' && c <= '9'
}

// parseInteger reads an integer of 64 bits in any of the bases and returns it as JSON.
func parseInteger(s string) (string, bool) {
	if strings.IndexByte(s, '.') >= 0 {
		return "", false // strconv takes long to say so
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return strconv.FormatUint(n, 10), true
	}
	// Upstream looks for a sign after the prefix too, but for binary numbers only.
	if rest, ok := strings.CutPrefix(s, "0b"); ok {
		if n, err := strconv.ParseInt(rest, 2, 64); err == nil {
			return strconv.FormatInt(n, 10), true
		}
	}
	return "", false
}

// parseDecimal reads a decimal number of any size and returns it as JSON, with all its digits. Leading zeros are
// dropped, because JSON does not allow them: 08 and 010.5 are decimal for upstream.
func parseDecimal(s string) (string, bool) {
	rest := strings.TrimLeft(s, "+-")
	if len(s)-len(rest) > 1 {
		return "", false
	}
	whole, rest := cutDigits(rest)
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		fraction, rest = cutDigits(rest[1:])
	}
	if whole == "" && fraction == "" {
		return "", false
	}
	if !exponent(rest) {
		return "", false
	}
	whole = cmp.Or(strings.TrimLeft(whole, "0"), "0")
	if strings.HasPrefix(s, "-") {
		whole = "-" + whole
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return whole + fraction + rest, true
}

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && digit(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// exponent reports whether s is an exponent or empty.
func exponent(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	digits, rest := cutDigits(s)
	return digits != "" && rest == ""
}

// appendKind appends the JSON value of the scalar s, which has kind k and is not infinite.
func appendKind(dst []byte, k kind, s []byte, number string) []byte {
	switch k {
	case kindNull:
		return append(dst, "null"...)
	case kindTrue:
		return append(dst, "true"...)
	case kindFalse:
		return append(dst, "false"...)
	case kindInteger, kindFloat:
		return append(dst, number...)
	}
	return appendString(dst, s)
}

// keyText returns the key for the scalar s, which has kind k: true for y, 3 for 0x3, 1.5 for 1.50. Upstream has no keys
// for null and for integers beyond 63 bits.
func keyText(k kind, s, number string) (string, bool) {
	switch k {
	case kindNull:
		return "", false
	case kindTrue:
		return "true", true
	case kindFalse:
		return "false", true
	case kindInteger:
		_, err := strconv.ParseInt(number, 10, 64)
		return number, err == nil
	case kindFloat:
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return s, true // beyond 64 bits it is text upstream
		}
		return floatKey(f), true
	case kindInfinite:
		f, _ := strconv.ParseFloat(strings.Replace(s, ".", "", 1), 64)
		return floatKey(f), true
	}
	return s, true
}

// floatKey prints f with as many digits as a 32-bit number has, as upstream does.
func floatKey(f float64) string {
	switch s := strconv.FormatFloat(f, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}
