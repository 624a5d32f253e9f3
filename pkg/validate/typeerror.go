package validate

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// maxTypeErrors is the maximum number of type errors reported per object: each one requires decoding the object again.
const maxTypeErrors = 20

// decode decodes an object, and returns the first error and the pointer to its value.
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

// typeErrors yields every value in raw that cannot be decoded, up to maxTypeErrors. Decoding stops at the first such
// value, so the value is replaced by null, which matches any type, and raw is decoded again until there is no error.
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

// nulled returns raw with the value at ptr replaced by null. It returns false if raw has no such value.
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

// enter advances d to the value of the object member or array element that token names. It returns false if there is
// none.
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
