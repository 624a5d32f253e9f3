package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that loads slowly logs its progress, and one that loads fast logs nothing.
func TestLogReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		read := logReading(slog.New(slog.NewTextHandler(&out, nil)))
		read(1 << 20)
		if out.Len() > 0 {
			t.Errorf("logged at once: %s", out.String())
		}
		time.Sleep(readingInterval)
		read(1 << 20)
		read(1 << 20)
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "msg=loading read=\"2 MB\"") {
			t.Errorf("logged %q", got)
		}
	})
}
