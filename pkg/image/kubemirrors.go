package image

import (
	"fmt"
	"slices"
	"strings"

	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
)

// mirrorSets collect the mirrors of each source, in the order of the files.
type mirrorSets struct {
	sources  []string
	lists    map[mirrorUse][][]string // lists of mirrors as they were given
	blockers map[string]string        // where contact with a source is forbidden
}

// A mirrorUse is a source and what its mirrors are for.
type mirrorUse struct{ source, from string }

// add notes mirrors of a source and, if blocker is not empty, that it must not be contacted. As on a cluster, the
// stricter of two policies counts, for tags and digests alike.
func (s *mirrorSets) add(use mirrorUse, mirrors []string, blocker string) {
	if s.lists == nil {
		s.lists, s.blockers = map[mirrorUse][][]string{}, map[string]string{}
	}
	if !slices.Contains(s.sources, use.source) {
		s.sources = append(s.sources, use.source)
	}
	s.lists[use] = append(s.lists[use], mirrors)
	if _, ok := s.blockers[use.source]; !ok && blocker != "" {
		s.blockers[use.source] = blocker
	}
}

// registries returns the sources in the form of registries.conf.
func (s *mirrorSets) registries() []sysregistriesv2.Registry {
	var registries []sysregistriesv2.Registry
	for _, source := range s.sources {
		r := sysregistriesv2.Registry{Prefix: source}
		if !strings.HasPrefix(source, "*.") {
			r.Location = source
		}
		for _, from := range []string{sysregistriesv2.MirrorByDigestOnly, sysregistriesv2.MirrorByTagOnly} {
			for _, mirror := range mergeOrders(s.lists[mirrorUse{source, from}]) {
				r.Mirrors = append(r.Mirrors, sysregistriesv2.Endpoint{Location: mirror, PullFromMirror: from})
			}
		}
		_, r.Blocked = s.blockers[source]
		registries = append(registries, r)
	}
	return registries
}

// mergeOrders returns the elements of all lists once, each behind those that precede it in any list. If the lists
// contradict each other or do not say, the first that comes is first.
func mergeOrders(lists [][]string) []string {
	var open, merged []string
	for _, list := range lists {
		for _, element := range list {
			if !slices.Contains(open, element) {
				open = append(open, element)
			}
		}
	}
	for len(open) > 0 {
		free := func(element string) bool { return isFree(element, open, lists) }
		next := max(slices.IndexFunc(open, free), 0)
		merged = append(merged, open[next])
		open = slices.Delete(open, next, next+1)
	}
	return merged
}

// isFree reports whether no open element precedes element in any list.
func isFree(element string, open []string, lists [][]string) bool {
	for _, list := range lists {
		before := list[:max(slices.Index(list, element), 0)]
		if slices.ContainsFunc(before, func(e string) bool { return slices.Contains(open, e) }) {
			return false
		}
	}
	return true
}

// checkLocation returns an error unless s is a registry or a repository, without scheme, tag or digest. A source may
// also be all registries of a domain.
func checkLocation(s string, source bool) error {
	host, path, isRepository := strings.Cut(s, "/")
	if domain, ok := strings.CutPrefix(host, "*."); ok && source {
		if isRepository || strings.Contains(domain, ":") {
			return fmt.Errorf("%q: a wildcard must be followed by a domain only", s)
		}
		host = domain
	}
	if !isRepository {
		path = "some/repository"
	}
	named, err := reference.ParseNamed(host + "/" + path)
	if err != nil || !reference.IsNameOnly(named) {
		return fmt.Errorf("%q is not a registry or repository, such as quay.io or quay.io/org/app", s)
	}
	return nil
}
