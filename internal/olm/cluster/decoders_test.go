package cluster

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// goWords matches names of Go types and of its packages.
var goWords = regexp.MustCompile(`\*\w|\bu?int\d*\b|\bfloat\d|\bbool\b|\bstruct\b|\bGo\b|\bjson: |\btime: |v1\w*\.\w|\[\]\w|\bmap\[`)

// TestMessagesOfTypes checks that no message about a value of a wrong type mentions Go, for every field of every kind.
func TestMessagesOfTypes(t *testing.T) {
	checked := map[reflect.Type]bool{}
	for _, k := range kinds {
		o := reflect.TypeOf(k.create()).Elem()
		checkMessages(t, o, checked)
	}
	if len(checked) < 300 {
		t.Errorf("only %d types were checked", len(checked))
	}
}

func checkMessages(t *testing.T, of reflect.Type, checked map[reflect.Type]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if checked[of] || of.Kind() == reflect.Interface || of == reflect.TypeFor[jsontext.Value]() {
		return
	}
	checked[of] = true
	for _, raw := range []string{`10`, `-1.5`, `1e99`, `99999999999999999999`, `true`, `"x"`, `""`, `{}`, `{"x": 1}`, `[]`, `[1]`, `["x"]`} {
		v := reflect.New(of).Interface()
		if _, err := unmarshal(jsontext.Value(raw), v); err != nil && goWords.MatchString(err.Error()) {
			t.Errorf("%s for %s: %v", raw, of, err)
		}
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{`10`, `-1.5`, `1e99`, `true`, `"x"`, `{"x": 1}`, `[1]`} {
			object := `{` + string(key) + `:` + raw + `}`
			v := reflect.New(of).Interface()
			if _, err := unmarshal(jsontext.Value(object), v); err != nil && goWords.MatchString(err.Error()) {
				t.Errorf("%s for %s: %v", object, of, err)
			}
		}
		checkMessages(t, f.Type, checked)
	}
}
