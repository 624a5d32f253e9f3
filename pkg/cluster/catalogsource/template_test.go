package catalogsource

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestResolveImage(t *testing.T) {
	const (
		cannot   = "cannot construct catalog image reference, because "
		resolved = "catalog image reference was successfully resolved"
		syntax   = "one or more template(s) has improper syntax"
		gvk      = "{group:g,version:v1,kind:K,name:n,namespace:ns,jsonpath:{.spec.x}}"
	)
	tests := []struct {
		name, template, version, image, message string
		unresolved                              []string
	}{
		{"all tokens", "q.io/c:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}", "v1.20.1+abc", "q.io/c:v1.20.1", resolved, nil},
		{"pre-release", "q.io/c:v{kube_minor_version}-{kube_minor_version}", "v1.21.0-rc.1", "q.io/c:v21-21", resolved, nil},
		{"no token", "q.io/c:v1", "", "q.io/c:v1", resolved, nil},
		{
			"no version", "q.io/c:v{kube_major_version}.{kube_patch_version}", "", "q.io/c:vmissing.missing",
			cannot + `variable(s) "{kube_major_version}", "{kube_patch_version}" could not be resolved`,
			[]string{"{kube_major_version}", "{kube_patch_version}"},
		},
		{"unknown token", "q.io/c:{kube_minor}", "v1.20.1", "q.io/c:{kube_minor}", cannot + syntax, []string{"{kube_minor}"}},
		{"of an object", "q.io/c:" + gvk, "v1.20.1", "q.io/c:" + gvk, cannot + syntax, []string{gvk}},
		{
			"both", "q.io/c:{kube_minor_version}{x}", "", "q.io/c:missing{x}",
			cannot + `variable(s) "{kube_minor_version}" could not be resolved and ` + syntax, []string{"{kube_minor_version}", "{x}"},
		},
		{"no reference", "q.io/C:{kube_minor_version}", "v1.20.1", "q.io/C:20", cannot + syntax, nil},
		{"open brace", "q.io/c:{kube_minor_version", "v1.20.1", "q.io/c:{kube_minor_version", cannot + syntax, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v *version.Version
			if tt.version != "" {
				v = version.MustParseSemantic(tt.version)
			}
			r := ResolveImage(tt.template, v)
			if r.Image != tt.image || !slices.Equal(r.Unresolved, tt.unresolved) || r.Resolved != (tt.message == resolved) {
				t.Errorf("got %+v", r)
			}
			status, reason := "False", "UnableToResolve"
			if r.Resolved {
				status, reason = "True", "AllTemplatesResolved"
			}
			for i, want := range []struct{ kind, message string }{{"TemplatesHaveResolved", tt.message}, {"ResolvedImage", tt.image}} {
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
