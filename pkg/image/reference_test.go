package image

import (
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"quay.io/org/image:v1", "quay.io/org/image:v1"},
		{"quay.io/org/image", "quay.io/org/image:latest"},
		{"localhost:5000/image", "localhost:5000/image:latest"},
		{"quay.io/org/image@" + someDigest, "quay.io/org/image@" + someDigest},
		{"quay.io/org/image:v1@" + someDigest, "quay.io/org/image@" + someDigest},
		{"docker.io/redis", "docker.io/library/redis:latest"},
		{"docker.io/redis:7@" + someDigest, "docker.io/library/redis@" + someDigest},
		{"docker.io/org/image:v1", "docker.io/org/image:v1"},
	} {
		got, err := ParseReference(tt.text)
		if err != nil || got.String() != tt.want {
			t.Errorf("ParseReference(%q) = %v, %v; want %s", tt.text, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"", "the reference is empty"},
		{"https://quay.io/org/image", "write quay.io/org/image"},
		{"redis", "the host of a registry, as in docker.io/library/redis:latest"},
		{"org/image:v1", "the host of a registry, as in docker.io/org/image:v1"},
		{"quay.io/Org/image:V1", "names of repositories are lower-case: write quay.io/org/image:V1"},
		{"Quay.io/org/image", "write quay.io/org/image"},
		{"quay.io/org/image@sha256:1", "sha256:1"},
		{"@" + someDigest, "not a full image reference"},
		{"quay.io/org/a:v1,quay.io/org/b:v1", "; separate references by spaces: quay.io/org/a:v1 quay.io/org/b:v1"},
		{"quay.io/org/a, quay.io/org/b", "; separate references by spaces: quay.io/org/a quay.io/org/b"},
		{"quay.io/org/a@" + someDigest + ",b", "; separate references by spaces: quay.io/org/a@" + someDigest + " b"},
		{"quay.io/org/image:v1,", "; remove the comma: quay.io/org/image:v1"},
		{"quay.io/org/image:v1 ", "it ends in a space"},
		{"quay.io/org/im age", "it has a space at character 15"},
		{"\ufeffquay.io/org/image", "it begins with a byte order mark (U+FEFF)"},
		{"org/image:v1\n", "it ends in a line break (it must begin with the host of a registry)"},
	} {
		if got, err := ParseReference(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseReference(%q) = %v, %v; want an error with %q", tt.text, got, err, tt.want)
		}
	}
}
