package declcfg

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	kubernetesyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// decodeProperty returns the value of p as the Go type for its type.
func decodeProperty(p *Property) (any, error) {
	t, known := propertyTypes[p.Type]
	if !known {
		return p.Value, p.Unmarshal(new(jsontext.Value))
	}
	v := reflect.New(t).Interface()
	return v, p.Unmarshal(v)
}

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		typ, value string
		want       any
	}{
		{"olm.package", `{"packageName": "p", "version": "1.0.0"}`, &PackageProperty{"p", "1.0.0", ""}},
		{"olm.package", `{"packageName": "p", "version": "1.0.0", "release": "2", "more": 1}`,
			&PackageProperty{"p", "1.0.0", "2"}},
		{"olm.package", `null`, &PackageProperty{}},
		{"olm.package", `{"PACKAGENAME": "a", "pac\u212aagename": "b"}`, &PackageProperty{PackageName: "b"}},
		{"olm.package", `{"package_name": 1, "package-name": 2}`, &PackageProperty{}},
		{"olm.package", `{"version": "1", "version": null}`, &PackageProperty{}},
		{"olm.package", `{"version": "1", "VERSION": "2"}`, &PackageProperty{Version: "1"}},
		{"olm.package", `{"version": "1", "VERSION": null}`, &PackageProperty{Version: "1"}},
		{"olm.package", `{"VERSION": "2", "version": null}`, &PackageProperty{Version: "2"}},
		{"olm.csv.metadata", `{"provider": {"name": "a", "NAME": "b"}, "Labels": {"b": "1"}, "LABELS": {"a": "1", "A": "2"}}`,
			&CSVMetadata{Provider: AppLink{Name: "a"}, Labels: map[string]string{"a": "1", "A": "2", "b": "1"}}},
		{"olm.package", "{\"version\": \"\xff\"}", &PackageProperty{Version: "\ufffd"}},
		{"olm.package.required", `{"packageName": "p", "versionRange": ">1"}`, &PackageRequired{"p", ">1"}},
		{"olm.gvk", `{"group": "g", "kind": "K", "version": "v1"}`, &GVK{"g", "K", "v1"}},
		{"olm.gvk", `{"group": null}`, &GVK{}},
		{"olm.gvk.required", `{"group": "g"}`, &GVKRequired{Group: "g"}},
		{"olm.bundle.object", `{"data": "e30="}`, &BundleObject{[]byte("{}")}},
		{"olm.bundle.object", `{"data": "e3\n0\r\n="}`, &BundleObject{[]byte("{}")}},
		{"olm.bundle.object", `{"data": [123, 125]}`, &BundleObject{[]byte("{}")}},
		{"olm.bundle.object", `{"ref": "objects/csv.yaml"}`, &BundleObject{}},
		{"olm.channel", `{"channelName": "stable"}`, &ChannelProperty{"stable"}},
		{"olm.csv.metadata", `{}`, &CSVMetadata{}},
		{"olm.csv.metadata", `{"nativeAPIs": [null, {"kind": "K"}], "labels": {"a": null}}`,
			&CSVMetadata{NativeAPIs: []GroupVersionKind{{}, {Kind: "K"}}, Labels: map[string]string{"a": ""}}},
		{"olm.maxOpenShiftVersion", `4.18`, jsontext.Value(`4.18`)},
		{"olm.constraint", `{"a": [1, {"b": null}], "a": 2}`, jsontext.Value(`{"a": [1, {"b": null}], "a": 2}`)},
		{"", `null`, jsontext.Value(`null`)},
	} {
		p := Property{Type: test.typ, Value: jsontext.Value(test.value)}
		got, err := decodeProperty(&p)
		if err != nil {
			t.Errorf("%s %s: %v", test.typ, test.value, err)
			continue
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s: got %#v, want %#v", test.typ, test.value, got, test.want)
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s %s: Check: %v", test.typ, test.value, err)
		}
	}
}

// TestDecodeOrdered checks that the keys of values that opm encoded keep their order.
func TestDecodeOrdered(t *testing.T) {
	for value, want := range map[string]string{
		`{"version": "1", "VERSION": "2"}`:  "2",
		`{"VERSION": "2", "version": null}`: "2",
		`{"version": "1", "version": null}`: "1",
	} {
		p := Property{Type: PropertyPackage, Value: jsontext.Value(value), Ordered: true}
		var got PackageProperty
		if err := errors.Join(p.Check(), p.Unmarshal(&got)); err != nil || got.Version != want {
			t.Errorf("%s: got %q, %v; want %q", value, got.Version, err, want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct{ typ, value, want string }{
		{"olm.gvk", ``, `olm.gvk: no value`},
		{"some.type", ``, `some.type: no value`},
		{"some.type", `{"a": x}`, `some.type: /a: invalid character 'x' at start of value`},
		{"olm.gvk", `{} {}`, `olm.gvk: invalid character '{' after top-level value`},
		{"olm.gvk", `"g/v1/K"`, `olm.gvk: want an object, found a string`},
		{"olm.gvk.required", `[{"group": "g"}]`, `olm.gvk.required: want an object, found a list`},
		{"olm.gvk", `{"group": "g", "version": 1}`, `olm.gvk: /version: want a string, found a number; put it in quotes`},
		{"olm.package", `{"version": 1.0}`, `olm.package: /version: want a string, found a number; put it in quotes`},
		{"olm.package", `{"version": "1", "Version": true}`, `olm.package: /Version: want a string, found true; put it in quotes`},
		{"olm.package.required", `false`, `olm.package.required: want an object, found false`},
		{"olm.channel", `{"channelName": {}}`, `olm.channel: /channelName: want a string, found an object`},
		{"olm.bundle.object", `{"data": "{}"}`,
			`olm.bundle.object: /data: not base64: illegal base64 data at input byte 0`},
		{"olm.bundle.object", `{"data": {}}`, `olm.bundle.object: /data: want base64 in a string, found an object`},
		{"olm.csv.metadata", `{"annotations": ["a"]}`, `olm.csv.metadata: /annotations: want an object, found a list`},
		{"olm.csv.metadata", `{"annotations": {"a/b": 1}}`,
			`olm.csv.metadata: /annotations/a~1b: want a string, found a number; put it in quotes`},
		{"olm.csv.metadata", `{"keywords": {}}`, `olm.csv.metadata: /keywords: want a list, found an object`},
		{"olm.csv.metadata", `{"installModes": [{"supported": "yes"}]}`,
			`olm.csv.metadata: /installModes/0/supported: want true or false, found a string`},
		{"olm.csv.metadata", `{"apiServiceDefinitions": {"owned": [{"containerPort": 2147483648}]}}`,
			`olm.csv.metadata: /apiServiceDefinitions/owned/0/containerPort: ` +
				`want a whole number from -2147483648 to 2147483647, found 2147483648`},
		{"olm.csv.metadata", `{"crdDescriptions": {"owned": [{}, {"specDescriptors": [{"x-descriptors": "a"}]}]}}`,
			`olm.csv.metadata: /crdDescriptions/owned/1/specDescriptors/0/x-descriptors: want a list, found a string`},
	} {
		p := Property{Type: test.typ, Value: jsontext.Value(test.value)}
		_, err := decodeProperty(&p)
		if _, ok := errors.AsType[*ValueError](err); !ok || err.Error() != test.want {
			t.Errorf("%s %s:\n got %v (%T)\nwant %s", test.typ, test.value, err, err, test.want)
		}
		if check := p.Check(); check == nil || check.Error() != test.want {
			t.Errorf("%s %s: Check: got %v, want %s", test.typ, test.value, check, test.want)
		}
	}
}

func TestNoValue(t *testing.T) {
	if err := new(Property).Check(); !errors.Is(err, ErrNoValue) {
		t.Errorf("got %v, want ErrNoValue", err)
	}
}

func TestNewProperty(t *testing.T) {
	for _, test := range []struct {
		v    any
		want string
	}{
		{&PackageProperty{PackageName: "p", Version: "1"}, `{"packageName":"p","version":"1"}`},
		{GVKRequired{"g", "K", "v1"}, `{"group":"g","kind":"K","version":"v1"}`},
		{&BundleObject{Data: []byte("{}")}, `{"data":"e30="}`},
		{map[string]string{"b": "<&>", "a": "\u2028\x01\xff"}, `{"a":"\u2028\u0001` + "\ufffd" + `","b":"<&>"}`},
	} {
		p, err := NewProperty("t", test.v)
		if err != nil || p.Type != "t" || !p.Ordered || string(p.Value) != test.want {
			t.Errorf("%v: got %s %s, %v, want %s", test.v, p.Type, p.Value, err, test.want)
		}
	}
}

func TestBundleObjectJSON(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{`{"b": 1, "a": 2, "b": 3}`, `{"b": 1, "a": 2, "b": 3}`},
		{"kind: A\nspec: {b: [1]}\n", `{"kind":"A","spec":{"b":[1]}}`},
		{`{"a": 1,}`, `{"a":1}`}, // YAML but not JSON
		{"{\"a\": \"\xff\"}", "{\"a\":\"\ufffd\"}"},
		{``, `null`},
		{"# nothing\n", `null`},
		{"a: |\n b", `{"a":"b"}`}, // the last line has no break, so the text has none
	} {
		got, err := (&BundleObject{Data: []byte(test.data)}).JSON()
		if err != nil || string(got) != test.want {
			t.Errorf("%q: got %s, %v, want %s", test.data, got, err, test.want)
		}
	}
	for data, broken := range map[string]bool{
		"a: b: c": false, "a: \xff": false, "\t": false, "\n \t\n": false, "[": false, "\"\xff\"": false,
		"{": true, "\f{": true, `{"a": 1`: true, "{\xff": true,
	} {
		got, err := (&BundleObject{Data: []byte(data)}).JSON()
		if err == nil || errors.Is(err, ErrBrokenManifest) != broken {
			t.Errorf("%q: got %s, %v, want an error about a broken manifest: %t", data, got, err, broken)
		}
	}
}

// TestManifestsAreAcceptedAsUpstream compares the verdicts on short texts with the library that upstream converts
// manifests with.
func TestManifestsAreAcceptedAsUpstream(t *testing.T) {
	shared.OneGoroutine(t)
	parts := []string{
		"", "\t", " ", "\n", "\r", "\f", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x00", "\xff", "{", "}", "[", "]", ":", "-", "#",
		`"`, "'", "a", "1", ",", "&", "*", "!", "|", "%", "?", "@", "---", "...", "null",
	}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				data := []byte(a + b + c)
				_, upstream := kubernetesyaml.ToJSON(data)
				_, err := (&BundleObject{Data: data}).JSON()
				if accepted := err == nil || errors.Is(err, ErrBrokenManifest); accepted != (upstream == nil) {
					t.Errorf("%q: got %v, upstream %v", data, err, upstream)
				}
			}
		}
	}
}

// FuzzDecode checks that checking, decoding and fast decoding of a property give the same verdict and the same value.
// Catalogs pass through a map in opm, which sorts their keys.
func FuzzDecode(f *testing.F) {
	for _, value := range []string{
		`null`, `{}`, `"text"`, `[]`, `{"data": "e30="}`, `{"data": [1, 256]}`, `{"Data": "e3\n0="}`, `{"data": null}`,
		`{"version": "1", "release": 2}`, `{"labels": {"a": "b", "a": 1}}`, `{"installModes": [{"supported": true}]}`,
		`{"apiServiceDefinitions": {"owned": [{"containerPort": 1e1, "name": "\ud800"}], "required": null}}`,
		`{"crdDescriptions": {"Owned": [{"specDescriptors": [{"value": {"b": 1}, "x-descriptors": ["a", null]}]}]}}`,
		"{\"de\u017Fcription\": 1}", "{\"\u212Aind\": 1}", `{"description": "a\u0000\/"} `, `{"keywords": ["a", "b"`, "\xff",
		`{"version": "1", "VERSION": 2}`, `{"VERSION": 2, "version": "1"}`, `{"labels": {"a": "b"}, "LABELS": {"A": "b"}}`,
	} {
		for typ := range propertyTypes {
			f.Add(typ, []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, typ string, value []byte) {
		goType, ok := propertyTypes[typ]
		if !ok || len(value) == 0 {
			return
		}
		for _, ordered := range []bool{true, false} {
			text := value
			if !ordered {
				text = throughMap(value)
			}
			p := Property{Type: typ, Value: value, Ordered: ordered}
			checkErr := p.Check()
			got, err := decodeProperty(&p)
			want := reflect.New(goType).Interface()
			wantErr := stdjson.Unmarshal(text, want)
			if (err == nil) != (wantErr == nil) || (checkErr == nil) != (wantErr == nil) {
				t.Fatalf("ordered: %v, check: %v, decode: %v, opm: %v", ordered, checkErr, err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(got, want) && !bytes.Equal(printed(t, got), printed(t, want)) {
				t.Fatalf("ordered: %v, got %+v, want %+v", ordered, got, want)
			}
		}
	})
}

// printed returns v in JSON, with the keys of raw values sorted.
func printed(t *testing.T, v any) []byte {
	t.Helper()
	text, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return throughMap(text)
}

// throughMap returns value as package json writes it after reading it into maps, or value itself if it is not valid
// JSON.
func throughMap(value []byte) []byte {
	decoder := stdjson.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var v any
	if !stdjson.Valid(value) || decoder.Decode(&v) != nil {
		return value
	}
	sorted, err := stdjson.Marshal(v)
	if err != nil {
		return value
	}
	return sorted
}

func BenchmarkCheck(b *testing.B) {
	properties, size := catalogProperties(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i := range properties {
			if err := properties[i].Check(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	properties, size := catalogProperties(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i := range properties {
			if _, err := decodeProperty(&properties[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// catalogProperties returns the properties of the bundles of published packages, and the length of their values.
func catalogProperties(b *testing.B) (properties []Property, size int64) {
	files, _ := filepath.Glob("../../../shared/data/catalogs/v4.20/[ad]*/catalog.yaml")
	if len(files) == 0 {
		b.Skip("no published catalogs in ../shared/data/catalogs")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			var bundle struct {
				Schema     string
				Properties []struct {
					Type  string
					Value stdjson.RawMessage
				}
			}
			if err := yaml.Unmarshal([]byte(doc), &bundle); err != nil {
				b.Fatal(err)
			}
			for _, p := range bundle.Properties {
				properties = append(properties, Property{Type: p.Type, Value: jsontext.Value(p.Value)})
				size += int64(len(p.Value))
			}
		}
	}
	return properties, size
}
