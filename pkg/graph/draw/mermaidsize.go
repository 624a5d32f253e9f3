package draw

import (
	"io"

	"github.com/opm-toolchain/opm/internal/plural"
)

// A MermaidSize is the size of a Mermaid drawing. Renderers refuse drawings larger than [MermaidLimit], unless their
// maxTextSize and maxEdges are higher; see https://mermaid.js.org/config/schema-docs/config.html.
type MermaidSize struct {
	Characters int // UTF-16 code units, as in JavaScript
	Links      int
}

// MermaidLimit is the default limit of renderers.
var MermaidLimit = MermaidSize{Characters: 50_000, Links: 500}

// String returns the size in words: "1,234 characters and 56 links".
func (s MermaidSize) String() string {
	return plural.Number(s.Characters) + " characters and " + plural.Number(s.Links) + " links"
}

// tooLarge reports whether renderers refuse a drawing of this size.
func (s MermaidSize) tooLarge() bool {
	return s.Characters > MermaidLimit.Characters || s.Links > MermaidLimit.Links
}

// A meter is a writer that counts characters.
type meter struct {
	io.Writer
	characters int
}

func (m *meter) Write(text []byte) (int, error) {
	for _, c := range text {
		if c&0xC0 != 0x80 { // first byte of a character
			m.characters++
		}
		if c >= 0xF0 { // of a character with two UTF-16 code units
			m.characters++
		}
	}
	return m.Writer.Write(text)
}
