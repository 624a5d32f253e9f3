// Package output prints the answer of a command in the format that its flag --output names.
//
//	answer := &output.Result{Value: operators, Report: func() *report.Report { return audit.ReportOf(operators) }}
//	return answer.Write(os.Stdout, output.YAML)
//
// A command says what its answer is; this package knows what each format looks like, and what must be escaped in it.
package output

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/report"
)

// A Format is the value of a flag --output.
type Format string

// The formats that several commands have.
const (
	Text     Format = "text"     // for people: lines, lists and tables
	Wide     Format = "wide"     // a table with more columns
	Markdown Format = "markdown" // the same as Text, for comments and tickets
	JSON     Format = "json"     // for programs, indented
	YAML     Format = "yaml"     // the same as JSON, with sorted keys
	Name     Format = "name"     // the name of each listed object once, one per line
	HTML     Format = "html"     // a page
)

// data are the formats that programs read. What writes them escapes control characters itself.
var data = []Format{JSON, YAML, HTML, "svg", "sarif", "github", "gitlab", "junit"}

// IsData reports whether programs read the format. In all others, control characters are escaped, since they may end
// up on a terminal or in a log.
func (f Format) IsData() bool { return slices.Contains(data, f) }

// Writer returns w for text in the format: as it is for programs, and a [legible.Writer] otherwise.
func (f Format) Writer(w io.Writer) io.Writer {
	if f.IsData() {
		return w
	}
	return legible.NewWriter(w)
}

// A Result is the answer of a command. It has what is needed for the formats that the command offers.
type Result struct {
	// Value is written as JSON and YAML: an object, or a list of objects. The keys of maps are sorted.
	Value any
	// Streams writes JSON while Value is encoded, for values that are made then. After an error, a part is written.
	Streams bool

	Report func() *report.Report // for Text and Markdown
	Names  iter.Seq[string]      // for Name

	// Stop returns why Value and text are no longer what they should be, if they are made while they are written; nil if
	// nothing is wrong. Writing ends with the error, so that a part does not look complete. Stop may be nil.
	Stop func() error

	// Other has further formats, and formats that are not made of the fields above.
	Other map[Format]func(io.Writer) error

	data *[]byte // see Bytes; nil for an answer that Write encodes
}

// Write writes the result. A result without what the format needs is an error.
func (r *Result) Write(w io.Writer, f Format) error {
	if r.data != nil {
		_, err := w.Write(*r.data)
		return err
	}
	if r.Stop != nil {
		w = &stopping{w, r.Stop}
	}
	w = f.Writer(w)
	switch other := r.Other[f]; {
	case other != nil:
		return other(w)
	case f == JSON && r.Value != nil:
		return r.writeJSON(w)
	case f == YAML && r.Value != nil:
		return r.writeYAML(w)
	case f == Text && r.Report != nil:
		return r.Report().Text(w)
	case f == Markdown && r.Report != nil:
		return r.Report().Markdown(w)
	case f == Name && r.Names != nil:
		return writeNames(w, r.Names, map[string]bool{})
	}
	return fmt.Errorf("the format %q is not available here", f)
}

func (r *Result) writeJSON(w io.Writer) error {
	if r.Streams {
		return json.MarshalEncode(jsontext.NewEncoder(w, jsontext.WithIndent("  ")), r.Value)
	}
	return WriteJSON(w, r.Value)
}

// WriteJSON writes an indented value, with the keys of maps sorted. It writes nothing if the value has no JSON.
func WriteJSON(w io.Writer, v any, opts ...json.Options) error {
	opts = append(opts, json.Deterministic(true), jsontext.WithIndent("  "))
	text, err := json.Marshal(v, opts...)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func (r *Result) writeYAML(w io.Writer) error {
	text, err := json.Marshal(r.Value)
	if err != nil {
		return err
	}
	_, err = w.Write(format.AppendYAML(nil, text))
	return err
}

// A stopping passes text on until stop returns an error.
type stopping struct {
	w    io.Writer
	stop func() error
}

func (s *stopping) Write(p []byte) (int, error) {
	if err := s.stop(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// Unwrap returns the underlying writer, for [legible.Unwrap].
func (s *stopping) Unwrap() io.Writer { return s.w }

// writeNames writes names that were not seen before, and adds them to seen.
func writeNames(w io.Writer, names iter.Seq[string], seen map[string]bool) error {
	text := bufio.NewWriter(w)
	for name := range names {
		if !seen[name] {
			seen[name] = true
			text.WriteString(legible.Name(name) + "\n")
		}
	}
	return text.Flush()
}

// A List is a list of objects that are made while they are encoded, so that one of them is in memory.
type List[T any] iter.Seq[T]

// MarshalJSONTo implements [json.MarshalerTo].
func (l List[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for object := range l {
		if err := json.MarshalEncode(enc, object); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

// Bytes returns the result of a command that encodes its answer itself, or the error of encoding. Write writes the
// data, which may be empty, unchanged in every format. They are not copied.
func Bytes(data []byte, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return &Result{data: &data}, nil
}

// InText makes a function that writes text a result, with the value for programs.
func InText(value any, write func(io.Writer) error) *Result {
	return &Result{Value: value, Other: map[Format]func(io.Writer) error{Text: write}}
}
