package image

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
)

// mirrorSets collect the mirrors of each source, in the order of the files.
type mirrorSets struct {
	sources  []string
	lists    map[mirrorUse][][]string // lists of mirrors as given in the files
	blockers map[string]string        // by source: the position of the policy that forbids contact with it
}

// A mirrorUse is a source and the references that its mirrors are for, as pull-from-mirror of registries.conf.
type mirrorUse struct{ source, from string }

// add adds mirrors of a source. If blocker is not empty, it is the position of the policy that forbids contact with
// the source. As on a cluster, the stricter of two policies applies, to tags and digests alike.
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

// mergeOrders returns the elements of all lists once, each after the elements that precede it in any list. If the lists
// contradict each other or do not determine the order, the element that was read first is first.
func mergeOrders(lists [][]string) []string {
	var open, merged []string
	for _, list := range lists {
		for _, element := range list {
			if !slices.Contains(open, element) {
				open = append(open, element)
			}
		}
	}
	isOpen := func(e string) bool { return slices.Contains(open, e) }
	isFree := func(element string) bool { // no open element precedes it in any list
		return !slices.ContainsFunc(lists, func(list []string) bool {
			return slices.ContainsFunc(list[:max(slices.Index(list, element), 0)], isOpen)
		})
	}
	for len(open) > 0 {
		next := max(slices.IndexFunc(open, isFree), 0)
		merged = append(merged, open[next])
		open = slices.Delete(open, next, next+1)
	}
	return merged
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

// A mirrorObject is an object that configures mirrors, or a list of such objects as printed by `oc get -o yaml`.
type mirrorObject struct {
	APIVersion string                   `json:"apiVersion"`
	Kind       string                   `json:"kind"`
	Metadata   jsontext.Value           `json:"metadata"`
	Status     jsontext.Value           `json:"status"`
	Spec       map[string][]mirrorEntry `json:"spec"`
	Items      []mirrorObject           `json:"items"`
}

// A mirrorEntry has a source and its mirrors.
type mirrorEntry struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors"`
	Policy  string   `json:"mirrorSourcePolicy"` // not in an ImageContentSourcePolicy
}

// mirrorKinds are the fields of the spec with mirrors by the kind of object that OpenShift configures mirrors with, see
// https://docs.redhat.com/en/documentation/openshift_container_platform/4.19/html/config_apis/.
var mirrorKinds = map[string]string{
	"config.openshift.io/v1/ImageDigestMirrorSet":             "imageDigestMirrors",
	"config.openshift.io/v1/ImageTagMirrorSet":                "imageTagMirrors",
	"operator.openshift.io/v1alpha1/ImageContentSourcePolicy": "repositoryDigestMirrors",
}

// MirrorKinds returns the kinds of the objects that configure mirrors, as KIND.GROUP, sorted.
func MirrorKinds() []string {
	var kinds []string
	for key := range mirrorKinds {
		parts := strings.Split(key, "/")
		kinds = append(kinds, parts[2]+"."+parts[0])
	}
	slices.Sort(kinds)
	return kinds
}

// A mirrorReader reads the objects of a document into sets, and collects errors.
type mirrorReader struct {
	*strictyaml.File
	sets     *mirrorSets
	errs     []error
	unplaced bool // the lines of the text mean nothing to its readers
}

// read adds the objects of a file. The error joins an error for each problem.
func (s *mirrorSets) read(file string) error {
	data, err := regular.ReadNamed(file)
	if err != nil {
		return fmt.Errorf("read mirrors: %w", err)
	}
	return s.parse(file, data)
}

func (s *mirrorSets) parse(file string, data []byte) error {
	var errs []error
	err := strictyaml.Each(file, data, func(f *strictyaml.File) {
		r := mirrorReader{File: f, sets: s}
		var head, o mirrorObject
		_ = f.Decode(&head, strictyaml.Options{Tolerant: true}) // other objects have other keys
		if _, ok := mirrorKinds[head.APIVersion+"/"+head.Kind]; ok || isMirrorList(head) {
			errs = append(errs, f.Decode(&o, strictyaml.Options{}))
			head = o
		}
		if f.JSON().Kind() != jsontext.KindNull {
			r.object(head, "", true)
		}
		errs = append(errs, r.errs...)
	})
	return errors.Join(append(errs, err)...)
}

// A clusterMirrors is an object of a cluster that configures mirrors, which may have more keys.
type clusterMirrors struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Digests  []mirrorEntry `json:"imageDigestMirrors"`
		Tags     []mirrorEntry `json:"imageTagMirrors"`
		Policies []mirrorEntry `json:"repositoryDigestMirrors"`
	} `json:"spec"`
}

// entries returns the entries by the fields of the spec that have them.
func (c *clusterMirrors) entries() map[string][]mirrorEntry {
	return map[string][]mirrorEntry{
		"imageDigestMirrors": c.Spec.Digests, "imageTagMirrors": c.Spec.Tags, "repositoryDigestMirrors": c.Spec.Policies,
	}
}

// parseObject adds an object of a cluster, without keys that are unknown. The errors have its name, but no lines of its
// text, which nobody can open.
func (s *mirrorSets) parseObject(object MirrorObject) error {
	f, err := strictyaml.Read(object.Name, object.Text)
	var errs []error
	if err == nil {
		var o clusterMirrors
		ignore := func(*place.Error) {}
		err := f.Decode(&o, strictyaml.Options{Tolerant: true, Warn: ignore})
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			errs = joined.Unwrap()
		} else if err != nil {
			errs = append(errs, err)
		}
		r := mirrorReader{File: f, sets: s, unplaced: true}
		field := mirrorKinds[o.APIVersion+"/"+o.Kind]
		r.object(mirrorObject{
			APIVersion: o.APIVersion, Kind: o.Kind, Spec: map[string][]mirrorEntry{field: o.entries()[field]},
		}, "", true)
		errs = append(errs, r.errs...)
	} else {
		errs = append(errs, err)
	}
	for i, err := range errs {
		if e, ok := errors.AsType[*place.Error](err); ok {
			errs[i] = &place.Error{Pos: place.Pos{File: object.Name}, Pointer: e.Pointer, Err: e.Err}
		}
	}
	return errors.Join(errs...)
}

func isMirrorList(o mirrorObject) bool { return strings.HasSuffix(o.Kind, "List") && o.Items != nil }

// object adds the object at ptr or, at the root, the objects of a list.
func (r *mirrorReader) object(o mirrorObject, at jsontext.Pointer, root bool) {
	if root && isMirrorList(o) {
		for i, item := range o.Items {
			r.object(item, place.Item(at+"/items", i), false)
		}
		return
	}
	field, ok := mirrorKinds[o.APIVersion+"/"+o.Kind]
	if !ok {
		r.fail(r.Errorf(at, "%q of %q has no mirrors, want ImageDigestMirrorSet or ImageTagMirrorSet of "+
			"config.openshift.io/v1 or ImageContentSourcePolicy of operator.openshift.io/v1alpha1", o.Kind, o.APIVersion))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o.Spec)) {
		at := at + jsontext.Pointer("/spec").AppendToken(key)
		if key != field {
			r.fail(r.KeyErrorf(at, "unknown field spec.%s of %s, want %s", key, o.Kind, field))
			continue
		}
		for i, e := range o.Spec[key] {
			r.entry(e, place.Item(at, i), field)
		}
	}
}

// entry adds one source of an object and its mirrors.
func (r *mirrorReader) entry(e mirrorEntry, at jsontext.Pointer, field string) {
	before, from := len(r.errs), sysregistriesv2.MirrorByDigestOnly
	if field == "imageTagMirrors" {
		from = sysregistriesv2.MirrorByTagOnly
	}
	if e.Source == "" {
		r.fail(r.Errorf(at, "an entry of %s without source", field))
	} else if err := checkLocation(e.Source, true); err != nil {
		r.fail(r.Errorf(at+"/source", "%w", err))
	}
	for i, mirror := range e.Mirrors {
		if err := checkLocation(mirror, false); err != nil {
			r.fail(r.Errorf(place.Item(at+"/mirrors", i), "%w", err))
		}
	}
	blocker, policyAt := "", at+"/mirrorSourcePolicy"
	switch {
	case e.Policy != "" && field == "repositoryDigestMirrors":
		r.fail(r.KeyErrorf(policyAt, "unknown field %q in %s", "mirrorSourcePolicy", field))
	case e.Policy == "NeverContactSource":
		blocker = r.Name()
		if !r.unplaced {
			blocker += fmt.Sprintf(":%d", r.Pos(at)[0].Line)
		}
	case e.Policy != "" && e.Policy != "AllowContactingSource":
		r.fail(r.Errorf(policyAt, "mirrorSourcePolicy %q, want AllowContactingSource or NeverContactSource", e.Policy))
	}
	if len(r.errs) == before {
		r.sets.add(mirrorUse{e.Source, from}, e.Mirrors, blocker)
	}
}

// fail adds an error, whose text says what it is about.
func (r *mirrorReader) fail(err *place.Error) {
	err.Pointer = ""
	r.errs = append(r.errs, err)
}
