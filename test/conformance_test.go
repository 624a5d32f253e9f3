package test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestConformance runs the scripts in conformance, which describe the behaviour of upstream's opm.
func TestConformance(t *testing.T) {
	scripts, err := filepath.Glob("conformance/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	scripts = shared.Sample(scripts, 12)
	testscript.Run(t, testscript.Params{Files: scripts, RequireExplicitExec: true, RequireUniqueNames: true})
}

// notIncluded has the scripts of ../shared/conformance that are not in conformance unchanged, with the reason.
var notIncluded = map[string]string{
	// See docs/compatibility.md.
	"quirk-dropped-objects": "an object without a package is an error",
	"quirk-empty-documents": "empty documents are ignored",
	"quirk-numbers":         "digits that floating point loses are kept",
	"quirk-unknown-fields":  "unknown fields are kept",

	"quirk-json-read-as-yaml": "changed: a number too large for floating point stays a number",
}

// TestConformanceScripts checks that the scripts in conformance are the ones that were recorded with upstream's opm.
func TestConformanceScripts(t *testing.T) {
	for _, path := range shared.Glob(t, "conformance/*.txtar") {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if _, listed := notIncluded[name]; listed {
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("conformance", name+".txtar")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the recorded script: %v", name, err)
		}
	}
}
