package edit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opm-toolchain/opm/internal/syntax"
)

// Diff returns the changes to a file as a unified diff that patch and git apply accept, or nil if there are none. The
// name [os.DevNull] stands for a file that does not exist.
func Diff(oldName string, old []byte, newName string, now []byte) []byte {
	text := diff.Diff("old", old, "new", now)
	_, hunks, ok := bytes.Cut(text, []byte("+++ new\n")) // after lines with the names as they are
	if !ok {
		return nil
	}
	return slices.Concat(fmt.Appendf(nil, "--- %s\n+++ %s\n", diffName(oldName), diffName(newName)), hunks)
}

// diffName returns the name of a file as git writes it in a diff: in quotes if it has characters that could end it, or
// with a tab at the end if it has blanks.
func diffName(name string) string {
	switch {
	case strings.ContainsAny(name, "\"\\") || strings.ContainsFunc(name, unicode.IsControl):
		return quoted(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// quoted returns a name in quotes, with the escapes of C.
func quoted(name string) string {
	text := []byte{'"'}
	for _, b := range []byte(name) {
		switch {
		case b == '"' || b == '\\':
			text = append(text, '\\', b)
		case b < ' ' || b > '~':
			text = fmt.Appendf(text, "\\%03o", b)
		default:
			text = append(text, b)
		}
	}
	return string(append(text, '"'))
}

func (w *writer) diffs() error {
	for _, p := range w.plans {
		if p.edited == nil {
			p.result.Diff = Diff(os.DevNull, nil, p.file, p.content)
		}
	}
	for _, c := range w.changes {
		text, err := c.diff()
		if err != nil {
			return fmt.Errorf("read %s: %w", c.path, err)
		}
		c.result.Diff = append(c.result.Diff, text...)
	}
	return nil
}

// The number of lines around all changes that are compared, and their total size, unless one line is longer. It is more
// than a diff has, because the diff may have a change some lines earlier or later, between equal lines.
const (
	contextLines = 50
	contextBytes = 64 << 10
)

// diff returns the changes to one file. Because a file may be large, only the part from the first to the last change is
// compared.
func (c *change) diff() ([]byte, error) {
	if c.deleted {
		old, err := c.read(0, c.info.Size())
		return Diff(c.path, old, os.DevNull, nil), err
	}
	from, err := c.contextBefore(c.splices[0].offset)
	if err != nil {
		return nil, err
	}
	to, err := c.contextBehind(c.splices[len(c.splices)-1].end())
	if err != nil {
		return nil, err
	}
	old, err := c.read(from, to)
	if err != nil {
		return nil, err
	}
	line, err := c.linesBefore(from)
	if err != nil {
		return nil, err
	}
	text := Diff(c.path, old, c.path, c.edited(old, from))
	return hunkHead.ReplaceAllFunc(text, func(head []byte) []byte {
		n := hunkHead.FindSubmatch(head)
		return fmt.Appendf(nil, "@@ -%d%s +%d", number(n[1])+line, n[2], number(n[3])+line)
	}), nil
}

// hunkHead matches the start of a hunk header, which has the line numbers.
var hunkHead = regexp.MustCompile(`(?m)^@@ -(\d+)(,\d+)? \+(\d+)`)

func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}

func (c *change) read(from, to int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(c.file, from, to-from))
}

// contextBefore returns the start of the context lines before an offset, which is the start of a line.
func (c *change) contextBefore(at int64) (int64, error) {
	for size := int64(contextBytes); ; size *= 2 {
		from := max(0, at-size)
		before, err := c.read(from, at)
		if err != nil {
			return 0, err
		}
		start := syntax.LineStart(before, len(before))
		for n := 0; n < contextLines && start > 0; n++ {
			earlier := syntax.LineStart(before, start-1)
			if earlier == 0 && from > 0 {
				break // maybe only the end of the line was read
			}
			start = earlier
		}
		if start > 0 || from == 0 {
			return from + int64(start), nil
		}
	}
}

// contextBehind returns the end of the context lines behind an offset, which is the end of a line or of the file.
func (c *change) contextBehind(at int64) (int64, error) {
	for size := int64(contextBytes); ; size *= 2 {
		to := min(at+size, c.info.Size())
		behind, err := c.read(at, to)
		if err != nil {
			return 0, err
		}
		isWhole := to == c.info.Size()
		if !isWhole {
			behind = behind[:bytes.LastIndexByte(behind, '\n')+1]
		}
		if len(behind) == 0 && !isWhole {
			continue
		}
		end := 0
		for n := 0; n < contextLines && end < len(behind); n++ {
			end = syntax.LineEnd(behind, end)
		}
		return at + int64(end), nil
	}
}

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

// edited returns a part of the file with all changes applied.
func (c *change) edited(old []byte, from int64) (text []byte) {
	at := from
	for _, s := range c.splices {
		text = append(append(text, old[at-from:s.offset-from]...), s.by...)
		at = s.end()
	}
	return append(text, old[at-from:]...)
}
