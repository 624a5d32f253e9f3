package store

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func checkStruct(t *testing.T, object string) {
	t.Helper()
	want := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(object), want); err != nil {
		return // such as nesting that is too deep, or a number out of range
	}
	data, err := structOf(jsontext.Value(object))
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	got := &structpb.Struct{}
	if err := proto.Unmarshal(data, got); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", object, got, want)
	}
}

func TestStructOf(t *testing.T) {
	for _, object := range []string{
		`{}`,
		`{"":""}`,
		`{"a":1,"b":-0.5,"c":1e308,"d":"é\u2028\n","e":true,"f":false,"g":null,"h":[],"i":{}}`,
		`{"a":[[],[[1,[2]],{"b":{"c":[{"d":null}]}}]]}`,
		`{ "a" : [ 1 , 2 ] , "b" : { } }`,
	} {
		checkStruct(t, object)
	}
}

func FuzzStructOf(f *testing.F) {
	f.Add(`{"a":[1,{"b":null,"":true}],"c":"\u00e9"}`)
	f.Add(`{"a":{"a":{"a":[[[false]]]}},"b":12345678901234567890}`)
	f.Fuzz(func(t *testing.T, object string) {
		if v := jsontext.Value(object); v.IsValid() && v.Kind() == '{' {
			checkStruct(t, object)
		}
	})
}
