package validate

import (
	"strings"

	"github.com/distribution/reference"
)

// images parses image references. It caches the repositories of valid references, because most references of a catalog
// repeat a repository, and the regular expressions of the library are slow.
type images struct {
	repositories map[string]bool
}

const (
	maxRepositories = 10_000 // maximum size of the cache; a large catalog has 1,500
	maxRepository   = 255    // maximum length of a cached repository in bytes
)

// parse reports whether a reference has a digest. The error comes from the library.
func (r *images) parse(image string) (hasDigest bool, err error) {
	repository, hasDigest := repositoryOf(image)
	if r.repositories[repository] {
		return hasDigest, nil
	}
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false, err
	}
	if repository != "" && len(repository) <= maxRepository {
		if r.repositories == nil || len(r.repositories) == maxRepositories {
			r.repositories = make(map[string]bool)
		}
		r.repositories[repository] = true
	}
	_, hasDigest = named.(reference.Digested)
	return hasDigest, nil
}

// repositoryOf returns the repository of a reference that ends with a valid tag, a valid SHA-256 digest, or both. It
// returns "" for other references, because their validity may depend on more than the repository.
func repositoryOf(image string) (repository string, hasDigest bool) {
	name, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest && !isSHA256(digest) {
		return "", false
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		if !isTag(name[i+1:]) {
			return "", false
		}
		name = name[:i]
	}
	if name == image {
		return "", false
	}
	return name, hasDigest
}

const (
	hexDigits = "0123456789abcdef"
	tagLetter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789"
)

func isSHA256(digest string) bool {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	return ok && len(sum) == 64 && strings.Trim(sum, hexDigits) == ""
}

func isTag(tag string) bool {
	rest := strings.TrimLeft(tag, tagLetter)
	return tag != rest && len(tag) <= 128 && strings.Trim(rest, tagLetter+".-") == ""
}
