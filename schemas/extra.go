package schemas

import (
	stderrors "errors"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

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
