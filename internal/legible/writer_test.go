package legible_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/opm-toolchain/opm/internal/legible"
)

func TestWriter(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\n":                  "a\tb\nc\n",
		"a\r\n\x1b]0;t\a\u202e\n":    `a\r` + "\n" + `\x1b]0;t\a\u202e` + "\n",
		"\u009b1m \xff\xe2 Töpferei": `\u009b1m \xff\xe2 Töpferei`,
		"::error::a\na::b\n \t::c":   `\x3a:error::a` + "\na::b\n \t" + `\x3a:c`,
		"\u00a0::stop-commands::x\n": "\u00a0" + `\x3a:stop-commands::x` + "\n",
		"a ##[error]b ##vso[c] #[d]": `a ##\x5berror]b ##vso\x5bc] #[d]`,
		"###[a] ## [b] ##a-[c]":      `###\x5ba] ## [b] ##a-[c]`,
		": a":                        ": a",
	} {
		if got := throughWriter(t, len(text), text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzWriter checks that any text is escaped, regardless of how it is split into writes.
func FuzzWriter(f *testing.F) {
	f.Add("a\n :\n::\x1b[1m\u202e\xff\xe2##vso[", 3)
	f.Fuzz(func(t *testing.T, text string, length int) {
		text += "\n"
		for line := range strings.Lines(throughWriter(t, min(max(length, 1), len(text)), text)) {
			line = strings.TrimSuffix(line, "\n")
			steers := func(r rune) bool { return r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control) }
			if strings.ContainsFunc(line, steers) || strings.HasPrefix(strings.TrimSpace(line), "::") ||
				strings.Contains(line, "##[") {
				t.Errorf("%q: got %q", text, line)
			}
		}
	})
}

// throughWriter returns the output of a Writer for a text that is written in parts of the given length.
func throughWriter(t *testing.T, length int, text string) string {
	t.Helper()
	var out strings.Builder
	w := legible.NewWriter(&out)
	for rest := text; rest != ""; {
		part := rest[:min(length, len(rest))]
		rest = rest[len(part):]
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
	}
	return out.String()
}
