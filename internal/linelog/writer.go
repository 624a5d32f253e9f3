package linelog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// A Writer logs each line written to it, at the level in the prefix of the line, as a logger of [New] writes it. It is
// safe for concurrent use.
type Writer struct {
	Log *slog.Logger

	mu   sync.Mutex
	rest []byte // the last line, which is not complete yet
}

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		text, level := strings.TrimPrefix(string(line), "opm: "), slog.LevelInfo
		for _, l := range []slog.Level{slog.LevelWarn, slog.LevelError} {
			if after, ok := strings.CutPrefix(text, LevelName(l)+": "); ok {
				text, level = after, l
			}
		}
		w.Log.Log(context.Background(), level, text)
		w.rest = rest
	}
}
