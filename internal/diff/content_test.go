package diff

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestSums checks that values have equal hashes if and only if they are equal.
func TestSums(t *testing.T) {
	classes := [][]string{
		{`null`},
		{`true`},
		{`false`},
		{`""`},
		{`"a"`, `"\u0061"`},
		{`"1"`},
		{`1`, `1.0`, `1e0`, `10e-1`},
		{`100`, `1e2`, `1.0E+2`},
		{`9007199254740993`},
		{`9007199254740992`, `9007199254740992.0`},
		{`1e400`},
		{`2e400`},
		{`[]`, ` [ ] `},
		{`{}`, "{\n}"},
		{`[[]]`},
		{`[{}]`},
		{`{"a":null}`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{ "b" : 2.0, "\u0061":1 }`},
		{`{"a":2,"b":1}`},
		{`{"a":{"b":1}}`},
		{`{"a":[1,2]}`},
		{`{"a":[2,1]}`},
		{`[1,[2,3]]`},
		{`[1,2,[3]]`},
		{`[[1,2],3]`},
		{`["a","b"]`},
		{`["ab"]`},
	}
	sums := map[uint64]int{}
	for i, class := range classes {
		for _, text := range class {
			sum := sumOf(jsontext.Value(text))
			if j, seen := sums[sum]; seen && j != i {
				t.Errorf("%s has the sum of %s", text, classes[j][0])
			}
			if want := sumOf(jsontext.Value(class[0])); sum != want {
				t.Errorf("%s has another sum than %s", text, class[0])
			}
			sums[sum] = i
		}
	}
}

// FuzzSum checks that the hash of a value does not depend on its notation.
func FuzzSum(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.50,{"c":null}],"a":"\u00e9"}`, `[1e2,-0.1,"<"]`, `"x"`, `12`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v := jsontext.Value(text)
		if !v.IsValid() {
			t.Skip("no JSON")
		}
		other := v.Clone()
		if err := other.Format(jsontext.WithIndent("\t"), jsontext.CanonicalizeRawInts(false),
			jsontext.CanonicalizeRawFloats(false), jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		); err != nil {
			t.Skip(err)
		}
		if sumOf(v) != sumOf(other) {
			t.Errorf("%s and %s have different sums", v, other)
		}
	})
}
