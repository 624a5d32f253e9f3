package image

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/reference"
)

// errNotFull is wrapped by errors about references without a registry.
var errNotFull = errors.New("not a full image reference")

// The host of Docker Hub in references, and its namespace for official images.
const (
	dockerHub     = "docker.io"
	dockerLibrary = "library"
)

// parseRemote parses a reference to an image in a registry. It must be complete, because the meaning of a short name
// depends on the host, and the meaning of a missing tag may change.
func parseRemote(ref string, insecure bool) (name.Reference, error) {
	if before, after, ok := strings.Cut(ref, "://"); ok {
		return nil, fmt.Errorf("remove %q: write %s", before+"://", after)
	}
	repo, digest, hasDigest := strings.Cut(ref, "@")
	repo, tag := reference.CutTag(repo)
	host, path, hasHost := strings.Cut(repo, "/")
	space := legible.WhiteSpace(ref, "")
	switch {
	case ref == "":
		return nil, errors.New("the reference is empty")
	case strings.Contains(ref, ","):
		return nil, fmt.Errorf("a reference has no comma%s", reference.ListHint(ref))
	case !hasHost || !isHost(host):
		return nil, fmt.Errorf("%w: %w", errNotFull, legible.ExplainWhiteSpace(withoutHost(ref), ref, ""))
	case space != "":
		return nil, fmt.Errorf("%q: %s", ref, space)
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

// isHost reports whether the first part of a reference is a registry rather than a namespace on Docker Hub.
func isHost(part string) bool { return strings.ContainsAny(part, ".:") || part == "localhost" }

// withoutHost returns the error for a reference without a host, with the equivalent on Docker Hub if it is valid
// there.
func withoutHost(ref string) error {
	problem := errors.New("it must begin with the host of a registry")
	if full := OnDockerHub(ref); full != "" {
		return fmt.Errorf("%w, as in %s", problem, full)
	}
	return problem
}

// OnDockerHub returns the image on Docker Hub that container runtimes pull for a short name, unless they are configured
// otherwise: docker.io/library/redis:7 for redis:7. It returns "" for a reference with a host and for an invalid one.
func OnDockerHub(ref string) string {
	host, _, hasHost := strings.Cut(ref, "/")
	if hasHost && isHost(host) {
		return ""
	}
	full := dockerHub + "/" + ref
	if !hasHost {
		full = dockerHub + "/" + dockerLibrary + "/" + ref
	}
	if _, tag := reference.CutTag(full); tag == "" {
		full += ":latest"
	}
	if _, err := parseReference(full, false); err != nil {
		return ""
	}
	return full
}

// RepositoryName returns the name of the repository of ref, as in references: docker.io/library/redis.
func RepositoryName(ref name.Reference) string { return podmanName(ref.Context().Name()) }

// ParseReference parses a reference to an image in a registry as Kubernetes does: without a tag and a digest it means
// the tag latest, with a digest the tag is ignored, and docker.io/redis is docker.io/library/redis. As for
// [Opener.Open], the registry is required: the meaning of a short name depends on the host that pulls it.
func ParseReference(text string) (name.Reference, error) {
	full, digest, hasDigest := strings.Cut(text, "@")
	repo, tag := reference.CutTag(full)
	host, path, hasHost := strings.Cut(repo, "/")
	switch {
	case repo == "" || strings.Contains(text, "://") || strings.Contains(text, ","):
		return parseRemote(text, false) // returns the error
	case !hasHost || !isHost(host):
		return nil, legible.ExplainWhiteSpace(withoutHost(text), text, "")
	case host == dockerHub && !strings.Contains(path, "/"):
		repo = dockerHub + "/" + dockerLibrary + "/" + path
	}
	if hasDigest {
		return parseRemote(repo+"@"+digest, false)
	}
	return parseRemote(repo+":"+cmp.Or(tag, "latest"), false)
}
