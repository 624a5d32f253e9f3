package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/regular"
)

// ReadReferences reads a list of references, one a line. Empty lines and lines that begin with # are ignored.
func ReadReferences(r io.Reader) ([]string, error) {
	text, err := regular.ReadLimited(r)
	if err != nil {
		return nil, fmt.Errorf("read references: %w", err)
	}
	var refs []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			refs = append(refs, line)
		}
	}
	return refs, nil
}
