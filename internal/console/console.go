// Package console shows what a program is doing in a line at the end of a terminal.
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/opm-toolchain/opm/internal/legible"
)

// A Console is standard error on a terminal, with a progress line at its end. Other output replaces that line until it
// is shown again. It is safe for concurrent use.
type Console struct {
	terminal io.Writer

	work atomic.Pointer[Work] // what the line shows

	mu      sync.Mutex
	showing bool
}

// New returns the console of a terminal.
func New(terminal io.Writer) *Console { return &Console{terminal: terminal} }

// Write writes whole lines.
func (c *Console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	return c.terminal.Write(lines)
}

// show replaces the progress line; "" removes it.
func (c *Console) show(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	if what != "" {
		fmt.Fprint(c.terminal, what)
		c.showing = true
	}
}

func (c *Console) erase() {
	if c.showing {
		fmt.Fprint(c.terminal, "\r\x1b[K")
		c.showing = false
	}
}

// columns returns how long the progress line may be.
func (c *Console) columns() int {
	if f, ok := c.terminal.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width - 1 // the cursor needs one
		}
	}
	return defaultColumns
}

const defaultColumns = 79

// Start shows what is being done and for how long, after the first second, with what is counted in [Console.Work] from
// then on. The function that it returns removes that line and can be called more than once.
func (c *Console) Start(what string) (done func()) {
	stop := make(chan struct{})
	w := &Work{what: what, stop: stop}
	c.work.Store(w)
	w.running.Go(func() {
		defer c.show("")
		start := time.Now()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.show(w.line(time.Since(start), c.columns()))
			case <-stop:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		w.running.Wait()
	})
}

// Work returns the work that was started last, nil if there was none.
func (c *Console) Work() *Work { return c.work.Load() }

// IsTerminal reports whether a writer is a terminal or the console of one, or escapes text for either.
func IsTerminal(out io.Writer) bool {
	var w any = legible.Unwrap(out)
	if c, ok := w.(*Console); ok {
		w = c.terminal
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
