package linelog_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/opm-toolchain/opm/internal/linelog"
)

// TestWriter has several goroutines write parts of lines, as when images are opened in parallel.
func TestWriter(t *testing.T) {
	var log bytes.Buffer
	w := &linelog.Writer{Log: slog.New(slog.NewTextHandler(&log, nil))}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			lines := linelog.New(w, slog.LevelInfo)
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

func TestFormatter(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.SetFormatter(linelog.Formatter{})
	log.Warn("an entry is ignored\x1b")
	log.Error("no file")
	const want = "opm: warning: an entry is ignored\\x1b\nopm: error: no file\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
