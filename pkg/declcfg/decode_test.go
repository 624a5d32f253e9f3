package declcfg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestDecode(t *testing.T) {
	value := func(s string) jsontext.Value { return jsontext.Value(s) }
	for _, tt := range []struct {
		name, in string
		want     any
	}{
		{"another schema", `{"schema":"s","name":"n"}`, nil},
		{
			"package",
			`{"schema":"olm.package","name":"n","defaultChannel":"c","description":"d",
			"icon":{"base64data":"PHN2Zz4=","mediatype":"image/svg+xml"},"properties":[{"type":"t","value":[1, 2]}]}`,
			&declcfg.Package{
				Schema: "olm.package", Name: "n", DefaultChannel: "c", Description: "d",
				Icon:       &declcfg.Icon{Data: []byte("<svg>"), MediaType: "image/svg+xml"},
				Properties: []declcfg.Property{{Type: "t", Value: value("[1, 2]")}},
			},
		},
		{
			"package of which everything is left out or null", `{"schema":"olm.package","name":"n","icon":null,"properties":null}`,
			&declcfg.Package{Schema: "olm.package", Name: "n"},
		},
		{
			"icon with line breaks", `{"schema":"olm.package","icon":{"base64data":"PHN2\nZz4\r\n=\n"}}`,
			&declcfg.Package{Schema: "olm.package", Icon: &declcfg.Icon{Data: []byte("<svg>")}},
		},
		{
			"icon in numbers", `{"schema":"olm.package","icon":{"base64data":[60,62]}}`,
			&declcfg.Package{Schema: "olm.package", Icon: &declcfg.Icon{Data: []byte("<>")}},
		},
		{
			"icons without data", `{"schema":"olm.package","icon":{"base64data":"","mediatype":null}}`,
			&declcfg.Package{Schema: "olm.package", Icon: &declcfg.Icon{Data: []byte{}}},
		},
		{
			"channel",
			`{"schema":"olm.channel","name":"n","package":"p","properties":[],
			"entries":[{"name":"b"},{"name":"c","replaces":"b","skips":["a"],"skipRange":"<1.0.0"},{"skips":[]},null]}`,
			&declcfg.Channel{
				Schema: "olm.channel", Name: "n", Package: "p", Properties: []declcfg.Property{},
				Entries: []declcfg.Entry{
					{Name: "b"}, {Name: "c", Replaces: "b", Skips: []string{"a"}, SkipRange: "<1.0.0"}, {Skips: []string{}}, {},
				},
			},
		},
		{
			"bundle",
			`{"schema":"olm.bundle","name":"n","package":"p","image":"i","relatedImages":[{"name":"","image":"i"},{}],
			"properties":[{"type":"a","value":{"b":1.50,"a":1e400}},{"value":null},{"type":"t"},null]}`,
			&declcfg.Bundle{
				Schema: "olm.bundle", Name: "n", Package: "p", Image: "i",
				RelatedImages: []declcfg.RelatedImage{{Image: "i"}, {}},
				Properties: []declcfg.Property{
					{Type: "a", Value: value(`{"b":1.50,"a":1e400}`)}, {Value: value("null")}, {Type: "t"}, {},
				},
			},
		},
		{
			"deprecations",
			`{"schema":"olm.deprecations","package":"p","entries":[{"reference":{"schema":"olm.package"},"message":"m"},
			{"reference":{"schema":"olm.bundle","name":"n"}},{"reference":null}]}`,
			&declcfg.Deprecations{
				Schema: "olm.deprecations", Package: "p",
				Entries: []declcfg.Deprecation{
					{Reference: declcfg.Reference{Schema: "olm.package"}, Message: "m"},
					{Reference: declcfg.Reference{Schema: "olm.bundle", Name: "n"}}, {},
				},
			},
		},
		{
			"keys in another case",
			`{"Schema":"olm.bundle","NAME":"n","IMAGE":"i","Properties":[{"Type":"a","VALUE":1}],"relatedIMAGES":[{"Image":"i"}]}`,
			&declcfg.Bundle{
				Schema: "olm.bundle", Name: "n", Image: "i", Properties: []declcfg.Property{{Type: "a", Value: value("1")}},
				RelatedImages: []declcfg.RelatedImage{{Image: "i"}},
			},
		},
		{
			"hyphens and underscores count", `{"schema":"olm.package","default_channel":"c","default-channel":"d"}`,
			&declcfg.Package{Schema: "olm.package", Unknown: value(`{"default_channel":"c","default-channel":"d"}`)},
		},
		{
			"of keys that differ in case the last in the order of bytes",
			`{"schema":"olm.bundle","relatedImages":[{"image":"z","Image":"a"}],"properties":[{"type":"t","TYPE":"u","value":1}]}`,
			&declcfg.Bundle{
				Schema: "olm.bundle", RelatedImages: []declcfg.RelatedImage{{Image: "z"}},
				Properties: []declcfg.Property{{Type: "t", Value: value("1")}},
			},
		},
		{
			"a null that changes nothing", `{"schema":"olm.bundle","relatedImages":[{"image":null,"Image":"a","name":null}]}`,
			&declcfg.Bundle{Schema: "olm.bundle", RelatedImages: []declcfg.RelatedImage{{Image: "a"}}},
		},
		{
			"of equal keys the last", `{"schema":"olm.bundle","image":"a","image":"b","relatedImages":[{"name":"a","name":"b"}]}`,
			&declcfg.Bundle{Schema: "olm.bundle", Image: "b", RelatedImages: []declcfg.RelatedImage{{Name: "b"}}},
		},
		{
			"unknown keys",
			`{"schema":"olm.channel","z":{"y":1,"x":2},"name":"n","a":[],"entries":[{"name":"e","more":null}]}`,
			&declcfg.Channel{
				Schema: "olm.channel", Name: "n", Unknown: value(`{"z":{"y":1,"x":2},"a":[]}`),
				Entries: []declcfg.Entry{{Name: "e", Unknown: value(`{"more":null}`)}},
			},
		},
		{
			"unknown keys in a bundle", `{"schema":"olm.bundle","x":1,"properties":[{"type":"t","value":1,"y":2}]}`,
			&declcfg.Bundle{
				Schema: "olm.bundle", Unknown: value(`{"x":1}`),
				Properties: []declcfg.Property{{Type: "t", Value: value("1"), Unknown: value(`{"y":2}`)}},
			},
		},
		{
			"escapes", `{"schema":"olm.bundle","\u006eame":"\u00e9\n","properties":[{"\u0074ype":"\"t\""}]}`,
			&declcfg.Bundle{Schema: "olm.bundle", Name: "é\n", Properties: []declcfg.Property{{Type: `"t"`}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made, err := declcfg.NewObject(declcfg.Pos{}, one(t, tt.in).JSON())
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []*declcfg.Object{one(t, tt.in), made, made} { // the second time it is decoded in another way
				got, err := o.Decode()
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
				}
			}
			// The reader of files uses another decoder.
			decode := func(o *declcfg.Object) (string, error) {
				v, err := o.Decode()
				return dump(v), err
			}
			for got, err := range declcfg.Map(t.Context(), decode, source("a.json", tt.in)) {
				if err != nil || got != dump(tt.want) {
					t.Errorf("while reading got %s, %v\nwant %s", got, err, dump(tt.want))
				}
			}
		})
	}
}

// dump formats v, following pointers.
func dump(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"schema":"olm.package","defaultChannel":1}`, "1:42: defaultChannel: want a string, found a number; put it in quotes"},
		{`{"schema":"olm.package","icon":"x"}`, "1:32: icon: want an object, found a string"},
		{`{"schema":"olm.package","icon":{"base64data":"<"}}`, "1:46: icon.base64data: not base64: illegal base64 data at input byte 0"},
		{`{"schema":"olm.channel","entries":{}}`, "1:35: entries: want a list, found an object"},
		{`{"schema":"olm.channel","entries":["x"]}`, "1:36: entries[0]: want an object, found a string"},
		{`{"schema":"olm.bundle","properties":[{"type":true}]}`, "1:46: properties[0].type: want a string, found true; put it in quotes"},
		{
			`{"schema":"olm.channel","entries":[{"name":"a"},{"name":"b","skips":["x",{}]}]}`,
			"1:74: entries[1].skips[1]: want a string, found an object",
		},
		{`{"schema":"olm.bundle","name":"n","image":[]}`, "1:43: image: want a string, found a list"},
		{`{"schema":"olm.bundle","x":1,"properties":[{},1]}`, "1:47: properties[1]: want an object, found a number"},
		{`{"schema":"olm.bundle","relatedImages":[{"Image":1}]}`, "1:50: relatedImages[0].Image: want a string, found a number; put it in quotes"},
		{`{"schema":"olm.deprecations","entries":[{"reference":[]}]}`, "1:54: entries[0].reference: want an object, found a list"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			decode := func(o *declcfg.Object) (any, error) { return o.Decode() }
			for v, err := range declcfg.Map(t.Context(), decode, source("a", tt.in)) {
				if err == nil || err.Error() != "c/a:"+tt.want || v != nil {
					t.Errorf("got %v, %v, want %s", v, err, tt.want)
				}
				e, ok := errors.AsType[*declcfg.Error](err)
				if _, message, _ := strings.Cut(tt.want, ": "); !ok || e.Message() != message {
					t.Errorf("message of %v is not %q", err, message)
				}
			}
		})
	}
}

// FuzzBundle checks that the fast decoder returns the same as the other decoder, or nothing.
func FuzzBundle(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"olm.bundle","name":"n","package":"p","image":"i"}`,
		`{"schema":"olm.bundle","image":null,"properties":[],"relatedImages":[]}`,
		`{"schema":"olm.bundle","properties":[null,{"type":"a","value":1}],"relatedImages":[null],"package":"p"}`,
		`{"schema":"olm.bundle","properties":[{"type":"a","value":{"x":[1, 2]}},{"value":null},{}],"properties2":1}`,
		`{"schema":"olm.bundle","properties":[[{"type":"a"}],true],"image":["x"]}`,
		`{"schema":"olm.bundle","properties":{"type":"a"},"Properties2":null}`,
		`{"SCHEMA":"olm.bundle","Name":"n","IMAGE":"i","Properties":[{"TYPE":"t"}],"relatedImageſ":[{"image":"i"}]}`,
		`{"schema":"olm.bundle","relatedImages":[{"image":"a","Image":"b","x":1}],"x":{"y":1}}`,
		`{"schema":"\u006flm.bundle","\u006eame":"\u00e9","properties":[{"\u0074ype":"\n","value":"\u2028"}]}`,
		`{"schema":"olm.bundle","properties":null,"relatedImages":null}`,
		`{"schema":"olm.bundle","properties":[{"type":"a","type2":"b","value":1}],"image":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if o, err := declcfg.NewObject(declcfg.Pos{}, raw); err != nil || o.Schema != declcfg.SchemaBundle {
			return
		}
		before := bytes.Clone(raw)
		got := declcfg.BundleOf(raw)
		want, err := declcfg.UnmarshalBundle(raw)
		if got != nil && (err != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%s\nis %+v\nwant %+v, %v", raw, got, want, err)
		}
		if !bytes.Equal(raw, before) {
			t.Errorf("decoding made %s of %s", raw, before)
		}
	})
}

func TestPath(t *testing.T) {
	for ptr, want := range map[jsontext.Pointer]string{
		"": "", "/entries/2/name": "entries[2].name", "/a~1b/c~0": "a/b.c~", "/0/1": "[0][1]", "/a//b": "a..b",
	} {
		if got := place.Path(ptr); got != want {
			t.Errorf("Path(%q) = %q, want %q", ptr, got, want)
		}
	}
}

func TestCheckManifests(t *testing.T) {
	for _, tt := range []struct{ properties, want string }{
		{`[]`, ""},
		{`[{"type":"other","value":{"data":1}}]`, ""},
		{`[{"type":"olm.bundle.object","value":{"data":"e30="}},{"type":"olm.bundle.object","value":{"ref":"x"}}]`, ""},
		{`[{"type":"olm.bundle.object","value":{"data":"YTogYg=="}}]`, ""}, // a: b
		{`[{"type":"a"},{"type":"olm.bundle.object","value":{"data":"e"}}]`,
			"1:106: properties[1].value.data: not base64: illegal base64 data at input byte 0"},
		{`[{"type":"olm.bundle.object","value":{"data":"ew=="}}]`, ""}, // {, which upstream accepts
		{`[{"type":"olm.bundle.object","value":{"data":"CQ=="}}]`,
			"1:93: properties[0].value.data: neither a JSON nor a YAML manifest: "}, // a tab
		{`[{"type":"olm.bundle.object","value":[]}]`, "1:85: properties[0].value: want an object, found a list"},
		{`[{"type":"olm.bundle.object"}]`, "1:49: properties[0].value: no value"},
	} {
		o := one(t, `{"schema":"olm.bundle","name":"n","properties":`+tt.properties+`}`)
		v, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		err = o.CheckManifests(v.(*declcfg.Bundle))
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), "c/a.json:"+tt.want) {
			t.Errorf("%s: %v, want %s", tt.properties, err, tt.want)
		}
	}
}
