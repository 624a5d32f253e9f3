package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress tells on a terminal, after the first second, what is being done and for how long. The function that it
// returns removes that line; it may be called more than once.
func progress(cmd *cobra.Command, what string) (done func()) {
	w := cmd.ErrOrStderr()
	if !isTerminal(w) {
		return func() {}
	}
	stop := make(chan struct{})
	var line sync.WaitGroup
	line.Go(func() {
		const erase = "\r\x1b[K"
		start := time.Now()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "%sopm: %s, %d s", erase, what, int(time.Since(start).Seconds()))
			case <-stop:
				if time.Since(start) >= time.Second {
					fmt.Fprint(w, erase)
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stop)
		line.Wait()
	})
}

// isTerminal tells whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
