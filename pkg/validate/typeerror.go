package validate

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// maxTypeErrors limits the reported values of a wrong type in one object: each means decoding it again.
const maxTypeErrors = 20

// wrongTypes reports the values of o that keep it from being decoded.
func (v *validator) wrongTypes(o *declcfg.Object) []*problem.Problem {
	var problems []*problem.Problem
	for ptr, err := range typeErrors(o.JSON(), decode) {
		problems = append(problems, v.located("type", o.Meta, &declcfg.Error{Pos: o.Place(ptr), Pointer: ptr, Err: err})...)
	}
	return problems
}

// decode decodes an object, and returns what is wrong with it.
func decode(raw jsontext.Value) (jsontext.Pointer, error) {
	o, err := declcfg.NewObject(declcfg.Pos{}, raw)
	if err == nil {
		_, err = o.Decode()
	}
	if e, ok := errors.AsType[*declcfg.Error](err); ok {
		return e.Pointer, e.Err
	}
	return "", err
}

// typeErrors yields what decode says of raw, and then of raw with that value replaced by null, which matches any
// type, until it says nothing: decoding stops at the first value of a wrong type, and there may be more.
func typeErrors(
	raw jsontext.Value, decode func(jsontext.Value) (jsontext.Pointer, error),
) iter.Seq2[jsontext.Pointer, error] {
	return func(yield func(jsontext.Pointer, error) bool) {
		for range maxTypeErrors {
			ptr, err := decode(raw)
			if err == nil || !yield(ptr, err) || ptr == "" {
				return
			}
			var ok bool
			if raw, ok = nulled(raw, ptr); !ok {
				return
			}
		}
	}
}

// nulled returns raw with null in place of the value at ptr. It returns false if there is none.
func nulled(raw jsontext.Value, ptr jsontext.Pointer) (jsontext.Value, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	for token := range ptr.Tokens() {
		if !enter(d, token) {
			return nil, false
		}
	}
	value, err := d.ReadValue()
	if err != nil {
		return nil, false
	}
	end := int(d.InputOffset())
	return slices.Concat(raw[:end-len(value)], []byte("null"), raw[end:]), true
}

// enter reads up to the value of the member or element that token names.
func enter(d *jsontext.Decoder, token string) bool {
	begin, err := d.ReadToken()
	if err != nil {
		return false
	}
	skip := func() bool { return d.SkipValue() == nil }
	switch begin.Kind() {
	case jsontext.KindBeginObject:
		for d.PeekKind() == jsontext.KindString {
			if name, err := d.ReadToken(); err != nil || name.String() == token {
				return err == nil
			}
			if !skip() {
				return false
			}
		}
	case jsontext.KindBeginArray:
		n, err := strconv.Atoi(token)
		for ; err == nil && n > 0 && skip(); n-- {
		}
		return err == nil && n == 0 && d.PeekKind() != jsontext.KindEndArray
	}
	return false
}
