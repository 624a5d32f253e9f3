package clusters

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// updateOf returns a catalog with an update of a custom resource definition. The versions before and after the update
// are the results of versions for two types.
func updateOf(versions func(kind string) string) string {
	text := `{"schema": "olm.package", "name": "p", "defaultChannel": "c"}
{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "v2", "replaces": "v1"}, {"name": "v1"}]}
`
	for i, kind := range []string{"string", "integer"} {
		text += fmt.Sprintf(`{"schema": "olm.bundle", "package": "p", "name": "v%d", "image": "r.example/b@%s", "properties": [`+
			`{"type": "olm.package", "value": {"packageName": "p", "version": "%[1]d.0.0"}}`, i+1, attack.Digest)
		for _, object := range []string{
			`{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion"}`,
			`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "kilns.p.example"}, ` +
				`"spec": {"group": "p.example", "names": {"kind": "Kiln", "plural": "kilns"}, "versions": [` + versions(kind) + `]}}`,
		} {
			text += fmt.Sprintf(`, {"type": "olm.bundle.object", "value": {"data": %q}}`,
				base64.StdEncoding.EncodeToString([]byte(object)))
		}
		text += "]}\n"
	}
	return text
}

// version returns a version with n fields of a type.
func version(i, n int, kind string) string {
	fields := make([]string, n)
	for k := range fields {
		fields[k] = fmt.Sprintf(`"f%d": {"type": %q}`, k, kind)
	}
	return fmt.Sprintf(`{"name": "v%d", "served": true, "storage": %t, "schema": {"openAPIV3Schema": {"type": "object", `+
		`"properties": {%s}}}}`, i, i == 1, strings.Join(fields, ", "))
}

// TestLargeDefinitions checks the time and memory to compare definitions with many versions and many fields.
func TestLargeDefinitions(t *testing.T) {
	const megabyte = 1_000_000
	for _, tt := range []struct {
		name             string
		versions, fields int
		want             string
	}{
		{"many versions", 1500, 1, "it has more than 20 versions"},
		{"versions that differ", 20, 200, `f199: type: type changed : "string" -> "integer"`},
		{"many fields", 1, 20_000, `19,000 more changes of "kilns.p.example", which this report omits [too-many]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.json")
			text := updateOf(func(kind string) string {
				all := make([]string, tt.versions)
				for i := range all {
					if all[i] = version(i+1, tt.fields, kind); i%2 == 1 {
						all[i] = version(i+1, tt.fields, "boolean")
					}
				}
				return strings.Join(all, ", ")
			})
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			r := program.Call{Args: []string{"check-updates", file}, Limit: 30 * time.Second}.Bounded(t, 600*megabyte)
			if r.Code != 1 || !strings.Contains(r.Stdout, tt.want) {
				t.Errorf("exit status %d, %.300s%.300s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}
