package legible_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
)

func TestWhiteSpace(t *testing.T) {
	for _, tt := range []struct{ text, allowed, want string }{
		{"", "", ""},
		{"kiln", "", ""},
		{"kiln.v1.0.0-é", "", ""},
		{"kiln ", "", "it ends in a space"},
		{" kiln", "", "it begins with a space"},
		{"kiln\t", "", "it ends in a tab"},
		{"kiln\n", "", "it ends in a line break"},
		{"kiln\r\n", "", "it ends in a carriage return and a line break"},
		{"kiln  ", "", "it ends in a space"},
		{"é kiln", "", "it has a space at character 2"},
		{"\ufeffkiln", "", "it begins with a byte order mark (U+FEFF)"},
		{"ki\u200bln", "", "it has a zero-width space (U+200B) at character 3"},
		{"ki\u00a0ln", "", "it has a non-breaking space (U+00A0) at character 3"},
		{"ki\u00adln", "", "it has an invisible character (U+00AD) at character 3"},
		{"kiln\u2003", "", "it ends in white space (U+2003)"},
		{"\t ki ln\n", "", "it begins with a tab and a space, has a space at character 5 and ends in a line break"},
		{" \n", "", "it is only a space and a line break"},
		{">=1.0.0 <2.0.0", " ", ""},
		{">=1.0.0\u00a0<2.0.0 ", " ", "it has a non-breaking space (U+00A0) at character 8"},
		{"kiln\x00", "", "it ends in an invisible character (U+0000)"},
		{"kiln\xff", "", ""},
	} {
		if got := legible.WhiteSpace(tt.text, tt.allowed); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// FuzzWhiteSpace checks that each description is printable, and that a text without white space has none.
func FuzzWhiteSpace(f *testing.F) {
	f.Add(" kiln\xff\u200b")
	f.Fuzz(func(t *testing.T, text string) {
		found := legible.WhiteSpace(text, "")
		if legible.Text(found) != found || !utf8.ValidString(found) {
			t.Errorf("%q: %q", text, found)
		}
		if strings.Join(strings.Fields(text), "") != text && found == "" {
			t.Errorf("%q: white space was not found", text)
		}
	})
}
