package schemas

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"github.com/go-json-experiment/json/jsontext"
)

// wrongKind returns the finding for a value that does not have the wanted kind.
func wrongKind(at jsontext.Pointer, want cue.Kind, value any) Finding {
	f := Finding{Pointer: at, Kind: WrongType, Message: "want " + kindWords(want) + ", found " + describe(value)}
	if value == nil {
		f.Kind = Null
	}
	if value == nil && want == cue.TopKind&^cue.NullKind {
		f.Message = "must not be null"
	}
	return f
}

func isKind(value any, kind cue.Kind) bool {
	switch value.(type) {
	case nil:
		return kind&cue.NullKind != 0
	case bool:
		return kind&cue.BoolKind != 0
	case string:
		return kind&cue.StringKind != 0
	case []any:
		return kind&cue.ListKind != 0
	case map[string]any:
		return kind&cue.StructKind != 0
	}
	if strings.ContainsAny(fmt.Sprint(value), ".eE") {
		return kind&cue.FloatKind != 0
	}
	return kind&cue.IntKind != 0
}

// kindWords describes CUE kinds in JSON terms, such as "object or list".
func kindWords(kind cue.Kind) string {
	words := strings.Split(strings.Trim(kind.String(), "()"), "|")
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

// longestText is the maximum length of a string in a message, in characters.
const longestText = 40

func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	case string:
		if utf8.RuneCountInString(v) > longestText {
			return strconv.Quote(string([]rune(v)[:longestText])) + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(value)
}
