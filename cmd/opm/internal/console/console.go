// Package console shows the progress of a command: as a line at the bottom of a terminal, or as lines of a log.
package console

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/opm-toolchain/opm/internal/legible"
)

// A Console is standard error on a terminal, with a progress line at its end. Other output replaces that line until it
// is shown again. It may also be standard error that is no terminal; see [NewLog]. It is safe for concurrent use.
type Console struct {
	terminal io.Writer
	log      bool

	work atomic.Pointer[Work] // shown in the progress line

	mu      sync.Mutex
	showing bool
}

// New returns the console of a terminal.
func New(terminal io.Writer) *Console { return &Console{terminal: terminal} }

// NewLog returns the console of a file or a pipe, such as the log of a job. It shows progress as a line a minute.
func NewLog(out io.Writer) *Console { return &Console{terminal: out, log: true} }

// OnTerminal reports whether the console is on a terminal.
func (c *Console) OnTerminal() bool { return !c.log }

// Terminal returns the terminal, for a program that writes to it while no progress line is shown.
func (c *Console) Terminal() io.Writer { return c.terminal }

// Write erases the progress line and writes whole lines.
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
	if c.log {
		if what != "" {
			fmt.Fprintln(c.terminal, what)
		}
		return
	}
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

// columns returns the maximum length of the progress line.
func (c *Console) columns() int {
	if f, ok := c.terminal.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width - 1 // the cursor needs one
		}
	}
	return defaultColumns
}

const defaultColumns = 79

// Start shows the name of the work and the elapsed time once a second has passed, or in a log once a minute has passed,
// along with the counts that [Console.Work] receives from then on. The returned function removes the line; it can be
// called more than once.
func (c *Console) Start(what string) (done func()) {
	stop := make(chan struct{})
	w := &Work{what: what, stop: stop, bar: !c.log}
	every, columns := time.Second, c.columns
	if c.log {
		every, columns = time.Minute, func() int { return math.MaxInt }
	}
	c.work.Store(w)
	w.running.Go(func() {
		defer c.show("")
		start := time.Now()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.show(w.line(time.Since(start), columns()))
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

// Work returns the work started last, or nil if there was none or c is nil.
func (c *Console) Work() *Work {
	if c == nil {
		return nil
	}
	return c.work.Load()
}

// IsTerminal reports whether out is a terminal, the console of one, or a writer that escapes text for either.
func IsTerminal(out io.Writer) bool {
	var w any = legible.Unwrap(out)
	if c, ok := w.(*Console); ok {
		w = c.terminal
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
