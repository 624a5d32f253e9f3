package template

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Convertible returns the types that a catalog can be converted to.
func Convertible() []Type { return []Type{Basic, Substitutes} }

// Convert returns a template with the objects of the sources, in their order. Objects are complete, except that the
// bundles of a basic template have only their image. The error joins the errors of all objects that cannot be read.
func Convert(ctx context.Context, typ Type, f declcfg.Format, sources ...declcfg.Source) ([]byte, error) {
	convert := func(o *declcfg.Object) (converted, error) {
		if typ != Basic || o.Schema != declcfg.SchemaBundle {
			return converted{raw: o.JSON().Clone()}, nil
		}
		v, err := o.Decode()
		if err != nil {
			return converted{}, err
		}
		b := v.(*declcfg.Bundle) //nolint:forcetypeassert // because of its schema
		raw, err := json.Marshal(struct {
			Schema string `json:"schema"`
			Image  string `json:"image"`
		}{b.Schema, b.Image})
		return converted{raw, true}, err
	}
	var entries []converted
	keep := func(_ *declcfg.Meta, e converted) { entries = append(entries, e) }
	if err := declcfg.Collect(ctx, convert, keep, sources...); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == typ })
	return write(typ, kinds[i].schema, entries, f)
}

// A converted is an object converted to a template entry.
type converted struct {
	raw     jsontext.Value
	ordered bool // the keys are in their final order in JSON
}

// MarshalJSON returns the entry.
func (c converted) MarshalJSON() ([]byte, error) { return c.raw, nil }

// write returns a template in the format of upstream: JSON escapes HTML characters, YAML ends with an empty line.
func write(typ Type, schema string, entries []converted, f declcfg.Format) ([]byte, error) {
	if f == declcfg.YAML {
		all := map[string]any{"schema": schema, "entries": entries}
		if typ == Substitutes {
			all["substitutions"] = []any{}
		}
		text, err := json.Marshal(all, json.FormatNilSliceAsNull(true))
		if err != nil {
			return nil, err
		}
		return append(format.AppendYAML([]byte("---\n"), text), '\n'), nil
	}
	text := []byte("{\n    \"schema\": \"" + schema + "\",\n    \"entries\": ")
	if len(entries) == 0 {
		text = append(text, "null"...)
	}
	for i, e := range entries {
		before := ",\n        "
		if i == 0 {
			before = "[\n        "
		}
		text = appendEntry(append(text, before...), e)
	}
	if len(entries) > 0 {
		text = append(text, "\n    ]"...)
	}
	if typ == Substitutes {
		text = append(text, ",\n    \"substitutions\": []"...)
	}
	var escaped bytes.Buffer
	jsonv1.HTMLEscape(&escaped, append(text, "\n}\n"...))
	return escaped.Bytes(), nil
}

// appendEntry appends an entry of a template as indented JSON.
func appendEntry(text []byte, entry converted) []byte {
	if !entry.ordered {
		return format.AppendJSON(text, entry.raw, 2)
	}
	text, _ = jsontext.AppendFormat(text, entry.raw, // valid JSON, so there is no error
		jsontext.WithIndentPrefix("        "), jsontext.WithIndent("    "))
	return text
}
