package validate

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// parseRange parses a version range as OLM does. The error is the reason without text itself.
func parseRange(text string) (graph.Range, error) {
	why := "it is empty"
	if text != "" {
		in, err := graph.ParseRange(text)
		if err == nil {
			return in, nil
		}
		why = err.Error()
		if _, detail, ok := strings.Cut(why, `": `); ok && strings.HasPrefix(why, "Could not parse Range ") {
			why = strings.Replace(detail, "Could not parse", "cannot parse the", 1)
		}
	}
	return graph.Range{}, errors.New(why)
}

// requiredRange checks the version range of a dependency.
func (s *scope) requiredRange(rule string, at jsontext.Pointer, text string) {
	switch in, err := parseRange(text); {
	case err != nil:
		s.add(rule, at, "%q is not a valid version range: %v", text, err)
	case in.Empty():
		s.add("empty-range", at, "no version is in the range %q", text)
	}
}
