package document

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// upstreamEmpty returns the number of documents in text that upstream reads as null, and rejects, or false if upstream
// stops at another error.
func upstreamEmpty(text string) (n int, ok bool) {
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), sniffSize)
	for {
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case err == io.EOF:
			return n, true
		case err != nil:
			return 0, false
		case len(raw) == 0 || string(raw) == "null":
			n++
		}
	}
}

// emptyIn returns the positions of the empty documents in text, and whether all others can be read.
func emptyIn(t *testing.T, text string) (empty []Place, ok bool) {
	t.Helper()
	parse := func(r *jsontext.Decoder, _ []byte) error { return r.SkipValue() }
	ok = true
	for c := range Split(strings.NewReader(text), int64(len(text)), 0) {
		if err := c.Read(parse, func(d *Document, _ error) { ok = ok && d != nil }); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, e := range c.Refused {
			if e.Err == errEmpty {
				empty = append(empty, e.Place)
			}
		}
		c.Recycle()
	}
	return empty, ok
}

// TestEmptyAsUpstream compares every file of a few lines with upstream.
func TestEmptyAsUpstream(t *testing.T) {
	lines := []string{"---", "--- # c", "", "# c", "a: 1", "..."}
	var files func(text string, n int)
	files = func(text string, n int) {
		want, readable := upstreamEmpty(text)
		if got, ok := emptyIn(t, text); readable && ok && len(got) != want {
			t.Errorf("%q: %d empty documents at %v, upstream reads %d", text, len(got), got, want)
		}
		for _, line := range lines {
			if n > 0 {
				files(text+line+"\n", n-1)
			}
		}
	}
	for _, start := range []string{"", "\ufeff# c\n", "{}", "{} \n", "{}\n\n"} {
		files(start, 4)
	}
}

func TestEmptyPlaces(t *testing.T) {
	for text, want := range map[string][]Place{
		"# c\n---\na: 1\n":               {{1, 1}},
		"\n---\na: 1\n":                  {{1, 1}},
		"---\n---\na: 1\n":               {{1, 1}},
		"a: 1\n---\n# c\n---\nb: 2\n":    {{2, 1}},
		"a: 1\n---\n\n":                  {{2, 1}},
		"a: 1\n---\n---\n---\nb: 2\n":    {{3, 1}},
		"---\n# c\na: 1\n---\n---\nb:\n": nil,
		"a: 1\n---\n":                    nil,
	} {
		got, _ := emptyIn(t, text)
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%q: empty at %v, want %v", text, got, want)
		}
	}
}

// TestEmptyAcrossChunks has two consecutive separators at every possible chunk boundary.
func TestEmptyAcrossChunks(t *testing.T) {
	defer func(n int) { ChunkSize = n }(ChunkSize)
	for ChunkSize = 8; ChunkSize < 64; ChunkSize++ {
		text := string(bytes.Repeat([]byte("a: 1\n---\n---\nb: 2\n---\n"), 20))
		if got, _ := emptyIn(t, text); len(got) > 0 {
			t.Errorf("chunks of %d: empty documents at %v", ChunkSize, got)
		}
	}
}

// TestMarkAsUpstream has a byte order mark at the start of each kind of document.
func TestMarkAsUpstream(t *testing.T) {
	for _, before := range []string{"", "---\n", "--- # c\n", "---\n---\n", "b: 1\n---\n", "# c\n---\n", "{}\n---\n"} {
		text := before + "\ufeffa: 1\n"
		d, inKey := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), sniffSize), false
		for raw := (map[string]any{}); d.Decode(&raw) == nil; clear(raw) {
			_, found := raw["\ufeffa"]
			inKey = inKey || found
		}
		var marks []Place
		for c := range Split(strings.NewReader(text), int64(len(text)), 0) {
			_ = c.Read(func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }, func(*Document, error) {})
			for _, e := range c.Refused {
				if e.Err == errInnerMark {
					marks = append(marks, e.Place)
				}
			}
			c.Recycle()
		}
		if want := (Place{1 + strings.Count(before, "\n"), 1}); inKey != (len(marks) == 1) || inKey && marks[0] != want {
			t.Errorf("%q: marks at %v, upstream has one in a key: %t", text, marks, inKey)
		}
	}
}
