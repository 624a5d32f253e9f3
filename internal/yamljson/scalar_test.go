package yamljson

import (
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestResolve compares the types of scalars that look like numbers and words with upstream, as values and as keys.
func TestResolve(t *testing.T) {
	const letters = "0011789__..+-eExXoObaAfFnNyY~ :"
	random := rand.New(rand.NewPCG(1, 2))
	numbers := 0
	for range 30_000 {
		s := make([]byte, 1+random.IntN(7))
		for i := range s {
			s[i] = letters[random.IntN(len(letters))]
		}
		if random.IntN(4) == 0 {
			s = append([]byte("18446744073709551615")[:14+random.IntN(7)], s...)
		}
		for _, doc := range []string{"- " + string(s) + "\n", string(s) + ": 1\n"} {
			got, ok := appendFast(nil, []byte(doc), breaks{}, nil)
			if !ok {
				continue
			}
			want, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil || !sameJSON(got, want) {
				t.Errorf("%q: got %s, upstream %s, %v", doc, got, want, err)
			}
			if got[1] != '"' {
				numbers++
			}
		}
	}
	if numbers < 1000 {
		t.Errorf("only %d scalars were other than text", numbers)
	}
}
