package main

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// writeReport writes a value as text or Markdown with its own functions, or as [writeValue] does.
func writeReport(w io.Writer, v any, form string, text, markdown func(io.Writer) error) error {
	switch form {
	case "text":
		return text(w)
	case "markdown":
		return markdown(w)
	}
	return writeValue(w, v, form)
}

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
