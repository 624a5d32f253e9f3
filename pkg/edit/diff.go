package edit

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/diff"
)

// diff returns what changes in the files, as a unified diff.
func (w *writer) diff() ([]byte, error) {
	var all []byte
	for _, c := range w.changes {
		text, err := c.diff()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", c.path, err)
		}
		all = append(all, text...)
	}
	return all, nil
}

// The lines around changes that a diff has, and how long they may be together.
const (
	contextLines = 3
	contextBytes = 64 << 10
)

// diff returns the changes of one file. A file may be large, so only the part from the first change to the last is
// compared.
func (c *change) diff() ([]byte, error) {
	from, err := c.contextBefore(c.splices[0].offset)
	if err != nil {
		return nil, err
	}
	to := c.splices[len(c.splices)-1].end()
	behind, err := c.read(to, min(to+contextBytes, c.info.Size()))
	if err != nil {
		return nil, err
	}
	for end, n := 0, 0; n < contextLines; n++ {
		end = lineEnd(behind, end)
		to = c.splices[len(c.splices)-1].end() + int64(end)
	}
	old, err := c.read(from, to)
	if err != nil {
		return nil, err
	}
	line, err := c.linesBefore(from)
	if err != nil {
		return nil, err
	}
	_, text, _ := bytes.Cut(diff.Diff(c.path, old, c.path, c.edited(old, from)), []byte("\n"))
	return hunkHead.ReplaceAllFunc(text, func(head []byte) []byte {
		n := hunkHead.FindSubmatch(head)
		return fmt.Appendf(nil, "@@ -%d%s +%d", number(n[1])+line, n[2], number(n[3])+line)
	}), nil
}

// hunkHead is how the line starts that says where changes are.
var hunkHead = regexp.MustCompile(`(?m)^@@ -(\d+)(,\d+)? \+(\d+)`)

func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}

func (c *change) read(from, to int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(c.file, from, to-from))
}

// contextBefore returns where the lines start that are shown before an offset.
func (c *change) contextBefore(at int64) (int64, error) {
	before, err := c.read(max(0, at-contextBytes), at)
	start := lineStart(before, len(before))
	for n := 0; n < contextLines && start > 0; n++ {
		start = lineStart(before, start-1)
	}
	return at - int64(len(before)-start), err
}

// linesBefore returns how many lines are before an offset.
func (c *change) linesBefore(at int64) (n int, err error) {
	buf := make([]byte, contextBytes)
	for r := io.NewSectionReader(c.file, 0, at); ; {
		read, err := r.Read(buf)
		n += bytes.Count(buf[:read], []byte("\n"))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// edited returns a part of the file, with all changes in it, as it will be.
func (c *change) edited(old []byte, from int64) (text []byte) {
	at := from
	for _, s := range c.splices {
		text = append(append(text, old[at-from:s.offset-from]...), s.by...)
		at = s.end()
	}
	return append(text, old[at-from:]...)
}
