package image

import (
	"errors"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// ParseReference parses a reference to an image in a registry as Kubernetes does: without a tag and a digest it means
// the tag latest, with a digest the tag is ignored, and docker.io/redis is docker.io/library/redis. As for
// [Opener.Open], the registry is required: the meaning of a short name depends on the host that pulls it.
func ParseReference(text string) (name.Reference, error) {
	full, digest, hasDigest := strings.Cut(text, "@")
	repo, tag := cutTag(full)
	host, path, hasHost := strings.Cut(repo, "/")
	switch {
	case repo == "" || strings.Contains(text, "://"):
		return parseRemote(text, false) // returns the error
	case !hasHost || !isHost(host):
		return nil, errors.New(withoutHost(text))
	case host == dockerHub && !strings.Contains(path, "/"):
		repo = dockerHub + "/" + dockerLibrary + "/" + path
	}
	if hasDigest {
		return parseRemote(repo+"@"+digest, false)
	}
	if tag == "" {
		tag = "latest"
	}
	return parseRemote(repo+":"+tag, false)
}
