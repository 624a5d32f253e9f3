package serve

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestLogError checks that only the first lines of a long error are logged.
func TestLogError(t *testing.T) {
	var errs []error
	for i := range 100_000 {
		errs = append(errs, fmt.Errorf("object %d cannot be read", i))
	}
	var log bytes.Buffer
	LogError(slog.New(slog.NewTextHandler(&log, nil)), "server stopped", errors.Join(errs...))
	if text := log.String(); log.Len() > 100_000 || !strings.Contains(text, "object 999 ") ||
		!strings.HasSuffix(text, `\n99,000 more lines not logged"`+"\n") {
		t.Errorf("%d bytes, at the end %q", log.Len(), text[max(len(text)-100, 0):])
	}
}
