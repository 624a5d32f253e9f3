package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const templates = "templates/"

// A parameter is a value of a chart and its paths in the objects. The chart of a Deployment has its own templates; see
// [Set.chart].
type parameter struct {
	name       string
	expression string   // in the template, at these paths
	places     []string // KIND/KEY/KEY
}

var parameters = []parameter{
	{"image", "toJson .Values.image", []string{
		"CatalogSource/spec/image", "ClusterCatalog/spec/source/image/ref", "Job/spec/template/spec/containers/image",
	}},
	{"resources", "toJson .Values.resources", []string{"Job/spec/template/spec/containers/resources"}},
}

// at returns the map that contains the last key of a path, and that key; ok is false if the object has no such path.
// In a list it takes the first element.
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

// values returns the default values of the chart, which are the values in the objects.
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

// template returns an object as a template of the chart: the YAML of the object with escaped braces, so that it renders
// as the same text, except for the parameters. Parameters are printed as JSON, which is valid YAML.
func (t tree) template() ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var changed tree
	if err := json.Unmarshal(text, &changed); err != nil {
		return nil, err
	}
	mark := "parameter"
	for bytes.Contains(text, []byte(mark)) { // the object has a text with the mark
		mark += "-x"
	}
	edits := []string{"{{", "{{`{{`}}"}
	for i, p := range parameters {
		placeholder := fmt.Sprintf("%s-%d", mark, i)
		edits = append(edits, placeholder, "{{ "+p.expression+" }}")
		for _, place := range p.places {
			if in, key, ok := changed.at(place); ok {
				in[key] = placeholder
			}
		}
	}
	text, err = appendYAML(nil, changed)
	return []byte(strings.NewReplacer(edits...).Replace(string(text))), err
}
