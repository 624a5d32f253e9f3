package validate

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/schemas"
)

// A said tells which places of an object rules of Go have spoken of, so that the schemas do not say it again.
type said struct {
	at     map[jsontext.Pointer]bool
	within map[jsontext.Pointer]bool // also what is around the places
}

func (s *scope) said() said {
	was := said{map[jsontext.Pointer]bool{}, map[jsontext.Pointer]bool{}}
	for _, f := range s.found {
		was.at[f.ptr] = true
		for ptr := f.ptr; !was.within[ptr]; ptr = ptr.Parent() {
			was.within[ptr] = true
		}
	}
	return was
}

// already tells whether f is nothing new: something was said of the very value, of what a missing key should hold, or
// of what keeps a constraint from being one.
func (was said) already(f schemas.Finding) bool {
	switch {
	case f.Missing != "":
		return was.within[f.Pointer.AppendToken(f.Missing)]
	case f.Definition == "#PropertyConstraint":
		return was.within[f.Pointer]
	}
	return was.at[f.Pointer]
}
