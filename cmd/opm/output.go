package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plural"
)

// textOutput returns standard output for people and for logs, as a [legible.Writer].
func textOutput(cmd *cobra.Command) io.Writer { return legible.NewWriter(cmd.OutOrStdout()) }

// dataOutput returns standard output for programs, without escaping.
func dataOutput(cmd *cobra.Command) io.Writer { return cmd.OutOrStdout() }

// writeDiff prints a unified diff. It is data for programs such as patch, except on a terminal.
func writeDiff(cmd *cobra.Command, text []byte) error {
	w := dataOutput(cmd)
	if console.IsTerminal(w) {
		w, text = textOutput(cmd), abbreviated(text)
	}
	_, err := w.Write(text)
	return err
}

// maxDiffLine is the maximum number of characters shown of a line in a diff. Base64 manifests have lines of thousands.
const maxDiffLine = 200

// abbreviated returns a diff with long lines cut.
func abbreviated(text []byte) []byte {
	var short []byte
	for line := range bytes.Lines(text) {
		if n := utf8.RuneCount(line); n > maxDiffLine+1 {
			line = fmt.Appendf(nil, "%s… (%s characters)\n", string([]rune(string(line))[:maxDiffLine]), plural.Number(n-1))
		}
		short = append(short, line...)
	}
	return short
}

// outputAs returns standard output for a format: dataOutput for a format that programs read, or else textOutput.
func outputAs[T ~string](cmd *cobra.Command, form T) io.Writer {
	if output.Format(form).IsData() {
		return dataOutput(cmd)
	}
	return textOutput(cmd)
}

// printResult prints the answer of a command.
func printResult(cmd *cobra.Command, r *output.Result) error {
	return r.Write(cmd.OutOrStdout(), formatOf(cmd))
}

// inText makes a function that writes text a result, with the value for programs.
func inText(value any, write func(io.Writer) error) *output.Result {
	return &output.Result{Value: value, Other: map[output.Format]func(io.Writer) error{output.Text: write}}
}

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

// WithGroup returns h itself, because lines do not show groups.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// A podmanFormat formats log entries of podman's libraries like our own lines. These libraries log the entries of
// credential files that they ignore.
type podmanFormat struct{}

func (podmanFormat) Format(e *logrus.Entry) ([]byte, error) {
	level := slog.LevelWarn
	if e.Level <= logrus.ErrorLevel {
		level = slog.LevelError
	}
	return []byte("opm: " + levelName(level) + ": " + legible.Text(e.Message) + "\n"), nil
}
