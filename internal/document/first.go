package document

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
)

// sniffFirst is the number of bytes of a manifest in which upstream looks for the first character that is not a space.
const sniffFirst = 30

// First reads the first document of a file, the only one that upstream reads of a manifest: as JSON or, if that fails,
// as YAML. A line of three hyphens or dots ends it, even after nothing but comments. The JSON of YAML is appended to
// buf.
//
// Further is the place of the first content after the document, other than comments and separators, or nil.
func First(text, buf []byte) (doc *Document, further *Place, err error) {
	doc = &Document{Start: Place{1, 1}}
	var notJSON error
	if looksLikeJSON(text[:min(len(text), sniffFirst)]) {
		d := jsontext.NewDecoder(bytes.NewBuffer(text), Lenient)
		value, err := d.ReadValue()
		if err == nil {
			doc.Text, doc.JSON = text[:d.InputOffset()], value
			if doc.Repaired = !value.IsValid(); doc.Repaired {
				doc.JSON = Repair(value)
			}
			return doc, content(text, len(doc.Text)), nil
		}
		notJSON = err
	}
	if !bytes.HasSuffix(text, newline) {
		text = append(text, '\n') // as upstream does, which matters if a block scalar ends the file
	}
	doc.YAML = true
	first, _, valid := nextYAML(text)
	if !valid {
		return nil, nil, &Error{Place{1, 1}, errSeparator, first}
	}
	if _, _, valid := nextYAML(text[len(first):]); !valid {
		return nil, nil, &Error{Place{1, 1}.After(first), errSeparator, text[len(first):]}
	}
	end, next := untilDots(first)
	doc.Text = first[:end]
	further = content(text, next)
	doc.JSON, doc.Repaired, err = yamljson.Convert(buf, doc.Text, nil, nil)
	switch {
	case err == nil:
		return doc, further, nil
	case errors.Is(err, yamljson.ErrEmpty) && further != nil:
		return nil, nil, &Error{*further, errors.New("only the first document of a file counts, and it is empty"), nil}
	case errors.Is(err, yamljson.ErrEmpty):
		return nil, nil, &Error{doc.Start, errors.New("the file is empty"), nil}
	}
	doc.Text = text[:len(first)]
	return nil, nil, doc.unreadable(err, notJSON)
}

// untilDots returns the end of a document at a line of three dots, and the offset after that line. Upstream drops the
// text after it; package yamljson refuses such text.
func untilDots(text []byte) (end, next int) {
	for i := range occurrences(text, []byte("\n...")) {
		next := syntax.LineEnd(text, i+1)
		rest := text[i+len("\n...") : next]
		if trimmed := bytes.TrimSpace(rest); len(trimmed) == 0 || trimmed[0] == '#' && rest[0] != '#' {
			return i + 1, next
		}
	}
	return len(text), len(text)
}

// content returns the place of the first content from an offset on.
func content(text []byte, from int) *Place {
	for at := from; at < len(text); {
		end := syntax.LineEnd(text, at)
		line := bytes.TrimSpace(text[at:end])
		rest := bytes.TrimSpace(bytes.TrimPrefix(line, separator))
		if len(rest) > 0 && rest[0] != '#' {
			place := Place{1, 1}.After(trimMark(text[:at+bytes.IndexByte(text[at:], line[0])]))
			return &place
		}
		at = end
	}
	return nil
}
