package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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

// TestLogWriter has several goroutines write parts of lines, as when images are opened in parallel.
func TestLogWriter(t *testing.T) {
	var log bytes.Buffer
	w := &logWriter{log: slog.New(slog.NewTextHandler(&log, nil))}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			lines := newLogger(w, slog.LevelInfo)
			lines.Info("mirror asked", "mirror", "m")
			lines.Warn("old certificate")
			lines.Error("no answer")
		})
	}
	all.Wait()
	fmt.Fprint(w, "half a ")
	fmt.Fprintln(w, "line")
	for line, want := range map[string]int{
		`level=INFO msg="mirror asked (mirror: m)"`: 10, `level=WARN msg="old certificate"`: 10,
		`level=ERROR msg="no answer"`: 10, `level=INFO msg="half a line"`: 1,
	} {
		if got := strings.Count(log.String(), line+"\n"); got != want {
			t.Errorf("%s: %d times, want %d:\n%s", line, got, want, log.String())
		}
	}
}
