package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// csvTexts returns the parts of the ClusterServiceVersion for metadata, rearranged and decoded; ok tells whether it could
// be rearranged, and valid whether it could be decoded.
func csvTexts(t *testing.T, metadata jsontext.Value) (fast, slow string, ok, valid bool) {
	t.Helper()
	b := &declcfg.Bundle{Name: "<b>", RelatedImages: []declcfg.RelatedImage{{Image: "&"}}}
	out, ok := newPacker().appendCSV(nil, b, "1.0.0", metadata)
	var m declcfg.CSVMetadata
	p := declcfg.Property{Type: declcfg.PropertyCSVMetadata, Value: metadata}
	valid = p.Unmarshal(&m) == nil
	if valid {
		slow = string(appendDecodedCSV(nil, b, "1.0.0", &m))
	}
	return string(out), slow, ok, valid
}

func TestRearrange(t *testing.T) {
	for _, tt := range []struct {
		metadata string
		fast     bool // it need not be decoded
	}{
		{`{}`, true},
		{`{"labels":{"a":"1","b":"2"},"annotations":{"x":"\n\t\"\\\r"}}`, true},
		{` { "provider" : { "url" : "u" , "name" : "n" } , "keywords" : [ "a" , "b" ] } `, true},
		{`{"description":"<&> \u003c\u003E \u2028 \/ \b\f \u0001 é 日本 ` + "\u2028\u2029\u2027" + `"}`, true},
		{`{"displayName":"\ud83d\ude00 \u00e9"}`, true},
		{`{"crdDescriptions":{"required":[],"owned":[{"kind":"K","version":"v1","name":"n","specDescriptors":[
			{"value":{"b":[1.0,"<"],"a":null},"path":"p","x-descriptors":["x"]}]},{}]}}`, true},
		{`{"apiServiceDefinitions":{"owned":[{"containerPort":443,"group":"g"},{"containerPort":0}]}}`, true},
		{`{"installModes":[{"supported":true,"type":"All"},{"type":"Own"}],"maturity":"","links":[{}]}`, true},
		{`{"unknown":{"a":[1,{"b":null}]},"maintainers":[{"email":"e","name":"n","age":3}]}`, true},
		{`{"crdDescriptions":{"owned":[{"group":"lost"}]}}`, true},

		{`{"labels":{"b":"2","a":"1"}}`, false},
		{`{"labels":{"\u0061":"1"}}`, false},
		{`{"labels":{"a":null}}`, false},
		{`{"labels":null,"keywords":null,"provider":null,"description":null}`, false},
		{`{"DisplayName":"in another case"}`, false},
		{`{"display\u004eame":"escaped"}`, false},
		{`{"keywords":[null]}`, false},
		{`{"apiServiceDefinitions":{"owned":[{"containerPort":1e2}]}}`, false},
		{`{"apiServiceDefinitions":{"owned":[{"containerPort":2147483647},{"containerPort":-1}]}}`, false},
		{`{"crdDescriptions":{"owned":[{"statusDescriptors":[{"value":null}]}]}}`, false},

		{`{"displayName":1}`, false},
		{`{"displayName":[]}`, false},
		{`{"keywords":"k"}`, false},
		{`{"keywords":{}}`, false},
		{`{"labels":[]}`, false},
		{`{"labels":{"a":{"b":"c"}}}`, false},
		{`{"provider":[]}`, false},
		{`{"installModes":[{"supported":"true"}]}`, false},
		{`[]`, false},
		{`null`, false},
		{`"text"`, false},
	} {
		fast, slow, ok, valid := csvTexts(t, jsontext.Value(tt.metadata))
		if ok != tt.fast {
			t.Errorf("%s: rearranged: %t, want %t", tt.metadata, ok, tt.fast)
		}
		if ok && (fast != slow || !valid) {
			t.Errorf("%s: rearranged\n%s\ndecoded: %t\n%s", tt.metadata, fast, valid, slow)
		}
	}
}

// Rearranging gives what decoding gives, for all that it takes on.
func FuzzRearrange(f *testing.F) {
	f.Add(`{"labels":{"a":"1"},"crdDescriptions":{"owned":[{"name":"<é\u2028\/>","specDescriptors":[{"value":{"b":1,"a":[]}}]}]}}`)
	f.Add(`{"description":"` + "\u2028\u2027" + `\u003c\b","installModes":[{"type":"x","supported":false}],"links":null}`)
	f.Add(`{"apiServiceDefinitions":{"required":[{"containerPort":12,"resources":[{"kind":"k"}]}]},"nativeAPIs":[{}]}`)
	f.Fuzz(func(t *testing.T, metadata string) {
		if !jsontext.Value(metadata).IsValid() {
			return
		}
		fast, slow, ok, valid := csvTexts(t, jsontext.Value(metadata))
		if ok && (fast != slow || !valid) {
			t.Errorf("rearranged\n%s\ndecoded: %t\n%s", fast, valid, slow)
		}
	})
}

// All metadata that is published is rearranged.
func TestRearrangePublishedCatalogs(t *testing.T) {
	dirs, err := filepath.Glob("../../../../shared/data/catalogs/*")
	if err != nil || len(dirs) == 0 {
		t.Skip("no published catalogs")
	}
	for _, dir := range dirs {
		meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
		for m, err := range declcfg.Map(t.Context(), meta, declcfg.Source{Name: dir, FS: os.DirFS(dir)}) {
			if err != nil {
				t.Fatal(err)
			}
			v, err := m.Decode()
			if err != nil {
				t.Fatal(err)
			}
			b, _ := v.(*declcfg.Bundle)
			for i := 0; b != nil && i < len(b.Properties); i++ {
				if b.Properties[i].Type != declcfg.PropertyCSVMetadata {
					continue
				}
				fast, slow, ok, _ := csvTexts(t, b.Properties[i].Value)
				if !ok || fast != slow {
					t.Errorf("%v: %t, rearranged\n%.1000s\ndecoded\n%.1000s", m.Pos, ok, fast, slow)
				}
			}
		}
	}
}

// Strings are written as encoding/json writes them.
func TestAppendText(t *testing.T) {
	var all []rune
	for r := range rune(0x250) {
		all = append(all, r)
	}
	all = append(all, 0x2027, 0x2028, 0x2029, 0x202a, 0xfffd, 0x10ffff)
	for _, r := range all {
		want, err := json.Marshal("a" + string(r) + "b")
		if err != nil {
			t.Fatal(err)
		}
		if got := appendText(nil, "a"+string(r)+"b"); string(got) != string(want) {
			t.Errorf("%U: got %s, want %s", r, got, want)
		}
	}
}
