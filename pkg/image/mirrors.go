package image

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
)

// ErrBlocked is wrapped by the error for an image whose registry must not be contacted and that has no usable mirror.
var ErrBlocked = errors.New("blocked")

// MirrorOptions configure the sources of mirrors. The zero value means registries.conf, if it exists.
type MirrorOptions struct {
	// RegistriesConf is a registries.conf in format 2; "" means the usual files, see containers-registries.conf(5).
	// If set, only the files in the directory with the additional suffix .d are also read.
	RegistriesConf string

	// Files are files with ImageDigestMirrorSet, ImageTagMirrorSet and ImageContentSourcePolicy objects, in YAML or
	// JSON.
	Files []string

	// Objects are further such objects, of a cluster. Those of Files come first. Unknown keys are ignored.
	Objects []MirrorObject

	// Invalid is called with the error about one of Objects, which has no line and of which only valid entries are used.
	// Nil makes it an error of LoadMirrors.
	Invalid func(error)

	// Insecure marks every candidate as insecure.
	Insecure bool
}

// A MirrorObject is the text of an object that configures mirrors.
type MirrorObject struct {
	Name string // in place of that of a file, for errors
	Text []byte // YAML or JSON
}

// Mirrors are the mirrors of registries. A nil *Mirrors has no mirrors. Calls may be concurrent.
type Mirrors struct {
	conf     *types.SystemContext
	sets     []sysregistriesv2.Registry // from Files and Objects, one per source
	blockers map[string]string          // by source: the position of the policy that forbids contact with it
	insecure bool
	none     bool // no mirror or registry is configured
}

// A candidate is a location to pull an image from.
type candidate struct {
	Ref      name.Reference
	Insecure bool // unverified TLS and plain HTTP are allowed; Ref was parsed with [name.Insecure]
	Mirror   bool // not the registry in the reference itself
}

// LoadMirrors reads the configuration. An error has the file and, in [MirrorOptions.Files], the line; all errors in
// these and in Objects are reported. It fails for a user without $XDG_CONFIG_HOME and without a home directory, both in
// $HOME and in the user database.
func LoadMirrors(o MirrorOptions) (*Mirrors, error) {
	m := &Mirrors{conf: registriesConf(o.RegistriesConf), insecure: o.Insecure}
	conf, err := sysregistriesv2.TryUpdatingCache(m.conf)
	if err != nil {
		return nil, fmt.Errorf("read registries.conf: %w", err)
	}
	var sets mirrorSets
	var errs []error
	for _, file := range o.Files {
		errs = append(errs, sets.read(file))
	}
	for _, object := range o.Objects {
		err := sets.parseObject(object)
		if err != nil && o.Invalid != nil {
			o.Invalid(err)
			continue
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m.sets, m.blockers = sets.registries(), sets.blockers
	m.none = len(conf.Registries) == 0 && len(m.sets) == 0 && !m.insecure
	return m, nil
}

// candidates returns the locations to pull ref from, in the order to try: the mirrors from Kubernetes objects, the
// mirrors from registries.conf, and ref itself or its rewritten form from registries.conf. Only the most specific
// matching source counts, among the objects and in registries.conf.
//
// Sources that must not be contacted and blocked mirrors are skipped. If no candidate remains, the error wraps
// [ErrBlocked].
func (m *Mirrors) candidates(ref name.Reference) (candidates []candidate, err error) {
	if m == nil || m.none {
		return []candidate{{Ref: ref}}, nil
	}
	defer func() { err = addContext("mirrors of "+ref.String(), err) }()
	named, err := reference.ParseNamed(podmanName(ref.Name()))
	if err != nil {
		return nil, err
	}
	registry, err := sysregistriesv2.FindRegistry(m.conf, named.Name())
	if err != nil {
		return nil, err
	}
	self := sysregistriesv2.PullSource{Reference: named}
	sources, _, err := pullSources(m.set(named.Name()), self)
	if err != nil {
		return nil, err
	}
	listed, self, err := pullSources(registry, self)
	if err != nil {
		return nil, err
	}
	for _, s := range append(sources, listed...) {
		if candidates, err = m.add(candidates, s, ref, true); err != nil {
			return nil, err
		}
	}
	why := m.blocks(registry)
	if set := m.set(named.Name()); why == "" && set != nil && set.Blocked {
		why = fmt.Sprintf("%s: NeverContactSource for %s", m.blockers[set.Prefix], set.Prefix)
	}
	if why == "" {
		candidates, err = m.add(candidates, self, ref, false)
	}
	if err == nil && len(candidates) == 0 {
		err = blocked(named, cmp.Or(why, "registries.conf blocks where it leads"))
	}
	return candidates, err
}

// destination returns the location to push ref to, which is always ref, because mirrors are for pulling. From
// registries.conf it uses only the registry's own settings: insecure and blocked. If the registry is blocked, the
// error wraps [ErrBlocked].
func (m *Mirrors) destination(ref name.Reference) (candidate, error) {
	if m == nil || m.none {
		return candidate{Ref: ref}, nil
	}
	named := podmanName(ref.Context().Name())
	registry, err := sysregistriesv2.FindRegistry(m.conf, named)
	if err != nil {
		return candidate{}, err
	}
	if why := m.blocks(registry); why != "" {
		return candidate{}, fmt.Errorf("%w: %s", ErrBlocked, why)
	}
	c := candidate{Ref: ref, Insecure: m.insecure || registry != nil && registry.Insecure}
	if c.Insecure {
		c.Ref, err = parseReference(ref.Name(), true)
	}
	return c, err
}

// set returns the mirrors of a repository from the Kubernetes objects, or nil.
func (m *Mirrors) set(repository string) *sysregistriesv2.Registry {
	var best *sysregistriesv2.Registry
	for i, set := range m.sets {
		if sourceMatches(set.Prefix, repository) && (best == nil || specificity(set.Prefix) > specificity(best.Prefix)) {
			best = &m.sets[i]
		}
	}
	return best
}

// pullSources returns the configured mirrors of an image, and the location of the image itself.
func pullSources(r *sysregistriesv2.Registry, self sysregistriesv2.PullSource) (
	[]sysregistriesv2.PullSource, sysregistriesv2.PullSource, error,
) {
	if r == nil {
		return nil, self, nil
	}
	sources, err := r.PullSourcesFromReference(self.Reference)
	if err != nil {
		return nil, self, err
	}
	last := len(sources) - 1
	return sources[:last], sources[last], nil
}

// add appends a source, unless its registry is blocked or it is already a candidate.
func (m *Mirrors) add(to []candidate, s sysregistriesv2.PullSource, ref name.Reference, mirror bool) (
	[]candidate, error,
) {
	if s.Endpoint.NamespaceProxy != "" {
		return nil, fmt.Errorf("registries.conf: %s: namespace-proxy is not supported", s.Endpoint.Location)
	}
	own, err := sysregistriesv2.FindRegistry(m.conf, s.Reference.Name())
	if err != nil {
		return nil, err
	}
	if own != nil && own.Blocked {
		return to, nil
	}
	c := candidate{Ref: ref, Mirror: mirror}
	c.Insecure = m.insecure || s.Endpoint.Insecure || own != nil && own.Insecure
	if c.Insecure || s.Reference.String() != podmanName(ref.Name()) {
		if c.Ref, err = parseReference(s.Reference.String(), c.Insecure); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(to, func(other candidate) bool { return other.Ref.Name() == c.Ref.Name() }) {
		return to, nil
	}
	return append(to, c), nil
}

// blocks returns the reason if registries.conf forbids contact with a registry, or "".
func (m *Mirrors) blocks(registry *sysregistriesv2.Registry) string {
	if registry == nil || !registry.Blocked {
		return ""
	}
	return fmt.Sprintf("registries.conf (one of %s) blocks %s",
		sysregistriesv2.ConfigurationSourceDescription(m.conf), registry.Prefix)
}

// blocked returns the error for an image without candidates.
func blocked(named reference.Named, why string) error {
	kind := "tags"
	if _, ok := named.(reference.Canonical); ok {
		kind = "digests"
	}
	return fmt.Errorf("%w: %s, and no mirror of it for %s may be used", ErrBlocked, why, kind)
}

// specificity orders sources that match the same repository: more specific sources have higher values.
func specificity(source string) int { return len(strings.TrimPrefix(source, "*")) }

// sourceMatches reports whether a source such as quay.io/org or *.example.com matches a repository.
func sourceMatches(source, repository string) bool {
	if domain, ok := strings.CutPrefix(source, "*"); ok {
		host, _, _ := strings.Cut(repository, "/")
		host, _, _ = strings.Cut(host, ":")
		return strings.HasSuffix(host, domain)
	}
	rest, ok := strings.CutPrefix(repository, source)
	return ok && (rest == "" || rest[0] == '/')
}
