package console

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestConsole checks that other output replaces the progress line, whoever writes it.
func TestConsole(t *testing.T) {
	var terminal strings.Builder
	c := New(&terminal)
	fmt.Fprintln(c, "a")
	c.show("reading, 1 s")
	fmt.Fprintln(c, "b")
	fmt.Fprintln(c, "c")
	c.show("reading, 2 s")
	c.show("reading, 3 s")
	c.show("")
	c.show("")
	fmt.Fprintln(c, "d")
	const erase = "\r\x1b[K"
	want := "a\nreading, 1 s" + erase + "b\nc\nreading, 2 s" + erase + "reading, 3 s" + erase + "d\n"
	if got := terminal.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgress checks that work of less than a second shows nothing.
func TestProgress(t *testing.T) {
	for took, want := range map[time.Duration]string{
		999 * time.Millisecond:  "",
		2500 * time.Millisecond: "opm: reading, 1 s\r\x1b[Kopm: reading, 2 s\r\x1b[K",
	} {
		synctest.Test(t, func(t *testing.T) {
			var terminal strings.Builder
			done := New(&terminal).Start("reading")
			time.Sleep(took)
			done()
			if got := terminal.String(); got != want {
				t.Errorf("after %v: got %q, want %q", took, got, want)
			}
		})
	}
}

// TestProgressLine checks that the line shows the counts and is never broken into two lines.
func TestProgressLine(t *testing.T) {
	w := &Work{what: "rendering"}
	w.Count(7018, "references")
	for range 3411 {
		w.Did("quay.io/a")
	}
	w.Did("quay.io/b\x1b[2J\n")
	w.Read(3 << 20)
	w.Downloaded(8 << 20)
	w.Uploaded(4 << 20)
	const want = "opm: rendering 3,412 of 7,018 references, 853/s, 3 MB read, 8 MB downloaded, 2 MB/s, 4 MB pushed, 1 MB/s, " +
		"4 s, quay.io/b"
	got := w.line(4*time.Second, 500)
	if !strings.HasPrefix(got, want) || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Size(1 << 20) // some bytes are read twice
	if got := w.line(4*time.Second, 500); !strings.HasPrefix(got, want) {
		t.Errorf("with a smaller size: %q", got)
	}
	w.Size(9 << 20)
	if got := w.line(4*time.Second, 500); !strings.Contains(got, ", 3 MB of 9 MB read, ") {
		t.Errorf("with a total: %q", got)
	}
	if got := w.line(4*time.Second, 20); got != "opm: rendering 3,41…" {
		t.Errorf("in 20 columns: %q", got)
	}
	w = &Work{what: "checking"}
	w.Count(2, "images")
	w.Did("a")
	if got := w.line(0, 99); got != "opm: checking 1 of 2 images, 1/s, 0 s, a" {
		t.Errorf("in the first second: %q", got)
	}
}

// TestBar checks that a terminal shows a bar for bytes, and their number beside the number of images.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal strings.Builder
		c := New(&terminal)
		done := c.Start("mirroring")
		w := c.Work()
		w.Count(4, "images")
		w.Did("a")
		w.Expect(1000)
		w.Copied(250)
		time.Sleep(1500 * time.Millisecond)
		w.Copied(1000) // more than expected, since blobs were read again
		time.Sleep(time.Second)
		done()
		const erase = "\r\x1b[K"
		want := "opm: mirroring [#####---------------] 1 of 4 images, 1/s, 250 bytes of 1.0 KB …" + erase +
			"opm: mirroring [####################] 1 of 4 images, 1.2 KB of 1.2 KB copied, …" + erase
		if got := terminal.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestLog checks that a log gets a line a minute, without a bar, and nothing at the end.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedText
		c := NewLog(&log)
		done := c.Start("mirroring")
		w := c.Work()
		w.Count(4, "images")
		w.Did("registry.example/a\n")
		w.Expect(60 << 20)
		w.Copied(30 << 20)
		time.Sleep(59 * time.Second)
		if text := log.String(); text != "" {
			t.Errorf("in the first minute: %q", text)
		}
		time.Sleep(2 * time.Second)
		fmt.Fprintln(c, "opm: warning: b")
		time.Sleep(time.Minute)
		done()
		lines := strings.SplitAfter(log.String(), "\n")
		if len(lines) != 4 || lines[1] != "opm: warning: b\n" || strings.ContainsAny(log.String(), "\r\x1b[") ||
			!strings.HasPrefix(lines[0], "opm: mirroring 1 of 4 images, 30 MB of 60 MB copied, 512 KB/s, 60 s left, 60 s, ") ||
			!strings.Contains(lines[2], ", 120 s, ") {
			t.Errorf("got %q", lines)
		}
	})
}

// A lockedText is text that is read while others write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestConsoleAtOnce(t *testing.T) {
	var terminal strings.Builder
	c := New(&terminal)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				c.show("reading")
				fmt.Fprintln(c, "line")
			}
		})
	}
	group.Wait()
	for line := range strings.Lines(strings.ReplaceAll(terminal.String(), "reading\r\x1b[K", "")) {
		if line != "line\n" {
			t.Fatalf("got %q", line)
		}
	}
}
