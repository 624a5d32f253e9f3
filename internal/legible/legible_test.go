package legible_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
)

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"kiln.v1.2.0-rc.1+build": "kiln.v1.2.0-rc.1+build",
		"Töpferei 陶芸 🚀":          "Töpferei 陶芸 🚀",
		`C:\new "x"`:             `C:\new "x"`,
		"a\nb\tc\r\x00\x7f":      `a\nb\tc\r\x00\x7f`,
		"\x1b[31mred":            `\x1b[31mred`,
		"\u0085 \u009b1m":        `\u0085 \u009b1m`,
		"\x9b1m \xff":            `\x9b1m \xff`,
		"a\u2028b\u2029c":        `a\u2028b\u2029c`,
		"\u202egpj.exe\u2066":    `\u202egpj.exe\u2066`,
		"\u200e\u200f\u061c":     `\u200e\u200f\u061c`,
		"a\u200bb\ufeff\u00ad":   `a\u200bb\ufeff\u00ad`,
		"\U000e0041":             `\U000e0041`,
		"👩\u200d🏭 می\u200cخواهم": "👩\u200d🏭 می\u200cخواهم",
		"\u0600\ufffd":           "\u0600\ufffd",
	} {
		if got := legible.Name(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"Use stable.\n":              "Use stable.",
		" Use\n  stable,\r\n\tnow. ": "Use stable, now.",
		"a\u2028b\u0085c":            "a b c",
		"\x1b[31m\nred":              `\x1b[31m red`,
	} {
		if got := legible.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("a\x1b[1m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := legible.Name(text)
		steers := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) }
		if !utf8.ValidString(got) || strings.ContainsFunc(got, steers) {
			t.Errorf("%q: got %q", text, got)
		}
		if again := legible.Name(got); again != got {
			t.Errorf("%q: a second time %q becomes %q", text, got, again)
		}
	})
}

// TestMessage checks that long values are cut between characters and escapes, and shown with their length.
func TestMessage(t *testing.T) {
	x := strings.Repeat("x", 300)
	for text, want := range map[string]string{
		"":                           "",
		x[:256]:                      x[:256],
		"no bundle " + x:             "no bundle " + x[:128] + "… (300 bytes)",
		`no "` + x + `" in "y" ` + x: `no "` + x[:127] + `…" (300 bytes) in "y" ` + x[:128] + "… (300 bytes)",
		`"` + strings.Repeat(`a b\"c `, 50) + `"`:  `"` + strings.Repeat(`a b\"c `, 17) + `a b…" (350 bytes)`,
		x[:127] + strings.Repeat("é", 100):         x[:127] + "… (327 bytes)",
		x[:123] + strings.Repeat(`\U0001f680`, 20): x[:123] + "… (323 bytes)",
		strings.Repeat("word ", 100):               strings.Repeat("word ", 100),
		`"` + x:                                    `"` + x[:127] + "… (301 bytes)",
	} {
		if got := legible.Message(text); got != want {
			t.Errorf("%q: got\n%q, want\n%q", text, got, want)
		}
		if got := legible.Message(want); got != want {
			t.Errorf("a second time %q becomes\n%q", want, got)
		}
	}
	if got, want := legible.Value(x), x[:128]+"… (300 bytes)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	got := legible.Lines("a\x1b b\nError: " + strings.Repeat("x", 300))
	if want := "a\\x1b b\n  Error: " + legible.Value(strings.Repeat("x", 300)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMessageOfQuotes checks that unterminated quotes are not searched repeatedly for their end.
func TestMessageOfQuotes(*testing.T) {
	for _, repeated := range []string{`"`, `\"`, `\" `, `"\q`} {
		legible.Message(`"` + strings.Repeat(repeated, 200_000))
	}
}
