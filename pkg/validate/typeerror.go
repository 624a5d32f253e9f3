package validate

import (
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
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
	c := skim.New(raw)
	for token := range ptr.Tokens() {
		if !enter(&c, token) {
			return nil, false
		}
	}
	start := c.Offset()
	c.Skip()
	return slices.Concat(raw[:start], []byte("null"), raw[c.Offset():]), true
}

// enter advances c to the value of the object member or array element that token names. It returns false if there is
// none.
func enter(c *skim.Cursor, token string) bool {
	kind := c.Kind()
	if kind != '{' && kind != '[' {
		return false
	}
	i := 0
	for c.Enter(); c.More(); i++ {
		name := strconv.Itoa(i)
		if kind == '{' {
			name = string(skim.Unquote(c.Value()))
			c.Kind()
		}
		if name == token {
			return true
		}
		c.Skip()
	}
	return false
}
