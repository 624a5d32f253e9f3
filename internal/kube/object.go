package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

// jsonv1Options write the types of Kubernetes.
var jsonv1Options = jsonv1.DefaultOptionsV1()

// An object is an object of a list, of which only the metadata are decoded.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Other      jsontext.Value `json:",embed"`
}

type metadata struct {
	Namespace     string            `json:"namespace,omitempty"`
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	ManagedFields jsontext.Value    `json:"managedFields,omitzero"`
	Other         jsontext.Value    `json:",embed"`
}

// object decodes an object of the page. Objects in lists need not repeat their type.
func (p *page) object(raw jsontext.Value) (*object, error) {
	o := &object{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, err
	}
	o.APIVersion, o.Kind = p.version, p.kind.kind
	if p.kind.group != "" {
		o.APIVersion = p.kind.group + "/" + p.version
	}
	o.Metadata.ManagedFields = nil
	return o, nil
}

// isOfOLM reports whether an annotation of a Secret is one of OLM. Others may have the data of the Secret, such as the
// annotation of kubectl apply.
func isOfOLM(annotation, _ string) bool {
	return annotation == "olmcahash" || strings.HasPrefix(annotation, "olm.") ||
		strings.Contains(annotation, "operatorframework.io/") || strings.Contains(annotation, "operators.coreos.com/")
}

// text returns the object as indented JSON. A partial one has only metadata, whatever the API server sent.
func (o *object) text(partial bool) ([]byte, error) {
	if partial {
		o.Other = nil
	}
	if o.Kind == "Secret" {
		maps.DeleteFunc(o.Metadata.Annotations, func(k, v string) bool { return !isOfOLM(k, v) })
	}
	raw, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", o.Kind, o.Metadata.Name, err)
	}
	return indented(raw)
}

// The limits of indentation, which otherwise could make an object thousands of times as large. No API server stores
// objects of this size.
const (
	maxIndented = 2 << 20 // bytes
	maxLevels   = 64
)

// indented returns JSON with one value a line, and a final line break. An object beyond the limits stays on one line.
func indented(raw jsontext.Value) ([]byte, error) {
	if len(raw) <= maxIndented && levels(raw) <= maxLevels {
		if err := raw.Indent(jsontext.WithIndent("  ")); err != nil {
			return nil, err
		}
	}
	return append(raw, '\n'), nil
}

// levels returns the number of objects and lists around the innermost value of valid JSON.
func levels(raw jsontext.Value) (most int) {
	level, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			most = max(most, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return most
}

// note records the facts of an object on which further requests depend.
func (p *page) note(o *object) {
	namespace := o.Metadata.Namespace
	if namespace != "" && !isSegment(namespace) {
		return // the state shows it, and no request can have it
	}
	switch o.Kind {
	case "Subscription":
		var s struct {
			Spec struct {
				SourceNamespace string `json:"sourceNamespace"`
			} `json:"spec"`
		}
		if json.Unmarshal(o.Other, &s) == nil && isSegment(s.Spec.SourceNamespace) {
			p.catalogs[s.Spec.SourceNamespace] = true
		}
		p.operated[namespace], p.installed[namespace] = true, true
	case "CatalogSource":
		var c struct {
			Spec struct {
				SourceType string `json:"sourceType"`
			} `json:"spec"`
		}
		if json.Unmarshal(o.Other, &c) == nil && (c.Spec.SourceType == "configmap" || c.Spec.SourceType == "internal") {
			p.contents[namespace] = true
		}
		p.operated[namespace] = true
	case "OperatorGroup":
		p.operated[namespace] = true
	case "ClusterServiceVersion":
		if !p.kind.partial {
			p.operated[namespace], p.installed[namespace] = true, true
			p.noteOwned(o)
		}
	case "ClusterExtension":
		var e struct {
			Spec struct {
				Namespace string `json:"namespace"`
			} `json:"spec"`
		}
		if json.Unmarshal(o.Other, &e) == nil && isSegment(e.Spec.Namespace) {
			p.operated[e.Spec.Namespace], p.installed[e.Spec.Namespace] = true, true
		}
	case "CustomResourceDefinition":
		p.noteDefinition(o)
	}
}

// isNoted reports whether further requests may depend on the objects of the page.
func (p *page) isNoted() bool {
	switch p.kind.kind {
	case "Subscription", "CatalogSource", "OperatorGroup", "ClusterExtension", "CustomResourceDefinition":
		return true
	case "ClusterServiceVersion":
		return !p.kind.partial
	}
	return false
}

// scopeSize returns a number that grows if further requests need other kinds or namespaces.
func (r *reader) scopeSize() int {
	return len(r.operated) + len(r.installed) + len(r.catalogs) + len(r.contents) + len(r.owned) + len(r.custom)
}

// noteOwned records the definitions of an operator.
func (p *page) noteOwned(o *object) {
	var c struct {
		Spec struct {
			Definitions struct {
				Owned []struct {
					Name string `json:"name"`
				} `json:"owned"`
			} `json:"customresourcedefinitions"`
		} `json:"spec"`
	}
	if json.Unmarshal(o.Other, &c) != nil {
		return
	}
	for _, d := range c.Spec.Definitions.Owned {
		p.owned[d.Name] = true
	}
}

// noteDefinition records the kind of the custom resources of an operator.
func (p *page) noteDefinition(o *object) {
	ofV1 := o.Metadata.Labels["olm.operatorframework.io/owner-kind"] == "ClusterExtension"
	if !ofV1 && !p.owned[o.Metadata.Name] {
		return
	}
	var d struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind   string `json:"kind"`
				Plural string `json:"plural"`
			} `json:"names"`
			Scope    string `json:"scope"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if json.Unmarshal(o.Other, &d) != nil {
		return
	}
	if !isGroup(d.Spec.Group) || !isSegment(d.Spec.Names.Plural) {
		return // no cluster has it
	}
	k := kind{group: d.Spec.Group, resource: d.Spec.Names.Plural, kind: d.Spec.Names.Kind, scope: clustered}
	if d.Spec.Scope == "Namespaced" {
		k.scope = everywhere
	}
	for _, v := range d.Spec.Versions {
		if v.Served && isSegment(v.Name) {
			k.versions = append(k.versions, v.Name)
		}
	}
	same := func(other kind) bool { return other.groupKind() == k.groupKind() }
	if len(k.versions) > 0 && !slices.ContainsFunc(p.custom, same) {
		p.custom = append(p.custom, k)
	}
}

// isSegment reports whether a name can be a segment of the path of a request.
func isSegment(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

// isGroup reports whether a name can be the API group of a definition. The core API has none.
func isGroup(name string) bool { return isSegment(name) && strings.Contains(name, ".") }
