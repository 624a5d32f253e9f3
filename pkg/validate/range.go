package validate

import (
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// checkRange returns why text is not a range of versions as OLM reads them.
func checkRange(text string) error {
	why := "it is empty"
	if text != "" {
		_, err := graph.ParseRange(text)
		if err == nil {
			return nil
		}
		why = err.Error()
		if _, detail, ok := strings.Cut(why, `": `); ok && strings.HasPrefix(why, "Could not parse Range ") {
			why = strings.Replace(detail, "Could not parse", "cannot parse the", 1)
		}
	}
	return fmt.Errorf("%q is not a valid version range: %s", text, why)
}
