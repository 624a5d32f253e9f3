package reference

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Named is an argument [NAME=]CATALOG.
type Named struct {
	Name string // in output and, of a served catalog, over HTTP
	Ref  string
}

// IsPath reports whether the reference is a directory or a file, which can be watched and read again.
func (r *Named) IsPath() bool {
	k := Of(r.Ref).Kind
	return !k.IsImage() && k != StandardInput && k != Pipe
}

// IsSame reports whether two arguments name the same catalog.
func (r *Named) IsSame(other *Named) bool {
	a, errA := os.Stat(r.Ref)
	b, errB := os.Stat(other.Ref)
	return r.Ref == other.Ref || errA == nil && errB == nil && os.SameFile(a, b)
}

// ParseNamed reads arguments [NAME=]CATALOG, whose names must differ. Images of one repository are told apart by
// their tags.
func ParseNamed(args []string) ([]*Named, error) {
	var refs []*Named
	count := map[string]int{}
	for _, arg := range args {
		r := parseNamed(arg)
		refs = append(refs, r)
		count[r.Name]++
	}
	seen := map[string]string{}
	hasStdin := false
	for i, r := range refs {
		if tag := tagOf(r.Ref); tag != "" && count[r.Name] > 1 && r.Ref == args[i] {
			r.Name += "-" + tag
		}
		other, repeated := seen[r.Name]
		switch {
		case r.Name == "":
			return nil, fmt.Errorf("no name before the equals sign of %q", args[i])
		case r.Ref == Stdin && hasStdin:
			return nil, errors.New("standard input can be read only once")
		case repeated:
			return nil, fmt.Errorf("%q and %q are both named %s; name one, as in NAME=CATALOG", other, args[i], r.Name)
		}
		seen[r.Name] = args[i]
		hasStdin = hasStdin || r.Ref == Stdin
	}
	return refs, nil
}

// parseNamed reads [NAME=]CATALOG. A path that exists is not a name.
func parseNamed(arg string) *Named {
	name, ref, named := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); err == nil || !named || strings.ContainsAny(name, `/\:@`) {
		return &Named{BaseName(arg), arg}
	}
	return &Named{name, ref}
}

// BaseName returns the last component of a reference, without the extension of a file or the tag and digest of an
// image.
func BaseName(ref string) string {
	r := Of(ref)
	if r.Kind == StandardInput {
		return "stdin"
	}
	base := path.Base(ref)
	if r.Kind != Registry {
		base = path.Base(filepath.ToSlash(r.Path))
		if abs, err := filepath.Abs(r.Path); err == nil {
			base = path.Base(filepath.ToSlash(abs))
		}
	}
	base, _, _ = strings.Cut(base, "@")
	if r.Kind.IsImage() {
		base, _, _ = strings.Cut(base, ":")
	}
	for _, ext := range []string{".gz", ".tar", ".tgz", ".json", ".yaml", ".yml"} {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// tagOf returns the tag of a reference to an image, or "".
func tagOf(ref string) string {
	r := Of(ref)
	switch {
	case r.Kind == Registry:
		base, _, _ := strings.Cut(path.Base(ref), "@")
		_, tag, _ := strings.Cut(base, ":")
		return tag
	case r.Kind.IsImage() && !strings.HasSuffix(ref, "@"+r.Name):
		return r.Name[strings.LastIndexByte(r.Name, ':')+1:] // it may be a whole reference
	}
	return ""
}
