package image

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// errNotFull is wrapped by errors about references that do not name a registry.
var errNotFull = errors.New("not a full image reference")

// dockerHub is how references call the registry of Docker, and the folder of the images that have none.
const (
	dockerHub     = "docker.io"
	dockerLibrary = "library"
)

// parseRemote parses a reference to an image in a registry. It must be complete: what a short name means depends on the
// host, and what no tag means may change.
func parseRemote(ref string, insecure bool) (name.Reference, error) {
	if before, after, ok := strings.Cut(ref, "://"); ok {
		return nil, fmt.Errorf("remove %q: write %s", before+"://", after)
	}
	repo, digest, hasDigest := strings.Cut(ref, "@")
	repo, tag := cutTag(repo)
	host, path, hasHost := strings.Cut(repo, "/")
	switch {
	case ref == "":
		return nil, errors.New("the reference is empty")
	case !hasHost || !isHost(host):
		return nil, fmt.Errorf("%w: %s", errNotFull, withoutHost(ref))
	case host == dockerHub && !strings.Contains(path, "/"):
		return nil, fmt.Errorf("%w: write %s/%s/%s", errNotFull, dockerHub, dockerLibrary,
			strings.TrimPrefix(ref, dockerHub+"/"))
	case hasDigest && tag != "":
		return nil, fmt.Errorf("it has a tag and a digest: remove the tag, as in %s@%s", repo, digest)
	case !hasDigest && tag == "":
		return nil, fmt.Errorf("it has neither a tag nor a digest: add one, as in %s:latest", repo)
	case repo != strings.ToLower(repo):
		return nil, fmt.Errorf("names of repositories are lower-case: write %s%s", strings.ToLower(repo), ref[len(repo):])
	}
	return parseReference(ref, insecure)
}

// parseReference parses a complete reference.
func parseReference(ref string, insecure bool) (name.Reference, error) {
	if insecure {
		return name.ParseReference(ref, name.StrictValidation, name.Insecure)
	}
	return name.ParseReference(ref, name.StrictValidation)
}

// isHost reports whether the first part of a reference is a registry rather than a folder on Docker's.
func isHost(part string) bool { return strings.ContainsAny(part, ".:") || part == "localhost" }

// withoutHost says that a reference has no host, and what it would be on Docker's registry if it can be there.
func withoutHost(ref string) string {
	const problem = "it must begin with the host of a registry"
	full := dockerHub + "/" + ref
	if !strings.Contains(ref, "/") {
		full = dockerHub + "/" + dockerLibrary + "/" + ref
	}
	if _, tag := cutTag(full); tag == "" {
		full += ":latest"
	}
	if _, err := parseReference(full, false); err != nil {
		return problem
	}
	return problem + ", as in " + full
}
