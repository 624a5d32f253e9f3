package main

import (
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// textOutput returns standard output for people and for logs, as a [legible.Writer].
func textOutput(cmd *cobra.Command) io.Writer { return legible.NewWriter(cmd.OutOrStdout()) }

// dataOutput returns standard output for programs, without escaping.
func dataOutput(cmd *cobra.Command) io.Writer { return cmd.OutOrStdout() }

// dataFormats are the formats that programs read. Their encoders escape control characters.
var dataFormats = []string{"json", "yaml", "html", "svg", string(problem.SARIF), string(problem.GitHub)}

// outputAs returns standard output for a format.
func outputAs(cmd *cobra.Command, form string) io.Writer {
	if slices.Contains(dataFormats, form) {
		return dataOutput(cmd)
	}
	return textOutput(cmd)
}

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
