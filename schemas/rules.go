package schemas

import (
	"cmp"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/go-json-experiment/json/jsontext"
)

// rules are the definitions, compiled. A context of CUE keeps some of what it has seen, the names of keys among it, so
// after a while the definitions are compiled anew in a fresh one; that takes less than a millisecond.
type rules struct {
	extra  []File
	format cue.Value
	users  users
	used   int
}

// contextLife is how many values one context is used for.
const contextLife = 4096

func newRules(extra []File) (*rules, error) {
	r := &rules{extra: slices.Clone(extra)}
	return r, r.compile()
}

func (r *rules) compile() error {
	context := cuecontext.New()
	r.used = 0
	r.format = context.CompileString(All(), cue.Filename("catalog.cue"))
	if err := r.format.Err(); err != nil {
		return err
	}
	users, err := compileUsers(context, r.format, r.extra)
	r.users = users
	return err
}

// use counts, and begins anew when the context has served long enough.
func (r *rules) use() {
	if r.used++; r.used <= contextLife {
		return
	}
	if err := r.compile(); err != nil {
		panic(err) // the same files compiled before
	}
}

// accepts reports whether a definition of the format has nothing against a value. CUE tries each kind of constraint at
// each level, so nested constraints would take it exponential time; taken apart they do not.
func (r *rules) accepts(def *definition, value jsontext.Value) bool {
	tree := decode(value, everything, nil)
	if def.constraint {
		return len(r.explain(def, tree)) == 0
	}
	r.use()
	return unify(r.definition(def.name), tree) == nil
}

// definition returns a definition of the format.
func (r *rules) definition(name string) cue.Value { return r.format.LookupPath(cue.ParsePath(name)) }

// explain says what is wrong with a value by a definition of the format.
func (r *rules) explain(def *definition, tree any) []Finding {
	r.use()
	var found []Finding
	if def.constraint {
		found = r.explainConstraint(def.constraintAt, tree)
	}
	found = append(found, findings(r.definition(def.name), tree)...)
	for i := range found {
		found[i].Definition = cmp.Or(found[i].Definition, def.name)
	}
	return found
}

// user says what is wrong with a value by one of the user's own definitions, the one of that index.
func (r *rules) user(i int, raw jsontext.Value) []Finding {
	r.use()
	def := r.users.definitions[i]
	found := findings(def.value, decode(raw, everything, nil))
	for i := range found {
		found[i].Definition, found[i].Extra = def.name, true
	}
	return found
}

func unify(def cue.Value, tree any) error {
	return def.Unify(def.Context().Encode(tree, cue.NilIsAny(false))).Validate(cue.Concrete(true))
}

// findings says all that is wrong with a tree, and takes it apart in doing so. CUE does not speak of missing keys while
// there are wrong values, so these are taken out until nothing else is said. Whatever else turns up then may be due to
// what was taken out.
func findings(def cue.Value, tree any) []Finding {
	if _, ok := tree.(map[string]any); !ok {
		return []Finding{{Message: wrongKind("object", tree)}}
	}
	var found []Finding
	gone := map[jsontext.Pointer]bool{}
	for round := 0; ; round++ {
		problems := translate(def, tree, unify(def, tree))
		for _, p := range problems {
			if round == 0 || p.missing != "" && !gone[p.missing] {
				found = append(found, p.Finding)
			}
		}
		if !takeOut(tree, problems, gone) {
			return found
		}
	}
}

// takeOut removes the values that are wrong, adds where they were to gone, and reports whether there were any.
func takeOut(tree any, problems []problem, gone map[jsontext.Pointer]bool) bool {
	var any bool
	for _, p := range problems {
		if p.missing != "" {
			continue
		}
		if path, ok := remove(tree, tokens(p.Pointer)); ok {
			gone[pointer(path)] = true
			any = true
		}
	}
	return any
}
