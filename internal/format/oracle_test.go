package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"
)

// The oracles print the output of upstream: encoding/json without HTML escapes, and the YAML library below
// sigs.k8s.io/yaml. That library is given values rather than JSON, since its reader rejects some characters in JSON and
// turns U+0085 into a space.

// oracleJSON prints v as encoding/json does, each line but the first behind prefix.
func oracleJSON(t testing.TB, v any, prefix, indent string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oracleYAML prints v, which decode returned, as upstream does.
func oracleYAML(t testing.TB, v any) string {
	t.Helper()
	out, err := yamlv2.Marshal(retype(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// decode decodes a JSON text with its numbers as floating point. It returns false if one is too large.
func decode(text string) (v any, ok bool) {
	return v, json.Unmarshal([]byte(text), &v) == nil
}

// retype gives numbers the types that they have after the output of encoding/json is read as YAML.
func retype(t testing.TB, v any) any {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = retype(t, value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = retype(t, value)
		}
		return list
	case float64:
		var number any
		if err := yamlv2.Unmarshal([]byte(oracleJSON(t, v, "", "")), &number); err != nil {
			t.Fatal(err)
		}
		return number
	}
	return v
}

// keepsDigits reports whether the text has a number that floating point would change.
func keepsDigits(text string) bool {
	d := Parse([]byte(text))
	defer d.Release()
	for i, n := range d.nodes {
		if n.kind != numberKind {
			continue
		}
		if _, exact := exactFloat(d.raw(i)); !exact {
			return true
		}
	}
	return false
}

var decimalForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// isHugeNumber reports whether s looks like a number beyond floating point, which we quote and upstream does not.
func isHugeNumber(s string) bool {
	plain := strings.ReplaceAll(s, "_", "")
	_, err := strconv.ParseFloat(plain, 64)
	return errors.Is(err, strconv.ErrRange) && decimalForm.MatchString(plain)
}

// departs reports whether v is a value that we print differently from upstream on purpose.
func departs(v any) bool {
	return hasCyclicKeys(v) || anyString(v, func(s string) bool { return s == mergeKey || isHugeNumber(s) })
}

// isDeeper reports whether v has more than n levels of lists and objects.
func isDeeper(v any, n int) bool {
	deeper := func(v any) bool { return isDeeper(v, n-1) }
	switch v := v.(type) {
	case map[string]any:
		return n == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), deeper)
	case []any:
		return n == 0 || slices.ContainsFunc(v, deeper)
	}
	return false
}

// hasCyclicKeys reports whether natural order contradicts itself on the keys of some object in v: a10 < a1b < a2 < a10.
// Upstream prints these in any order.
func hasCyclicKeys(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key, value := range v {
			if hasCyclicKeys(value) {
				return true
			}
			keys = append(keys, key)
		}
		slices.Sort(keys)
		slices.SortStableFunc(keys, func(a, b string) int { return naturalCompare([]byte(a), []byte(b)) })
		for i, a := range keys {
			for _, b := range keys[i+1:] {
				if naturalCompare([]byte(a), []byte(b)) > 0 {
					return true
				}
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasCyclicKeys)
	}
	return false
}

// anyString reports whether f is true for a string in v, including keys.
func anyString(v any, f func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if f(key) || anyString(value, f) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return anyString(e, f) })
	case string:
		return f(v)
	}
	return false
}

// firstDifference returns the parts of two texts from their first difference on.
func firstDifference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("at byte %d:\n got %q\nwant %q", i, got[from:min(len(got), i+80)], want[from:min(len(want), i+80)])
}

// check compares every printed form of a JSON text with the oracles, and reads it back.
func check(t testing.TB, text string) {
	t.Helper()
	pretty := string(AppendJSON(nil, []byte(text), 0))
	compact := string(AppendCompact(nil, []byte(text)))
	yaml := string(AppendYAML(nil, []byte(text)))
	for _, again := range []string{pretty, compact} {
		same(t, "JSON of the output", string(AppendJSON(nil, []byte(again), 0)), pretty)
		same(t, "compact JSON of the output", string(AppendCompact(nil, []byte(again))), compact)
		same(t, "YAML of the output", string(AppendYAML(nil, []byte(again))), yaml)
	}
	v, ok := decode(text)
	if !ok || keepsDigits(text) {
		return
	}
	deep := isDeeper(v, MaxIndented)
	if !deep {
		same(t, "JSON", pretty, oracleJSON(t, v, "", "    "))
	}
	same(t, "compact JSON", compact, oracleJSON(t, v, "", ""))
	if !deep && !departs(v) {
		same(t, "YAML", yaml, oracleYAML(t, v))
	}
	checkReadBack(t, yaml, v)
}

// checkReadBack reads YAML as upstream does, and compares it with v.
func checkReadBack(t testing.TB, yaml string, v any) {
	t.Helper()
	read, err := sigsyaml.YAMLToJSON([]byte(yaml))
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	back, _ := decode(string(read))
	same(t, "YAML read back", zeros(oracleJSON(t, back, "", "")), zeros(oracleJSON(t, v, "", "")))
}

// negativeZero is a number that has no integer form in YAML.
var negativeZero = regexp.MustCompile(`([:,\[]|^)-0([,}\]]|$)`)

func zeros(text string) string {
	return negativeZero.ReplaceAllString(negativeZero.ReplaceAllString(text, "${1}0$2"), "${1}0$2")
}

func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %s", what, firstDifference(got, want))
	}
}
