package shell

import "testing"

func TestJoin(t *testing.T) {
	for want, words := range map[string][]string{
		"opm render catalog":              {"opm", "render", "catalog"},
		`opm render 'my catalog'`:         {"opm", "render", "my catalog"},
		`opm render 'it'\''s'`:            {"opm", "render", "it's"},
		"cosign sign --key=k8s://ns/name": {"cosign", "sign", "--key=k8s://ns/name"},
		"echo ''":                         {"echo", ""},
	} {
		if got := Join(words...); got != want {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}
