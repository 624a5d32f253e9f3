package input

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTemplateError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "basic.yaml")
	if err := os.WriteFile(file, []byte("schema: olm.template.basic\nentries: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := TemplateError("opm diff", dir, "registry.example/crafts:v1"); err != nil {
		t.Error(err)
	}
	want := `open catalog "` + file + `": not a catalog: it is a template; run: opm diff a <(opm render-template ` + file + ")"
	if err := TemplateError("opm diff", "a", file); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
