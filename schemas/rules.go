package schemas

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
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
