package format

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestConformance compares the first object that a script expects with the printed form of its input.
func TestConformance(t *testing.T) {
	for _, test := range []struct{ script, in, json, yaml string }{
		{"render-yaml-text", "catalog/catalog.json", "", "want.yaml"},
		{"load-numbers", "catalog/numbers.json", "want.json", "want.yaml"},
		{"load-text", "separators/a.json", "separators.json", ""},
	} {
		archive, err := txtar.ParseFile("../../test/conformance/" + test.script + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		in := []byte(files[test.in])
		if test.json != "" {
			samePrefix(t, test.script, string(AppendJSON(nil, in, 0))+"\n", files[test.json])
		}
		if test.yaml != "" {
			samePrefix(t, test.script, "---\n"+string(AppendYAML(nil, in)), files[test.yaml])
		}
	}
}

func samePrefix(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(want, got) {
		t.Errorf("%s: %s", what, firstDifference(got, want))
	}
}
