package schemas

import (
	"strconv"

	"cuelang.org/go/cue"
	"github.com/go-json-experiment/json/jsontext"
)

// explainConstraint explains what CUE does not: it blames only the outermost constraint for whatever is wrong inside,
// and does not speak of unknown keys where a key is missing too. What is explained is taken out of the tree.
func (r *rules) explainConstraint(at jsontext.Pointer, tree any) []Finding {
	value, _ := lookup(tree, tokens(at))
	var found []Finding
	for _, key := range []string{"all", "any", "not"} {
		terms, _ := lookup(value, []string{key})
		found = append(found, r.explainTerms(at.AppendToken(key), terms)...)
	}
	return append(found, unknownKeys(r.definition("#ConstraintKinds"), value, at)...)
}

// explainTerms explains the constraints that a constraint is made of.
func (r *rules) explainTerms(at jsontext.Pointer, terms any) []Finding {
	object, _ := terms.(map[string]any)
	list, ok := object["constraints"].([]any)
	if !ok {
		return nil
	}
	var found []Finding
	for i, term := range list {
		for _, f := range r.explain(constraint, term) {
			f.Pointer = at.AppendToken("constraints").AppendToken(strconv.Itoa(i)) + f.Pointer
			found = append(found, f)
		}
	}
	object["constraints"] = []any{}
	return found
}

// unknownKeys reports the keys of an object, and of the objects in it, that a definition does not allow.
func unknownKeys(def cue.Value, tree any, at jsontext.Pointer) []Finding {
	object, ok := tree.(map[string]any)
	if !ok || def.IncompleteKind()&cue.StructKind == 0 {
		return nil
	}
	var found []Finding
	for key, value := range object {
		next := at.AppendToken(key)
		if !fieldNames()[key] || !def.Allows(cue.Str(key)) {
			found = append(found, Finding{Pointer: next, Message: unknownKey})
			delete(object, key)
			continue
		}
		if inner := field(def, cue.Str(key)); inner.Exists() {
			found = append(found, unknownKeys(inner, value, next)...)
		}
	}
	return found
}
