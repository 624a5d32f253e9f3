package catalogsource

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestResolveImage(t *testing.T) {
	type row struct {
		Name       string   `json:"name"`
		Template   string   `json:"template"`
		Version    string   `json:"version"`
		Image      string   `json:"image"`
		Message    string   `json:"message"`
		Unresolved []string `json:"unresolved"`
	}
	for _, tt := range rows[row](t, "testdata/templates.yaml") {
		t.Run(tt.Name, func(t *testing.T) {
			var v *version.Version
			if tt.Version != "" {
				v = version.MustParseSemantic(tt.Version)
			}
			r := ResolveImage(tt.Template, v)
			isResolved := !strings.HasPrefix(tt.Message, "cannot")
			if r.Image != tt.Image || !slices.Equal(r.Unresolved, tt.Unresolved) || r.Resolved != isResolved {
				t.Errorf("got %+v", r)
			}
			status, reason := "False", "UnableToResolve"
			if r.Resolved {
				status, reason = "True", "AllTemplatesResolved"
			}
			for i, want := range []struct{ kind, message string }{{"TemplatesHaveResolved", tt.Message}, {"ResolvedImage", tt.Image}} {
				c := r.Conditions[i]
				if c.Type != want.kind || string(c.Status) != status || c.Reason != reason || c.Message != want.message {
					t.Errorf("got the condition %+v", c)
				}
			}
		})
	}
}

func FuzzResolveImage(f *testing.F) {
	f.Add("q.io/c:v{kube_major_version}.{kube_minor_version}")
	f.Add("{{kube_patch_version}}{")
	f.Fuzz(func(t *testing.T, template string) {
		for _, v := range []*version.Version{nil, version.MustParseSemantic("1.20.1")} {
			r := ResolveImage(template, v)
			if r.Resolved && len(r.Unresolved) > 0 || len(r.Conditions) != 2 || r.Conditions[1].Message != r.Image {
				t.Errorf("got %+v", r)
			}
		}
	})
}

func TestCheckTemplate(t *testing.T) {
	for _, tt := range []struct{ template, want string }{
		{"registry.example/a:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}", ""},
		{"registry.example/{a}:{kube_major_version}{b}", "OLM has no variable {a}, {b}"},
		{"registry.example/a:{{kube_major_version}}", "OLM has no variable {{kube_major_version}}"},
		{"registry.example/a:{kube_major_version", `"registry.example/a:{kube_major_version" is not a valid image reference`},
		{"", `"" is not a valid image reference`},
		{strings.Repeat("{a}", 1000), "OLM has no variable " + strings.Repeat("{a}, ", 25) + "{a}… (4,998 bytes)"},
	} {
		got := ""
		if err := CheckTemplate(tt.template); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.template, got, tt.want)
		}
	}
}
