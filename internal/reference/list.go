package reference

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/shell"
)

// ListHint returns the end of an error about a text that is not a reference but looks like a list of references with
// commas, as other tools accept it: "; separate references by spaces: a b". It returns "" for other texts.
func ListHint(text string) string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	switch {
	case !strings.Contains(text, ",") || len(parts) == 0:
		return ""
	case len(parts) == 1:
		return "; remove the comma: " + shell.Quote(parts[0])
	}
	return "; separate references by spaces: " + shell.Join(parts...)
}
