package bundle

import (
	"fmt"
	"strings"
)

// CheckedDockerfile is [Labels.Dockerfile], with an error for a value that a Dockerfile would read as something else.
func (l Labels) CheckedDockerfile(base, manifests, metadata string) ([]byte, error) {
	for _, word := range []string{base, l.Package, l.Channels, l.DefaultChannel, manifests, metadata} {
		if strings.ContainsAny(word, " \t\r\n\"'\\$*?[]") {
			return nil, fmt.Errorf("a Dockerfile cannot contain %q", word)
		}
	}
	return l.Dockerfile(base, manifests, metadata), nil
}

// Inferred returns what l adds to the given labels, each as "package: kiln".
func (l Labels) Inferred(given Labels) []string {
	var all []string
	for _, label := range []struct{ what, given, found string }{
		{"package", given.Package, l.Package},
		{"channels", given.Channels, l.Channels},
		{"default channel", given.DefaultChannel, l.DefaultChannel},
	} {
		if label.given != label.found {
			all = append(all, label.what+": "+label.found)
		}
	}
	return all
}
