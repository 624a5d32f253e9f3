package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/opm-toolchain/opm/internal/legible"
)

// newLogger returns a logger that writes a line for each record, without a time. Records below level are dropped.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&lineHandler{w: w, level: level, mu: &sync.Mutex{}})
}

// A lineHandler writes records as "opm: warning: message (key: value, key: value)".
type lineHandler struct {
	w     io.Writer
	level slog.Level
	mu    *sync.Mutex // of w
	attrs []slog.Attr
}

func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString("opm: ")
	if r.Level >= slog.LevelWarn {
		line.WriteString(levelName(r.Level) + ": ")
	}
	line.WriteString(r.Message)
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for i, a := range attrs {
		before := ", "
		if i == 0 {
			before = " ("
		}
		fmt.Fprintf(&line, "%s%s: %s", before, a.Key, a.Value)
	}
	if len(attrs) > 0 {
		line.WriteByte(')')
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.w, legible.Text(line.String()))
	return err
}

func levelName(l slog.Level) string {
	if l >= slog.LevelError {
		return "error"
	}
	return "warning"
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Concat(h.attrs, attrs)
	return &with
}

// WithGroup has no groups: lines are flat.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// A podmanFormat prints log entries of podman's libraries like our own lines. These libraries log the entries of
// credential files that they ignore.
type podmanFormat struct{}

func (podmanFormat) Format(e *logrus.Entry) ([]byte, error) {
	level := slog.LevelWarn
	if e.Level <= logrus.ErrorLevel {
		level = slog.LevelError
	}
	return []byte("opm: " + levelName(level) + ": " + legible.Text(e.Message) + "\n"), nil
}
