package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// set sets a variable for the rest of the test.
func set[T any](t *testing.T, variable *T, value T) {
	t.Helper()
	old := *variable
	*variable = value
	t.Cleanup(func() { *variable = old })
}

// readAll returns the place and the length of every document, and errors.
func readAll(data string, limit int64) []string {
	var all []string
	parse := func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }
	for c := range Split(strings.NewReader(data), int64(len(data)), limit) {
		err := c.Read(parse, func(doc *Document, err error) {
			if err != nil {
				all = append(all, err.Error())
				return
			}
			if got := data[doc.Offset : doc.Offset+int64(len(doc.Text))]; got != string(doc.Text) {
				all = append(all, fmt.Sprintf("%.20q is not the text at %d, %.20q", doc.Text, doc.Offset, got))
			}
			all = append(all, fmt.Sprintf("%d:%d %d %d", doc.Place.Line, doc.Place.Column, len(doc.Text), len(doc.JSON)))
		})
		if err != nil {
			all = append(all, err.Error())
		}
		c.Recycle()
	}
	return all
}

// TestLargeDocuments checks that reading in pieces yields the same documents as reading at once.
func TestLargeDocuments(t *testing.T) {
	text := strings.Repeat(`é{"}\"---`, 150_000) // the pieces end at any byte of it
	json := func(n int) string { return fmt.Sprintf(`{"a":[{},%q],"b":"\\"}`, text[:n]) }
	yaml := func(n int) string { return "# c\nschema: a\nx: |\n  " + text[:n] + "\n   ---\n" }
	n := len(text)
	for name, data := range map[string]string{
		"JSON on one line":    json(10) + json(n) + " " + json(n-10) + json(900),
		"JSON in lines":       json(n) + "\n" + json(10) + "\n" + json(n-20) + "\n" + json(n) + "\n",
		"a list":              json(10) + "\n[" + json(n) + "]\n" + json(10),
		"YAML":                yaml(10) + "---\n" + yaml(n) + "--- # d\n" + yaml(n-10) + "---\n" + yaml(n-20),
		"YAML without end":    yaml(10) + "---\n" + strings.TrimRight(yaml(n), "\n"),
		"JSON that ends YAML": yaml(10) + "---\n" + json(n) + "\n---\n" + json(n) + "\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			want := readAll(data, 0)
			if len(want) < 2 {
				t.Fatalf("got %q", want)
			}
			set(t, &ChunkSize, 1<<10)
			set(t, &probeSize, 4<<10)
			if got := readAll(data, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}

// TestLargeInvalid checks that a large object that is not valid JSON is rejected before its keys are compared.
func TestLargeInvalid(t *testing.T) {
	set(t, &ChunkSize, 1<<10)
	set(t, &probeSize, 4<<10)
	lines := `{"a":[` + strings.Repeat("{},\n", 4<<10)
	for data, want := range map[string]string{
		lines:               "4096:4 the JSON object that starts at 1:1 does not end",
		"\n" + lines + "}}": "4098:1 not valid JSON: invalid character '}' at start of value",
		"{\n\"a\":\"" + strings.Repeat("x", 4<<10): "2:4102 the JSON object that starts at 1:1 does not end",
	} {
		var got string
		for c := range Split(strings.NewReader(data), int64(len(data)), 0) {
			parse := func(*jsontext.Decoder, []byte) error {
				t.Errorf("%.20q is parsed", data)
				return nil
			}
			if e, ok := errors.AsType[*Error](c.Read(parse, func(*Document, error) {})); ok {
				got = fmt.Sprintf("%d:%d %v", e.Place.Line, e.Place.Column, e)
			}
			c.Recycle()
		}
		if got != want {
			t.Errorf("%.20q: got %q, want %q", data, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	set(t, &ChunkSize, 1<<10)
	set(t, &probeSize, 64<<10)
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct{ name, data, want string }{
		{"JSON", `{"a":"` + long[:len(long)-8] + `"}`, "1:1 1048576 1048576"},
		{"JSON above", `{"a":"` + long[:len(long)-7] + `"}`, "1:1 the object has more than 1 MB"},
		{"second object", "{}\n" + `{"a":"` + long + `"}` + "\n{}", "1:1 2 2|2:1 the object has more than 1 MB"},
		{"string without end", `{"a":"` + long + long, "1:1 the object has more than 1 MB"},
		{"YAML", "a: " + long[:len(long)-4] + "\n---\na: b\n", "1:1 1048576 1048580|3:1 5 9"},
		{"YAML above", "a: b\n---\n# c\na: |\n  " + long + "\n", "1:1 5 9|4:1 the object has more than 1 MB"},
		{"key in quotes", `"a": ` + long, "1:1 the object has more than 1 MB"},
		{"no keys", long + long, "1:1 want an object, found a string"},
		{"no keys in lines", strings.Repeat("y\n", 1<<20), "1:1 want an object, found a string"},
		{"zeros", strings.Repeat("\x00", 2<<20), "1:1 binary file: it contains NUL bytes"},
		{"a database", "SQLite format 3\x00\x10\x00", "1:1 binary file: it is a catalog in SQLite, and this opm is for file-based " +
			"catalogs only; upstream's opm, up to v1.73.0, converts it: opm migrate"},
		{"zeros behind text", "a: b\n" + strings.Repeat("\x00", 2<<20), "1:1 binary file: it contains NUL bytes"},
		{"zeros later", "a: b\n# " + long[:8000] + strings.Repeat("\x00", 2<<20), "1:1 the object has more than 1 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reads{Reader: strings.NewReader(tt.data)}
			var got []string
			parse := func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() }
			for c := range Split(r, int64(len(tt.data)), 1<<20) {
				err := c.Read(parse, func(doc *Document, _ error) {
					got = append(got, fmt.Sprintf("%d:%d %d %d", doc.Place.Line, doc.Place.Column, len(doc.Text), len(doc.JSON)))
				})
				if e, ok := errors.AsType[*Error](err); ok {
					got = append(got, fmt.Sprintf("%d:%d %v", e.Place.Line, e.Place.Column, err))
				}
				c.Recycle()
			}
			if strings.Join(got, "|") != tt.want {
				t.Errorf("got %q\nwant %q", strings.Join(got, "|"), tt.want)
			}
			if r.largest > 1<<20 {
				t.Errorf("read %d bytes at once", r.largest)
			}
		})
	}
}

// reads records the sizes of reads.
type reads struct {
	*strings.Reader
	largest int
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.largest = max(r.largest, len(p))
	return r.Reader.ReadAt(p, off)
}

// TestSmallObjectsOnLongLines checks that many small objects are read at once, even if they share lines and the limit
// is low.
func TestSmallObjectsOnLongLines(t *testing.T) {
	set(t, &ChunkSize, 1<<10)
	data := strings.Repeat("{\n}"+strings.Repeat("{}", 500), 10)
	chunks := 0
	for c := range Split(strings.NewReader(data), int64(len(data)), 1) {
		chunks++
		c.Recycle()
	}
	if most := 3 * len(data) / ChunkSize; chunks > most {
		t.Errorf("%d bytes are %d chunks, want at most %d", len(data), chunks, most)
	}
}

// TestLargeTurn checks that a consumer that stops at a large document lets the next one be read.
func TestLargeTurn(t *testing.T) {
	set(t, &ChunkSize, 1<<10)
	set(t, &probeSize, 4<<10)
	data := bytes.Repeat([]byte(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`), 3)
	for range 3 {
		for c := range Split(bytes.NewReader(data), int64(len(data)), 0) {
			if c.isLarge {
				break
			}
			c.Recycle()
		}
	}
	if len(largeTurn) > 0 {
		t.Error("the turn is still taken")
	}
}

// TestTruncated checks that a file that became shorter is an error.
func TestTruncated(t *testing.T) {
	set(t, &ChunkSize, 1<<10)
	for _, n := range []int{0, 10, 3 << 10, 40 << 10} {
		data := strings.Repeat("{}\n", n)
		var err error
		for c := range Split(strings.NewReader(data), int64(len(data))+100, 0) {
			if e := c.Read(func(d *jsontext.Decoder, _ []byte) error { return d.SkipValue() },
				func(*Document, error) {}); e != nil {
				err = e
			}
			c.Recycle()
		}
		if err != ErrChanged {
			t.Errorf("%d objects: error %v", n, err)
		}
	}
}
