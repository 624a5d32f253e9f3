package schemas

import (
	stderrors "errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	"github.com/go-json-experiment/json/jsontext"
)

// rules has the compiled definitions of the format and of the user.
type rules struct {
	format cue.Value
	users  users
}

func newRules(extra []File) (*rules, error) {
	context := cuecontext.New()
	format := context.CompileString(All(), cue.Filename("catalog.cue"))
	if err := format.Err(); err != nil {
		return nil, err
	}
	users, err := compileUsers(context, format, extra)
	return &rules{format, users}, err
}

// accepts reports whether a definition of the format accepts a value. Constraints are checked one by one, because CUE
// tries each kind at each level, which takes exponential time for nested constraints.
func (r *rules) accepts(def *definition, value jsontext.Value) bool {
	tree := decode(value, whole)
	if def.constraint {
		return len(r.explain(def, tree)) == 0
	}
	return unify(r.definition(def.name), tree) == nil
}

func (r *rules) definition(name string) cue.Value { return r.format.LookupPath(cue.ParsePath(name)) }

// explain returns the findings of a definition of the format for a value. It modifies the tree.
func (r *rules) explain(def *definition, tree any) []Finding {
	name := def.name
	var found []Finding
	if def.constraint {
		name = property.name
		if object, _ := tree.(map[string]any); object["value"] != nil {
			found = r.constraint("/value", object["value"])
		}
	}
	found = append(found, findings(r.definition(name), tree)...)
	for i := range found {
		found[i].Definition = def.name
	}
	return found
}

// user returns the findings of the user definition with index i for a value.
func (r *rules) user(i int, raw jsontext.Value) []Finding {
	def := r.users.definitions[i]
	found := findings(def.value, decode(raw, whole))
	for i := range found {
		found[i].Definition, found[i].Extra = def.name, true
	}
	return found
}

func unify(def cue.Value, tree any) error {
	return fill(def, tree).Validate(cue.Concrete(true))
}

func fill(def cue.Value, tree any) cue.Value {
	context := def.Context() //nolint:staticcheck // a context costs more than a check, and all definitions share one
	return def.Unify(context.Encode(tree, cue.NilIsAny(false)))
}

// findings returns all findings of a definition for a tree. It modifies the tree. While there are wrong values, CUE
// does not report missing keys, and not always unknown keys, so wrong values are removed until CUE reports no others.
// After the first round, only missing and unknown keys count, because a removal may cause other findings.
func findings(def cue.Value, tree any) []Finding {
	if _, ok := tree.(map[string]any); !ok {
		return []Finding{wrongKind("", cue.StructKind, tree)}
	}
	var found []Finding
	gone := map[jsontext.Pointer]bool{}
	for round := 0; ; round++ {
		now := translate(def, tree, unify(def, tree))
		for _, f := range now {
			if round == 0 || f.Kind == Missing && !gone[f.Pointer] || f.Kind == Unknown {
				found = append(found, f)
			}
		}
		removed := false
		for _, f := range now {
			if f.Kind == Missing {
				continue
			}
			if path, ok := remove(tree, slices.Collect(f.Pointer.Tokens())); ok {
				gone[pointer(path)], removed = true, true
			}
		}
		if !removed {
			return found
		}
	}
}

// constraintKeys lists the kinds of constraints. A constraint has exactly one; #ConstraintKinds defines their values.
var constraintKeys = []string{"all", "any", "cel", "gvk", "not", "package"}

// constraint returns the findings of one constraint. Nested constraints are explained one by one, because CUE would
// attribute their errors to the outermost constraint, and would try each kind at each level.
func (r *rules) constraint(at jsontext.Pointer, tree any) []Finding {
	object, ok := tree.(map[string]any)
	if !ok {
		return []Finding{wrongKind(at, cue.StructKind, tree)}
	}
	var found []Finding
	kinds := 0
	for _, key := range constraintKeys {
		if terms, ok := object[key]; ok {
			kinds++
			found = append(found, r.terms(at.AppendToken(key).AppendToken("constraints"), terms)...)
		}
	}
	found = append(found, unknownKeys(r.definition("#ConstraintKinds"), tree, at)...)
	for _, f := range findings(r.definition("#ConstraintKinds"), tree) {
		f.Pointer = at + f.Pointer
		found = append(found, f)
	}
	keys := orList(constraintKeys)
	switch {
	case len(found) > 0: // a wrong key may be a typo of one of them
	case kinds == 0:
		found = append(found, Finding{Pointer: at, Message: "want one of the keys " + keys})
	case kinds > 1:
		found = append(found, Finding{Pointer: at, Kind: Excess, Message: "want only one of the keys " + keys})
	}
	return found
}

// terms returns the findings of the constraints nested in a constraint, and removes them from it.
func (r *rules) terms(at jsontext.Pointer, terms any) []Finding {
	object, _ := terms.(map[string]any)
	list, ok := object["constraints"].([]any)
	if !ok {
		return nil
	}
	var found []Finding
	for i, term := range list {
		found = append(found, r.constraint(at.AppendToken(strconv.Itoa(i)), term)...)
	}
	object["constraints"] = []any{}
	return found
}

// unknownKeys reports and removes the keys of an object, and of the objects in it, that a definition does not allow.
// CUE must not see them, because it keeps every key name in memory.
func unknownKeys(def cue.Value, tree any, at jsontext.Pointer) []Finding {
	object, ok := tree.(map[string]any)
	if !ok || def.IncompleteKind()&cue.StructKind == 0 {
		return nil
	}
	var found []Finding
	for key, value := range object {
		next := at.AppendToken(key)
		if !fieldNames()[key] || !def.Allows(cue.Str(key)) {
			found = append(found, Finding{Pointer: next, Kind: Unknown, Message: "unknown key"})
			delete(object, key)
		} else if inner := field(def, key); inner.Exists() {
			found = append(found, unknownKeys(inner, value, next)...)
		}
	}
	return found
}

// A File is a CUE file with the user's definitions.
type File struct {
	Name string // name in messages
	Data []byte
}

// users has the user's definitions, grouped by the schema or property type that they apply to. The numbers are indexes
// into definitions.
type users struct {
	definitions []userDefinition
	bySchema    map[string][]int
	byType      map[string][]int
}

type userDefinition struct {
	name  string
	value cue.Value
}

func compileUsers(context *cue.Context, format cue.Value, files []File) (users, error) {
	u := users{bySchema: map[string][]int{}, byType: map[string][]int{}}
	var errs []error
	for _, file := range files {
		value := context.CompileBytes(file.Data, cue.Filename(file.Name), cue.Scope(format))
		if err := value.Validate(); err != nil {
			errs = append(errs, compileError(file.Name, err))
			continue
		}
		if u.add(value) == 0 {
			errs = append(errs, fmt.Errorf(
				"%s:1:1: no definition says what it is for: want a field schema or type that is a concrete string", file.Name))
		}
	}
	return u, stderrors.Join(errs...)
}

// add adds the definitions of a file, and returns their number.
func (u *users) add(file cue.Value) (count int) {
	fields, err := file.Fields(cue.Definitions(true))
	if err != nil {
		return 0
	}
	for fields.Next() {
		if !fields.Selector().IsDefinition() {
			continue
		}
		index := len(u.definitions)
		if schema, ok := constant(fields.Value(), "schema"); ok {
			u.bySchema[schema] = append(u.bySchema[schema], index)
		} else if typ, ok := constant(fields.Value(), "type"); ok {
			u.byType[typ] = append(u.byType[typ], index)
		} else {
			continue
		}
		u.definitions = append(u.definitions, userDefinition{fields.Selector().String(), fields.Value()})
		count++
	}
	return count
}

// constant returns the only string that a definition allows for a field, which may be a required or a regular field.
func constant(def cue.Value, field string) (text string, ok bool) {
	for _, selector := range []cue.Selector{cue.Str(field), cue.Str(field).Required()} {
		value := def.LookupPath(cue.MakePath(selector))
		if _, isDefault := value.Default(); isDefault && !value.IsConcrete() {
			continue
		}
		if text, err := value.String(); err == nil {
			return text, true
		}
	}
	return "", false
}

// compileError returns CUE errors with their positions in front.
func compileError(name string, err error) error {
	var errs []error
	for _, e := range errors.Errors(errors.Sanitize(errors.Promote(err, ""))) {
		text := strings.TrimSpace(e.Error())
		positions := errors.Positions(e)
		if i := slices.IndexFunc(positions, func(p token.Pos) bool { return p.Filename() == name }); i >= 0 {
			errs = append(errs, fmt.Errorf("%s:%d:%d: %s", name, positions[i].Line(), positions[i].Column(), text))
		} else {
			errs = append(errs, fmt.Errorf("%s: %s", name, text))
		}
	}
	return stderrors.Join(errs...)
}
