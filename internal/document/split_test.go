package document

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestNothing checks that a file that yields no text returns its buffer: 2 MB for each empty file of a catalog would be
// most of the time to read it.
func TestNothing(t *testing.T) {
	for size, r := range []io.ReaderAt{strings.NewReader(""), unreadable{}} {
		buf := Buffers.Get()
		Buffers.Put(buf)
		for range Split(r, int64(size), 0) {
		}
		again := Buffers.Get()
		if &again[:1][0] != &buf[:1][0] {
			t.Errorf("a file of %d bytes: the buffer is lost", size)
		}
		Buffers.Put(again)
	}
}

type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }
