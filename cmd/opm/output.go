package main

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// writeValue writes a value as json or yaml; YAML has the keys sorted.
func writeValue(w io.Writer, v any, form string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if form == "yaml" {
		text = format.AppendYAML(nil, text)
	} else {
		value := jsontext.Value(text)
		if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
		text = append(value, '\n')
	}
	_, err = w.Write(text)
	return err
}
