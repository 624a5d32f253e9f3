package schemas

import (
	"strconv"

	"cuelang.org/go/cue"
	"github.com/go-json-experiment/json/jsontext"
)

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
