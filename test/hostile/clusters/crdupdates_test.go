package clusters

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// schemaOf returns the only version of a definition, with a field of this schema.
func schemaOf(field string) string {
	return `{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"f": ` +
		field + `}}}}`
}

// TestHostileUpdates checks the time and memory for malicious updates of definitions.
func TestHostileUpdates(t *testing.T) {
	nested := func(levels int, field string) string {
		return strings.Repeat(`{"type": "object", "properties": {"f": `, levels) + field + strings.Repeat("}}", levels)
	}
	values := func(n int, kind string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("%q", kind+fmt.Sprint(i))
		}
		return strings.Join(all, ", ")
	}
	const resource = `{"apiVersion": "p.example/v9", "kind": "Kiln", "metadata": {"name": "k", "namespace": "n"}, "f": "text"}`
	changed := `type: type changed : "string" -> "integer"`
	for _, tt := range []struct {
		name     string
		versions func(kind string) string
		want     string
		code     int
	}{
		{"nested", func(kind string) string { return schemaOf(nested(110, `{"type": "`+kind+`"}`)) }, changed, 1},
		{"nested too deep", func(kind string) string { return schemaOf(nested(1000, `{"type": "`+kind+`"}`)) },
			"its schema has more than 250 levels", 1},
		{"a huge enum", func(kind string) string {
			return schemaOf(`{"type": "string", "enum": [` + values(60_000, kind) + `]}`)
		}, "allowed enum values removed", 1},
		{"many alternatives", func(kind string) string {
			return schemaOf(`{"type": "object", "oneOf": [` + strings.Repeat(`{"required": ["`+kind+`"]}, `, 3000) + `{}]}`)
		}, "allowed oneOf schemas removed", 1},
		// With a custom resource, OLM Classic refuses it, although the definition does not change.
		{"a reference to itself", func(string) string { return schemaOf(`{"$ref": "#/properties/f"}`) }, "", 0},
		{"a reference that changes", func(kind string) string { return schemaOf(`{"$ref": "#/` + kind + `"}`) }, "unhandled changes found", 1},
		{"an embedded resource with rules about itself", func(kind string) string {
			return schemaOf(`{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-validations": [` +
				strings.Repeat(`{"rule": "self.all(x, self.all(y, `+kind+`))"}, `, 5000) + `{"rule": "self == oldSelf"}]}`)
		}, "x-kubernetes-validations changed", 1},
		{"a schema that is a list", func(kind string) string { return schemaOf(`["` + kind + `"]`) }, "[crd]", 1},
		{"a pattern that is not one", func(kind string) string { return schemaOf(`{"type": "string", "pattern": "(` + kind + `"}`) },
			`pattern changed : "(string" -> "(integer"`, 1},
		{"a webhook without a certificate", func(kind string) string {
			return schemaOf(`{"type": "string"}`) + `], "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": ` +
				`{"caBundle": "` + kind + `!"}, "conversionReviewVersions": ["v1"]}}, "x": [`
		}, "[crd]", 1},
		{"a version twice", func(kind string) string {
			one := schemaOf(`{"type": "` + kind + `"}`)
			return one + ", " + one
		}, changed, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"c.json": updateOf(tt.versions), "state.json": resource} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			for _, state := range [][]string{nil, {"--state", "state.json"}} {
				args := append([]string{"check-updates", "c.json"}, state...)
				want, code := tt.want, tt.code
				if state != nil && code == 0 {
					want, code = "$ref is not supported", 1
				}
				r := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Bounded(t, 3*attack.FewBytes)
				if r.Code != code || !strings.Contains(r.Stdout, want) || strings.Contains(r.Stderr, "panic") {
					t.Errorf("exit status %d, %.500s%.300s", r.Code, r.Stdout, r.Stderr)
				}
				if len(r.Stdout) > 300_000 {
					t.Errorf("%d bytes of output", len(r.Stdout))
				}
			}
		})
	}
}
