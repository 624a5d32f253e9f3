package validate

import (
	"errors"
	"strings"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// checkRange returns what keeps text from being a range of versions as OLM reads them, in few words.
func checkRange(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	_, err := graph.ParseRange(text)
	if err == nil {
		return nil
	}
	if _, detail, ok := strings.Cut(err.Error(), `": `); ok && strings.HasPrefix(err.Error(), "Could not parse Range ") {
		return errors.New(strings.Replace(detail, "Could not parse", "cannot read the", 1))
	}
	return err
}
