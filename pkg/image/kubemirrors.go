package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/regular"
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

// A mirrorKind is a kind of Kubernetes object that configures mirrors.
type mirrorKind struct {
	apiVersion string
	field      string // of spec, with the mirrors
	from       string // pull-from-mirror of registries.conf
	policy     bool   // an entry may have a mirrorSourcePolicy
}

// mirrorKinds are the kinds of objects that OpenShift configures mirrors with, see
// https://docs.redhat.com/en/documentation/openshift_container_platform/4.19/html/config_apis/.
var mirrorKinds = map[string]mirrorKind{
	"ImageDigestMirrorSet": {
		"config.openshift.io/v1", "imageDigestMirrors", sysregistriesv2.MirrorByDigestOnly, true,
	},
	"ImageTagMirrorSet": {
		"config.openshift.io/v1", "imageTagMirrors", sysregistriesv2.MirrorByTagOnly, true,
	},
	"ImageContentSourcePolicy": {
		"operator.openshift.io/v1alpha1", "repositoryDigestMirrors", sysregistriesv2.MirrorByDigestOnly, false,
	},
}

// A mirrorReader reads the objects of a file into sets, and collects errors.
type mirrorReader struct {
	file string
	sets *mirrorSets
	errs []error
}

// read adds the objects of a file. The error joins an error for each problem, in the order of the file.
func (s *mirrorSets) read(file string) error {
	data, err := regular.ReadNamed(file)
	if err != nil {
		return fmt.Errorf("read mirrors: %w", err)
	}
	r := &mirrorReader{file: file, sets: s}
	r.documents(data)
	return errors.Join(r.errs...)
}

func (r *mirrorReader) documents(data []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if err == io.EOF {
			return
		}
		if at, ok := errors.AsType[*yaml.LoadError](err); ok && at.Mark.Line > 0 {
			err = fmt.Errorf("%s:%d:%d: %s", r.file, at.Mark.Line, max(at.Mark.Column, 1), at.Message)
		} else if err != nil {
			err = fmt.Errorf("%s: %w", r.file, err)
		}
		if err != nil {
			r.errs = append(r.errs, err)
			return
		}
		for _, root := range document.Content {
			if root.Tag != "!!null" {
				r.object(root, true)
			}
		}
	}
}

// object adds an object or, at the root, the objects of a list as printed by `oc get -o yaml`.
func (r *mirrorReader) object(n *yaml.Node, root bool) {
	parts := map[string]*yaml.Node{}
	for pair := range slices.Chunk(r.value(n, yaml.MappingNode).Content, 2) {
		parts[pair[0].Value] = pair[1]
	}
	kindName := r.value(parts["kind"], yaml.ScalarNode).Value
	apiVersion := r.value(parts["apiVersion"], yaml.ScalarNode).Value
	if items, ok := parts["items"]; ok && root && strings.HasSuffix(kindName, "List") {
		for _, item := range r.value(items, yaml.SequenceNode).Content {
			r.object(item, false)
		}
		return
	}
	kind, ok := mirrorKinds[kindName]
	if !ok || kind.apiVersion != apiVersion {
		r.fail(n, "%q of %q has no mirrors, want ImageDigestMirrorSet or ImageTagMirrorSet of config.openshift.io/v1 "+
			"or ImageContentSourcePolicy of operator.openshift.io/v1alpha1", kindName, apiVersion)
		return
	}
	for pair := range slices.Chunk(r.value(parts["spec"], yaml.MappingNode).Content, 2) {
		key, list := pair[0], pair[1]
		if key.Value != kind.field {
			r.fail(key, "unknown field spec.%s of %s, want %s", key.Value, kindName, kind.field)
			continue
		}
		for _, entry := range r.value(list, yaml.SequenceNode).Content {
			r.entry(entry, kind)
		}
	}
}

// entry adds one source of an object and its mirrors.
func (r *mirrorReader) entry(n *yaml.Node, kind mirrorKind) {
	before := len(r.errs)
	var source, policy string
	var mirrors []string
	for pair := range slices.Chunk(r.value(n, yaml.MappingNode).Content, 2) {
		key, value := pair[0], pair[1]
		switch {
		case key.Value == "source":
			source = r.location(value, true)
		case key.Value == "mirrors":
			for _, mirror := range r.value(value, yaml.SequenceNode).Content {
				mirrors = append(mirrors, r.location(mirror, false))
			}
		case key.Value == "mirrorSourcePolicy" && kind.policy:
			policy = r.value(value, yaml.ScalarNode).Value
			if policy != "" && policy != "AllowContactingSource" && policy != "NeverContactSource" {
				r.fail(value, "mirrorSourcePolicy %q, want AllowContactingSource or NeverContactSource", policy)
			}
		default:
			r.fail(key, "unknown field %q in %s", key.Value, kind.field)
		}
	}
	if len(r.errs) > before {
		return
	}
	if source == "" {
		r.fail(n, "an entry of %s without source", kind.field)
		return
	}
	blocker := ""
	if policy == "NeverContactSource" {
		blocker = fmt.Sprintf("%s:%d", r.file, n.Line)
	}
	r.sets.add(mirrorUse{source, kind.from}, mirrors, blocker)
}

// location returns a source or a mirror.
func (r *mirrorReader) location(n *yaml.Node, source bool) string {
	s := r.value(n, yaml.ScalarNode).Value
	if err := checkLocation(s, source); err != nil {
		r.fail(n, "%w", err)
	}
	return s
}

// yamlKinds are the names of the kinds of nodes in errors.
var yamlKinds = map[yaml.Kind]string{
	yaml.MappingNode: "an object", yaml.SequenceNode: "a list", yaml.ScalarNode: "a string",
}

// value returns a node, or the target of an alias. The result is empty if the node is missing or null, and if it is of
// another kind, which is an error.
func (r *mirrorReader) value(n *yaml.Node, kind yaml.Kind) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Tag == "!!null" {
		return &yaml.Node{}
	}
	if n.Kind != kind {
		r.fail(n, "not %s", yamlKinds[kind])
		return &yaml.Node{}
	}
	return n
}

// fail adds an error at a node.
func (r *mirrorReader) fail(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: %w", r.file, n.Line, n.Column, fmt.Errorf(format, args...)))
}
