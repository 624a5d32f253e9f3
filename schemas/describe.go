package schemas

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const unknownKey = "unknown key"

// outOfBound says which bound of CUE, such as !="" or >3, a value breaks.
func outOfBound(value any, bound string) string {
	switch {
	case bound == `!=""`:
		return "must not be empty"
	case strings.HasPrefix(bound, "=~"):
		return "must match " + bound[len("=~"):] + ", found " + describe(value)
	case strings.HasPrefix(bound, "!~"):
		return "must not match " + bound[len("!~"):] + ", found " + describe(value)
	case strings.HasPrefix(bound, "!="):
		return "must not be " + bound[len("!="):]
	}
	return "must be " + bound + ", found " + describe(value)
}

func wrongKind(want string, value any) string {
	return "wrong type: want " + want + ", found " + describe(value)
}

// isKind reports whether a value is of a kind that CUE names.
func isKind(value any, kind string) bool {
	switch value.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "bool"
	case string:
		return kind == "string"
	case []any:
		return kind == "list"
	case map[string]any:
		return kind == "struct"
	}
	if strings.ContainsAny(literal(value), ".eE") {
		return kind == "float" || kind == "number"
	}
	return kind == "int" || kind == "number"
}

// kindWords turns a kind of CUE, such as (string|struct), into words.
func kindWords(kind string) string {
	words := strings.Split(strings.Trim(kind, "()"), "|")
	for i, word := range words {
		switch word {
		case "struct":
			words[i] = "object"
		case "int":
			words[i] = "integer"
		}
	}
	return orList(words)
}

func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// longestText is how much of a string a message shows, in characters.
const longestText = 40

// describe says in a few words what a value is.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	case bool:
		return fmt.Sprintf("bool (%t)", v)
	case string:
		return "string (" + shortened(v) + ")"
	}
	return fmt.Sprintf("number (%s)", literal(value))
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= longestText {
		return strconv.Quote(text)
	}
	return strconv.Quote(string([]rune(text)[:longestText])) + "…"
}

// literal writes a value that is not an object or a list as CUE does.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case jsontext.Value:
		return string(v)
	}
	return fmt.Sprint(value)
}
