// Package legible makes untrusted text, such as catalogs, file names and responses of registries, safe for a terminal:
// the text can neither break lines, nor hide or reorder the text around it, nor control the terminal.
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

// Name returns a text with non-printable characters written as Go escapes, such as \n, \x1b or \u202e: control
// characters, line breaks, invisible format characters, including the ones for the text direction, and bytes that are
// not UTF-8. It keeps the zero-width joiner and non-joiner, which words need in many scripts, and visible format
// characters. It also keeps backslashes, so that printable text is returned unchanged.
func Name(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
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

// Text is [Name] for sentences, whose authors may have broken them into lines: it trims white space at both ends, and
// replaces any other white space by one space.
func Text(text string) string { return Name(strings.Join(strings.Fields(text), " ")) }

func isEscaped(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) &&
		!unicode.In(r, unicode.Join_Control, unicode.Prepended_Concatenation_Mark)
}

// maxValue is the maximum length of a value shown in full, in bytes. Valid names, versions and image references are
// shorter.
const maxValue = 256

// Value shortens a value that is too long to show to its beginning and its length: xxxx… (5,242,880 bytes).
func Value(text string) string {
	if len(text) <= maxValue {
		return text
	}
	return beginning(text) + "… (" + plural.Number(len(text)) + " bytes)"
}

// Lines is [Name] for an error message of one line or several, whose long values it shortens as [Message] does. Lines
// after the first are indented, since they do not begin another error.
func Lines(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = Name(Message(line))
	}
	return strings.Join(lines, "\n  ")
}

// Message shortens every value of a message that is too long to show in full, as [Value] does. A value is a string in
// Go quotes, or a word.
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

// valueLength returns the length of the value at the start of text: a quoted string, a word, or a space.
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
		case '\\': // do not search for the end of a string at an escaped quote
			i++
		case ' ', '"':
			if i > 0 {
				return i
			}
		}
	}
	return len(text)
}

// beginning returns the part of a long value that is shown, cut between characters and escapes.
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
