package schemas

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"github.com/go-json-experiment/json/jsontext"
)

// translate puts the errors of CUE into words for people. What it has no words for stays as CUE says it.
func translate(def cue.Value, tree any, err error) []Finding {
	t := translator{def: def, tree: tree, choices: map[jsontext.Pointer]*choice{}}
	for _, e := range errors.Errors(err) {
		t.add(e)
	}
	return t.finish()
}

type translator struct {
	def     cue.Value
	tree    any
	found   []Finding
	choices map[jsontext.Pointer]*choice
	forms   []jsontext.Pointer // values that have not one of the forms of a matchN
}

// A choice is a value that is none of the alternatives. CUE has an error for all of them and one for each.
type choice struct {
	index int // of the finding
	want  []string
}

// The formats of CUE's messages; what else there is, is not translated.
const (
	formatField       = "field is required but not present"
	formatRequired    = "required field missing: %s"
	formatIncomplete  = "incomplete value %v"
	formatNotAllowed  = "field not allowed"
	formatBound       = "invalid value %v (out of bound %s)"
	formatUnsatisfied = "invalid value %s (does not satisfy %s)"
	formatKinds       = "conflicting values %s and %s (mismatched types %s and %s)"
	formatConflict    = "conflicting values %s and %s"
	formatChoice      = "%d errors in empty disjunction:"
	formatRegular     = "cannot combine regular field %q with %v"
	formatCustom      = "%s" // the text of error() in a definition
)

func (t *translator) add(e errors.Error) {
	path, ok := t.path(e)
	if !ok {
		t.say(nil, plain(e))
		return
	}
	format, args := e.Msg()
	value, present := lookup(t.tree, path)
	switch {
	case format == formatRequired && len(args) == 1:
		t.miss(append(path, fmt.Sprint(args[0])))
	case len(path) > 0 && !present && (format == formatField || format == formatIncomplete):
		t.miss(path)
	case format == formatNotAllowed:
		t.say(t.unknown(path), unknownKey)
	case format == formatChoice:
		t.choose(path)
	case format == formatRegular:
		t.say(path, wrongKind("object", value))
	case format == formatCustom && len(args) == 1:
		t.say(path, fmt.Sprint(args[0]))
	case format == formatUnsatisfied && len(args) == 2 && args[1] == "matchN":
		t.forms = append(t.forms, pointer(path))
	case present && format == formatBound && len(args) == 2:
		t.say(path, outOfBound(value, fmt.Sprint(args[1])))
	case present && format == formatKinds && len(args) == 4:
		t.kinds(path, value, args)
	case present && format == formatConflict && len(args) == 2:
		t.conflict(path, value, fmt.Sprint(args[0]), fmt.Sprint(args[1]))
	default:
		t.say(path, plain(e))
	}
}

func (t *translator) say(path []string, message string) {
	t.found = append(t.found, Finding{Pointer: pointer(path), Message: message})
}

func (t *translator) miss(path []string) {
	last := len(path) - 1
	t.found = append(t.found, Finding{
		Pointer: pointer(path[:last]), Message: path[last] + ": required, but missing", Missing: path[last],
	})
}

func (t *translator) choose(path []string) {
	t.choices[pointer(path)] = &choice{index: len(t.found)}
	t.say(path, "fits none of the alternatives")
}

// kinds says that a value is of the wrong kind. Of the two kinds of the error, one is that of the value.
func (t *translator) kinds(path []string, value any, args []any) {
	literal, kind := fmt.Sprint(args[0]), fmt.Sprint(args[2])
	if isKind(value, kind) {
		literal, kind = fmt.Sprint(args[1]), fmt.Sprint(args[3])
	}
	if choice := t.choices[pointer(path)]; choice != nil {
		choice.want = append(choice.want, literal)
		return
	}
	if value == nil && strings.Contains(kind, "|") {
		t.say(path, "must not be null")
		return
	}
	t.say(path, wrongKind(kindWords(kind), value))
}

// conflict says that a value is not the one that the definition has.
func (t *translator) conflict(path []string, value any, one, other string) {
	want := one
	if want == literal(value) {
		want = other
	}
	if choice := t.choices[pointer(path)]; choice != nil {
		choice.want = append(choice.want, want)
		return
	}
	t.say(path, "want "+want+", found "+describe(value))
}

// unknown returns the way to the first key that the definition does not allow; CUE reports what is inside of it.
func (t *translator) unknown(path []string) []string {
	def := t.def
	for i, step := range path {
		if !def.Exists() {
			break
		}
		if element := def.LookupPath(cue.MakePath(cue.AnyIndex)); element.Exists() {
			def = element
			continue
		}
		if !def.Allows(cue.Str(step)) {
			return path[:i+1]
		}
		def = field(def, cue.Str(step))
	}
	return path
}

// field returns what a definition says of a key, be it regular, optional or required; the zero value if nothing.
func field(def cue.Value, selector cue.Selector) cue.Value {
	for _, s := range []cue.Selector{selector, selector.Optional(), selector.Required()} {
		if value := def.LookupPath(cue.MakePath(s)); value.Exists() {
			return value
		}
	}
	return cue.Value{}
}

// finish puts together what CUE said in several errors.
func (t *translator) finish() []Finding {
	for at, choice := range t.choices {
		if len(choice.want) == 0 {
			continue
		}
		value, _ := lookup(t.tree, tokens(at))
		t.found[choice.index].Message = "want " + orList(choice.want) + ", found " + describe(value)
	}
	for _, at := range t.forms {
		t.form(at)
	}
	return t.found
}

// form says that an object has none or several of the forms of a matchN. For each form that it does not have, CUE
// reports the keys that would make it one: they are what there is to choose from. If something inside is wrong, that is
// the reason.
func (t *translator) form(at jsontext.Pointer) {
	var keys []string
	t.found = slices.DeleteFunc(t.found, func(f Finding) bool {
		own := f.Missing != "" && f.Pointer == at
		if own {
			keys = append(keys, f.Missing)
		}
		return own
	})
	inside := slices.ContainsFunc(t.found, func(f Finding) bool { return at.Contains(f.Pointer) })
	switch {
	case inside:
	case len(keys) > 0:
		slices.Sort(keys)
		t.say(tokens(at), "want one of the keys "+orList(slices.Compact(keys)))
	default:
		t.say(tokens(at), "fits several of the forms of the definition, want one")
	}
}

// path returns the way to the value of an error, without the name of the definition.
func (t *translator) path(e errors.Error) (path []string, ok bool) {
	path = e.Path()
	for _, selector := range t.def.Path().Selectors() {
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

// plain returns what CUE says.
func plain(e errors.Error) string {
	format, args := e.Msg()
	return fmt.Sprintf(format, args...)
}
