// Package linelog logs to standard error as commands print to it: a line for each record.
//
//	log := linelog.New(os.Stderr, slog.LevelInfo)
package linelog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/opm-toolchain/opm/internal/legible"
)

// New returns a logger that writes a line for each record, without a time. Records below level are dropped.
func New(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&handler{w: w, level: level, mu: &sync.Mutex{}})
}

// A handler writes records as "opm: warning: message (key: value, key: value)".
type handler struct {
	w     io.Writer
	level slog.Level
	mu    *sync.Mutex // of w
	attrs []slog.Attr
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString("opm: ")
	if r.Level >= slog.LevelWarn {
		line.WriteString(LevelName(r.Level) + ": ")
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

// LevelName returns the word for a level from [slog.LevelWarn] on.
func LevelName(l slog.Level) string {
	if l >= slog.LevelError {
		return "error"
	}
	return "warning"
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Concat(h.attrs, attrs)
	return &with
}

// WithGroup returns h itself, because lines do not show groups.
func (h *handler) WithGroup(string) slog.Handler { return h }
