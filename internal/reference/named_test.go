package reference_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/reference"
)

// TestNamedRefs checks the names of catalogs without NAME=, and the arguments that are refused.
func TestNamedRefs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"v4.18", "images/v4.19", "layout"} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("crafts.tar", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, want []string
		err        string
	}{
		{[]string{"v4.18", "old=v4.18", "-"}, []string{"v4.18", "old", "stdin"}, ""},
		{[]string{"registry.example/crafts:v4.18", "r.example:5000/looms@sha256:0b"}, []string{"crafts", "looms"}, ""},
		{[]string{"registry.example/crafts:v4.18", "registry.example/crafts:v4.19@sha256:0b"},
			[]string{"crafts-v4.18", "crafts-v4.19"}, ""},
		{[]string{"new=registry.example/crafts:v4.18", "registry.example/crafts:v4.19"}, []string{"new", "crafts"}, ""},
		{[]string{"oci:layout", "oci:images/v4.19:latest"}, []string{"layout", "v4.19"}, ""},
		{[]string{"oci:layout:v4.18", "oci:layout:registry.example/crafts:v4.19"}, []string{"layout-v4.18", "layout-v4.19"}, ""},
		{[]string{"crafts.tar:v4.18", "crafts.tar:v4.19"}, []string{"crafts-v4.18", "crafts-v4.19"}, ""},
		{[]string{"r.example/crafts:v1", "r.example/crafts:v1"}, nil,
			`"r.example/crafts:v1" and "r.example/crafts:v1" are both named crafts-v1; name one, as in NAME=CATALOG`},
		{[]string{"r.example/crafts@sha256:0b", "r.example/crafts@sha256:0c"}, nil,
			`"r.example/crafts@sha256:0b" and "r.example/crafts@sha256:0c" are both named crafts; name one, as in NAME=CATALOG`},
		{[]string{`catalogs\of=v1`, "of=v1"}, []string{`catalogs\of=v1`, "of"}, ""},
		{[]string{"a=-", "b=-"}, nil, "standard input can be read only once"},
		{[]string{"=v4.18"}, nil, `no name before the equals sign of "=v4.18"`},
	} {
		refs, err := reference.ParseNamed(tt.args)
		var names []string
		for _, r := range refs {
			names = append(names, r.Name)
		}
		if !slices.Equal(names, tt.want) || err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("%q: got %q, %v, want %q, %s", tt.args, names, err, tt.want, tt.err)
		}
	}
	if dir, err := filepath.Abs("."); err != nil || reference.BaseName(".") != filepath.Base(dir) {
		t.Errorf("the working directory is named %q", reference.BaseName("."))
	}
}
