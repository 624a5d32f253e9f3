package schemas

import (
	stderrors "errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
)

// rules has the compiled definitions of the format and of the user.
type rules struct {
	format cue.Value
	users  users
}

func newRules(extra *Extra) (*rules, error) {
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
		found[i].Definition, found[i].Rule = def.name, ruleNames().of(def.name, found[i].Pointer)
	}
	return found
}

// user returns the findings of the user definition with index i for a value. After an error, the rules must not be
// used.
func (r *rules) user(i int, raw jsontext.Value) (found []Finding, err error) {
	def, value := r.users.definitions[i], raw.Clone()
	found, r.users.left, err = guarded(r.users.guard, def.file+": "+def.name, r.users.left, func() []Finding {
		return findings(def.value, decode(value, whole))
	})
	for i := range found {
		found[i].Definition, found[i].Extra = def.name, true
	}
	return found, err
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
		found = append(found, r.constraint(place.Item(at, i), term)...)
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

	// Secret is set if errors must not have text of the file: a file that is named in an untrusted change may be a link to
	// any file of the host.
	Secret bool
}

// An Extra has the user's definitions for several checkers. Together they stop at the limits of time and memory.
type Extra struct {
	files []File
	guard *guard
}

// NewExtra returns the definitions of files, which [Extra.NewChecker] reads.
func NewExtra(files ...File) *Extra { return &Extra{files, newGuard()} }

// NewChecker returns a checker for the format and for the user's definitions; see [NewChecker].
func (x *Extra) NewChecker() (*Checker, error) {
	rules, err := newRules(x)
	if err != nil {
		return nil, err
	}
	return &Checker{rules: rules}, nil
}

// Err returns an error that wraps [ErrLimit] if the evaluation of definitions exceeded a limit. Findings are then
// incomplete. As CUE cannot be stopped, the evaluation goes on and takes more memory until the process ends.
func (x *Extra) Err() error { return x.guard.Err() }

// users has the user's definitions, grouped by the schema or property type that they apply to. The numbers are indexes
// into definitions.
type users struct {
	definitions []userDefinition
	bySchema    map[string][]int
	byType      map[string][]int

	guard *guard
	left  time.Duration // the rest of the time for evaluations
}

type userDefinition struct {
	file, name string
	value      cue.Value

	of         string // the schema of objects or the type of properties that it applies to
	isProperty bool   // whether that is the type of properties
}

func compileUsers(context *cue.Context, format cue.Value, extra *Extra) (users, error) {
	u := users{bySchema: map[string][]int{}, byType: map[string][]int{}, guard: extra.guard, left: userTime}
	var errs []error
	for _, file := range extra.files {
		type compiled struct {
			definitions []userDefinition
			err         error
		}
		var c compiled
		var err error
		c, u.left, err = guarded(u.guard, file.Name, u.left, func() (c compiled) {
			value := context.CompileBytes(file.Data, cue.Filename(file.Name), cue.Scope(format))
			if err := value.Validate(); err != nil {
				c.err = compileError(file, err)
			} else {
				c.definitions = definitionsIn(file.Name, value)
			}
			return c
		})
		switch {
		case err != nil:
			return u, err
		case c.err != nil:
			errs = append(errs, c.err)
		case len(c.definitions) == 0:
			errs = append(errs, fmt.Errorf(
				"%s:1:1: no definition says what it is for: want a field schema or type that is a concrete string", file.Name))
		}
		u.add(c.definitions)
	}
	return u, stderrors.Join(errs...)
}

// definitionsIn returns the definitions of a file that apply to objects or properties.
func definitionsIn(name string, file cue.Value) (definitions []userDefinition) {
	fields, err := file.Fields(cue.Definitions(true))
	if err != nil {
		return nil
	}
	for fields.Next() {
		if !fields.Selector().IsDefinition() {
			continue
		}
		d := userDefinition{file: name, name: fields.Selector().String(), value: fields.Value()}
		var ok bool
		if d.of, ok = constant(d.value, "schema"); !ok {
			d.of, ok = constant(d.value, "type")
			d.isProperty = true
		}
		if ok {
			definitions = append(definitions, d)
		}
	}
	return definitions
}

// add adds definitions.
func (u *users) add(definitions []userDefinition) {
	for _, d := range definitions {
		index := len(u.definitions)
		if d.isProperty {
			u.byType[d.of] = append(u.byType[d.of], index)
		} else {
			u.bySchema[d.of] = append(u.bySchema[d.of], index)
		}
		u.definitions = append(u.definitions, d)
	}
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
func compileError(file File, err error) error {
	var errs []error
	name := file.Name
	for _, e := range errors.Errors(errors.Sanitize(errors.Promote(err, ""))) {
		text := strings.TrimSpace(e.Error())
		if file.Secret {
			text = "not valid CUE; name the file with --schema to see why"
		}
		positions := errors.Positions(e)
		if i := slices.IndexFunc(positions, func(p token.Pos) bool { return p.Filename() == name }); i >= 0 {
			errs = append(errs, fmt.Errorf("%s:%d:%d: %s", name, positions[i].Line(), positions[i].Column(), text))
		} else {
			errs = append(errs, fmt.Errorf("%s: %s", name, text))
		}
	}
	return stderrors.Join(errs...)
}
