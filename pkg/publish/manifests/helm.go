package manifests

import (
	"bytes"
	"encoding/json"
	"strings"
)

const templates = "templates/"

// A parameter is a value of the chart, and the places in the objects where it is used.
type parameter struct {
	name       string
	expression string   // of the template, for these places
	places     []string // KIND/KEY/KEY
}

var parameters = []parameter{
	{"image", "toJson .Values.image", []string{
		"CatalogSource/spec/image", "ClusterCatalog/spec/source/image/ref", "Deployment/spec/template/spec/containers/image",
		"Job/spec/template/spec/containers/image",
	}},
	{"replicas", "toJson .Values.replicas", []string{
		"Deployment/spec/replicas", "HorizontalPodAutoscaler/spec/minReplicas",
	}},
	// An autoscaler with a maximum below its minimum is refused.
	{"maxReplicas", "max (int .Values.maxReplicas) (int .Values.replicas)", []string{
		"HorizontalPodAutoscaler/spec/maxReplicas",
	}},
	{"resources", "toJson .Values.resources", []string{
		"Deployment/spec/template/spec/containers/resources", "Job/spec/template/spec/containers/resources",
	}},
}

// at returns the map with the last key of a place in an object, and that key; ok is false if it has none. Of a list,
// the first element counts.
func (t tree) at(place string) (in map[string]any, key string, ok bool) {
	keys := strings.Split(place, "/")
	if t["kind"] != keys[0] {
		return nil, "", false
	}
	in, key = t, keys[len(keys)-1]
	for _, k := range keys[1 : len(keys)-1] {
		next := in[k]
		if list, isList := next.([]any); isList {
			next = list[0]
		}
		in = next.(map[string]any)
	}
	_, ok = in[key]
	return in, key, ok
}

// values returns the values of the chart, as they are in the objects.
func (s *Set) values() tree {
	values := tree{}
	for _, t := range s.trees {
		for _, p := range parameters {
			for _, place := range p.places {
				if in, key, ok := tree(t).at(place); ok {
					values[p.name] = in[key]
				}
			}
		}
	}
	return values
}

// template returns an object as a template of the chart, whose parameters are printed as JSON, which is YAML too.
// Braces that are text stay text.
func (t tree) template() ([]byte, error) {
	const open, end = `{{ `, ` }}`
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var escaped tree
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("{{"), []byte("{{`{{`}}")), &escaped); err != nil {
		return nil, err
	}
	for _, p := range parameters {
		for _, place := range p.places {
			if in, key, ok := escaped.at(place); ok {
				in[key] = open + p.expression + end
			}
		}
	}
	text, err = appendYAML(nil, escaped)
	unquote := strings.NewReplacer("'"+open, open, end+"'", end)
	return []byte(unquote.Replace(string(text))), err
}
