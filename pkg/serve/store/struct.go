package store

import (
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/internal/format"
)

// finiteNumbers decodes numbers beyond 64 bits as the largest finite number, since google.protobuf.Value has no
// infinity.
var finiteNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != jsontext.KindNumber {
		return errors.ErrUnsupported
	}
	number, err := d.ReadToken()
	if err != nil {
		return err
	}
	n, _ := strconv.ParseFloat(number.String(), 64) // fails only for numbers out of range
	*v = max(-math.MaxFloat64, min(math.MaxFloat64, n))
	return nil
}))

// structOf returns a JSON object as an encoded google.protobuf.Struct with sorted keys. The last of several equal keys
// wins.
func structOf(object jsontext.Value) ([]byte, error) {
	var fields map[string]any
	object = format.AppendCompact(nil, object)
	if err := json.Unmarshal(object, &fields, finiteNumbers, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	s, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(s)
}
