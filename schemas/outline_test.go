package schemas_test

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/schemas"
)

// TestOutline checks that keys have their descriptions, and values a type.
func TestOutline(t *testing.T) {
	for _, name := range []string{"compose.yaml", "targets.yaml"} {
		if got, err := schemas.Outline(name); err != nil || !strings.Contains(got, ": STRING\n") {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	got, err := schemas.Outline("opm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const want = "\n  # Whether the catalog has one package, not more.\n  onePackage: BOOLEAN\n"
	if !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
	for line := range strings.Lines(got) {
		key, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if key != "-" && !strings.HasPrefix(key, "#") && (!found || strings.HasSuffix(value, " ")) {
			t.Errorf("the line %q has no value", line)
		}
	}
	if _, err := schemas.Outline("none"); err == nil {
		t.Error("there is an outline of an unknown file")
	}
}
