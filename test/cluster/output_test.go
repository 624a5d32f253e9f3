//go:build cluster

package cluster

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// A syncBuffer is the output of a program that is running.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// contains returns an error if the output does not have a text.
func (b *syncBuffer) contains(text string) error {
	if out := b.String(); !strings.Contains(out, text) {
		return fmt.Errorf("opm does not print %q:\n%s", text, out)
	}
	return nil
}
