package schemas

import (
	"cmp"
	stderrors "errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"github.com/go-json-experiment/json/jsontext"
)

// translate converts CUE errors about a tree to findings. It uses only their paths, and derives the findings from the
// values and their definitions, so that messages do not depend on the wording of CUE.
func translate(def cue.Value, tree any, err error) []Finding {
	var found []Finding
	seen := map[jsontext.Pointer]int{}
	for _, e := range errors.Errors(err) {
		f := Finding{Message: message(e)}
		if path, ok := pathIn(def, e); ok {
			f = classify(def, tree, path, e)
		}
		i, ok := seen[f.Pointer]
		switch {
		case !ok:
			seen[f.Pointer] = len(found)
			found = append(found, f)
		case isDefinitionError(e):
			found[i] = f
		}
	}
	return found
}

// classify returns the finding for the value at the path of an error.
func classify(def cue.Value, tree any, path []string, e errors.Error) Finding {
	_, args := e.Msg()
	value, present := lookup(tree, path)
	if object, ok := value.(map[string]any); ok && len(args) == 1 { // the error may be about a key of the object
		key := fmt.Sprint(args[0])
		if _, has := object[key]; !has && field(definitionAt(def, path), key).Exists() {
			path, present = append(path, key), false
		}
	}
	if !present {
		return Finding{Pointer: pointer(path), Kind: Missing, Message: "is required"}
	}
	def = resolved(def, tree, path)
	if n, unknown := unknownStep(def, path); unknown {
		return Finding{Pointer: pointer(path[:n]), Kind: Unknown, Message: "unknown key"}
	}
	f := Finding{Pointer: pointer(path), Empty: value == ""}
	want := definitionAt(def, path)
	switch {
	case isDefinitionError(want.Err()): // no value is allowed
		f.Kind, f.Message = Excess, message(errors.Promote(want.Err(), ""))
	case isDefinitionError(e):
		f.Message = message(e)
	case !want.Exists():
		f.Message = message(e)
	case !isKind(value, kindOf(want)):
		return wrongKind(f.Pointer, kindOf(want), value)
	case f.Empty:
		f.Message = "must not be empty"
	default:
		f.Message = fmt.Sprintf("want %v, found %s", want, describe(value))
	}
	return f
}

// resolved returns the definition unified with the tree without the value at the path, so that conditions on other
// values are resolved.
func resolved(def cue.Value, tree any, path []string) cue.Value {
	if len(path) == 0 {
		return def
	}
	last := len(path) - 1
	parent, _ := lookup(tree, path[:last])
	object, ok := parent.(map[string]any)
	if !ok {
		return def
	}
	value := object[path[last]]
	delete(object, path[last])
	defer func() { object[path[last]] = value }()
	return fill(def, tree)
}

// kindOf returns the kinds of values that a definition allows. CUE returns none for a struct with conditions.
func kindOf(def cue.Value) cue.Kind {
	return cmp.Or(def.IncompleteKind(), cue.StructKind)
}

// definitionAt returns the part of a definition for the value at a path, or the zero Value if there is none.
func definitionAt(def cue.Value, path []string) cue.Value {
	for _, step := range path {
		def = field(def, step)
	}
	return def
}

// field returns the part of a definition for a key or a list element, or the zero Value if there is none.
func field(def cue.Value, step string) cue.Value {
	if !def.Exists() {
		return def
	}
	if def.IncompleteKind() == cue.ListKind {
		return def.LookupPath(cue.MakePath(cue.AnyIndex))
	}
	key := cue.Str(step)
	for _, s := range []cue.Selector{key, key.Optional(), key.Required()} {
		if value := def.LookupPath(cue.MakePath(s)); value.Exists() {
			return value
		}
	}
	return cue.Value{}
}

// unknownStep returns the length of the path to the first key that the definition does not allow. CUE reports the
// values inside such a key instead.
func unknownStep(def cue.Value, path []string) (n int, unknown bool) {
	for i, step := range path {
		if !def.Exists() {
			break
		}
		if kindOf(def) == cue.StructKind && !def.Allows(cue.Str(step)) {
			return i + 1, true
		}
		def = field(def, step)
	}
	return 0, false
}

// pathIn returns the path of the value in an error, without the name of the definition.
func pathIn(def cue.Value, e errors.Error) (path []string, ok bool) {
	path = e.Path()
	for _, selector := range def.Path().Selectors() {
		if len(path) == 0 || path[0] != selector.String() {
			return nil, false
		}
		path = path[1:]
	}
	path = slices.Clone(path)
	for i, step := range path {
		if text, err := strconv.Unquote(step); err == nil {
			path[i] = text
		}
	}
	return path, true
}

// isDefinitionError reports whether an error comes from error() in a definition, with a text by its author.
func isDefinitionError(err error) bool {
	e, ok := stderrors.AsType[errors.Error](err)
	if !ok {
		return false
	}
	format, args := e.Msg()
	return format == "%s" && len(args) == 1
}

// message returns the text of a CUE error, for errors that a definition computes.
func message(e errors.Error) string {
	format, args := e.Msg()
	return fmt.Sprintf(format, args...)
}

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
