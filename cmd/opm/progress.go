package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A console is standard error on a terminal, with a progress line at its end. Other output replaces that line until it
// is shown again. It is safe for concurrent use.
type console struct {
	terminal io.Writer

	work atomic.Pointer[work] // what the line shows

	mu      sync.Mutex
	showing bool
}

// newStderr returns standard error, as a console if it is a terminal.
func newStderr() io.Writer {
	if isTerminal(os.Stderr) {
		return &console{terminal: os.Stderr}
	}
	return os.Stderr
}

// Write writes whole lines.
func (c *console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	return c.terminal.Write(lines)
}

// show replaces the progress line; "" removes it.
func (c *console) show(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	if what != "" {
		fmt.Fprint(c.terminal, what)
		c.showing = true
	}
}

func (c *console) erase() {
	if c.showing {
		fmt.Fprint(c.terminal, "\r\x1b[K")
		c.showing = false
	}
}

// columns returns how long the progress line may be.
func (c *console) columns() int {
	if f, ok := c.terminal.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width - 1 // the cursor needs one
		}
	}
	return defaultColumns
}

const defaultColumns = 79

// progress shows on a terminal what the command does and for how long, after the first second, with what [workOf]
// counts from then on. The function that it returns removes that line and can be called more than once.
func progress(cmd *cobra.Command, what string) (done func()) {
	c, ok := cmd.ErrOrStderr().(*console)
	if !ok {
		return func() {}
	}
	w := &work{what: what}
	c.work.Store(w)
	stop := make(chan struct{})
	var line sync.WaitGroup
	line.Go(func() {
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
		line.Wait()
	})
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	if c, ok := w.(*console); ok {
		w = c.terminal
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
