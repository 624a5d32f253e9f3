package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// A failing is a file that cannot be read.
type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, iotest.ErrTimeout }

// TestAll checks the documents and errors of files, and that an iteration may end after any of them.
func TestAll(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a: 1\n---\nb: [\n---\n# c\n---\nc: 1\n", []string{`1:1 {"a":1}`, "4:1 error", `7:1 {"c":1}`}},
		{`{"a": 1} {"a": 1, "a": 2} {"b`, []string{`1:1 {"a": 1}`, `1:10 {"a":2}`, "1:30 error"}},
	} {
		for n := range len(tt.want) + 1 {
			var got []string
			for doc, err := range All(strings.NewReader(tt.text), int64(len(tt.text))) {
				if len(got) == n {
					break
				}
				if e, ok := errors.AsType[*Error](err); ok && doc == nil {
					got = append(got, fmt.Sprintf("%d:%d error", e.Place.Line, e.Place.Column))
				} else {
					got = append(got, fmt.Sprintf("%d:%d %s", doc.Place.Line, doc.Place.Column, doc.JSON))
				}
			}
			if !slices.Equal(got, tt.want[:n]) {
				t.Errorf("%q: the first %d: got %q, want %q", tt.text, n, got, tt.want[:n])
			}
		}
	}
	for doc, err := range All(failing{}, 1) {
		if doc != nil || !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("got %v, %v", doc, err)
		}
	}
}
