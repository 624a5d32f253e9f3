package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Outline returns the keys of one of [Files] that has one kind of object, such as opm.yaml, in alphabetical order: YAML
// with the description of each key as a comment above it, and the type in place of its value. The key NAME stands for
// any name.
func Outline(name string) (string, error) {
	text, err := JSONSchema(name)
	if err != nil {
		return "", err
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		return "", err
	}
	o := outliner{defs: root.Defs}
	o.keys(&root, "")
	return o.String(), nil
}

// A schemaNode is the part of a JSON Schema that an outline shows.
type schemaNode struct {
	Defs        map[string]*schemaNode `json:"$defs"`
	Ref         string                 `json:"$ref"`
	Type        string                 `json:"type"`
	Description string                 `json:"description"`
	Properties  map[string]*schemaNode `json:"properties"`
	Additional  any                    `json:"additionalProperties"` // false or a schemaNode
	Items       *schemaNode            `json:"items"`
	Enum        []any                  `json:"enum"`
	AllOf       []*schemaNode          `json:"allOf"`
}

// others returns the schema of the keys that have no name of their own, or nil.
func (n *schemaNode) others() *schemaNode {
	if _, ok := n.Additional.(map[string]any); !ok {
		return nil
	}
	text, err := json.Marshal(n.Additional)
	if err != nil {
		return nil
	}
	var others schemaNode
	if json.Unmarshal(text, &others) != nil {
		return nil
	}
	return &others
}

// An outliner writes an outline.
type outliner struct {
	strings.Builder

	defs map[string]*schemaNode
}

// resolved returns the schema that a reference names, or the schema itself.
func (o *outliner) resolved(n *schemaNode) *schemaNode {
	if def := o.defs[strings.TrimPrefix(n.Ref, "#/$defs/")]; n.Ref != "" && def != nil {
		return def
	}
	return n
}

// keys writes the keys of an object.
func (o *outliner) keys(n *schemaNode, indent string) {
	for _, key := range slices.Sorted(maps.Keys(n.Properties)) {
		o.key(key, n.Properties[key], indent)
	}
	if others := n.others(); others != nil {
		o.key("NAME", others, indent)
	}
}

func (o *outliner) key(key string, n *schemaNode, indent string) {
	if n.Description != "" {
		fmt.Fprintf(o, "%s# %s\n", indent, n.Description)
	}
	of := o.resolved(n)
	if of != n && of.Description != "" {
		fmt.Fprintf(o, "%s# %s\n", indent, of.Description)
	}
	if of.Properties != nil || of.others() != nil {
		fmt.Fprintf(o, "%s%s:\n", indent, key)
		o.keys(of, indent+"  ")
		return
	}
	if of.Items != nil {
		if item := o.resolved(of.Items); item.Properties != nil {
			fmt.Fprintf(o, "%s%s:\n%s-\n", indent, key, indent)
			o.keys(item, indent+"  ")
			return
		}
	}
	fmt.Fprintf(o, "%s%s: %s\n", indent, key, o.value(of))
}

// value returns the type of a value, or its possible values.
func (o *outliner) value(n *schemaNode) string {
	switch {
	case n.Enum != nil:
		var words []string
		for _, v := range n.Enum {
			if word, ok := v.(string); ok { // false is another way to write off
				words = append(words, word)
			}
		}
		return strings.Join(words, " | ")
	case n.Items != nil:
		return "[" + strings.ToUpper(o.value(o.resolved(n.Items))) + ", ...]"
	}
	typ := n.Type
	for _, part := range n.AllOf {
		typ = part.Type
	}
	return strings.ToUpper(typ)
}
