// Package legible makes what others wrote, such as catalogs, names of files and answers of registries, fit for a
// terminal: it can neither break lines, nor hide or reorder what is around it, nor steer the terminal.
//
//	fmt.Fprintf(w, "%s: warning: %s\n", legible.Name(file), legible.Text(legible.Message(message)))
package legible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/plural"
)

// Name returns a text with what is not printable written as escapes of Go, such as \n, \x1b or \u202e: control
// characters, what breaks lines, invisible characters of format, which those for the direction of text are among, and
// bytes that are no UTF-8. Two characters of format that words need in many scripts stay, the zero-width joiner and
// non-joiner, and so do those that can be seen. Backslashes stay too, so that what is printable is returned as it is.
func Name(text string) string {
	if isPlain(text) {
		return text
	}
	var shown strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&shown, `\x%02x`, rest[0])
		case isEscaped(r):
			escape := strconv.QuoteRuneToASCII(r)
			shown.WriteString(escape[1 : len(escape)-1])
		default:
			shown.WriteRune(r)
		}
		rest = rest[size:]
	}
	return shown.String()
}

// Text is [Name] for sentences, which their authors may have broken into lines: white space at the ends is removed,
// and any other is one space.
func Text(text string) string { return Name(strings.Join(strings.Fields(text), " ")) }

// isPlain reports whether s is printable ASCII, as most texts are.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func isEscaped(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) &&
		!unicode.In(r, unicode.Join_Control, unicode.Prepended_Concatenation_Mark)
}

// maxValue is how long a value is shown in full, in bytes. Valid names, versions and image references are shorter.
const maxValue = 256

// Value returns the beginning of a value that is too long to show, and its length: xxxx… (5,242,880 bytes).
func Value(text string) string {
	if len(text) <= maxValue {
		return text
	}
	return beginning(text) + "… (" + plural.Number(len(text)) + " bytes)"
}

// Message returns a message with every value in it that is too long to show cut as [Value] does: what is in quotes, as
// Go writes them, and words.
func Message(text string) string {
	if len(text) <= maxValue {
		return text
	}
	var shown strings.Builder
	for rest := text; rest != ""; {
		n := valueLength(rest)
		value := rest[:n]
		rest = rest[n:]
		switch {
		case n <= maxValue:
			shown.WriteString(value)
		case value[0] == '"' && value[n-1] == '"':
			shown.WriteString(beginning(value) + `…" (` + plural.Number(n-len(`""`)) + " bytes)")
		default:
			shown.WriteString(Value(value))
		}
	}
	return shown.String()
}

// valueLength returns the length of what text begins with: a quoted text, a word, or a space.
func valueLength(text string) int {
	if text[0] == ' ' {
		return 1
	}
	if text[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			return len(quoted)
		}
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\': // an escaped quote does not begin a quoted text, which would be searched for its end
			i++
		case ' ', '"':
			if i > 0 {
				return i
			}
		}
	}
	return len(text)
}

// beginning returns as much of a text as is shown of one that is too long, in whole characters and escapes.
func beginning(text string) string {
	n := maxValue / 2
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if i := strings.LastIndexByte(text[:n], '\\'); i >= n-len(`\U00000000`) {
		n = i
	}
	return text[:n]
}
