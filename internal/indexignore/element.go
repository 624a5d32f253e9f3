package indexignore

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	gitignore "github.com/sabhiram/go-gitignore"
)

// An element matches the name of one file or directory, as path.Match does, which is what opm uses.
type element struct {
	prefix, suffix string // what the name begins and ends with; the prefix is all of it where glob is nil
	glob           *gitignore.GitIgnore
}

// newElement reads one element of a pattern. It reports false if it is not well formed. An empty one matches no name.
func newElement(text string) (element, bool) {
	if _, err := path.Match(text, ""); err != nil || !utf8.ValidString(text) {
		return element{}, false
	}
	if !strings.ContainsAny(text, `*?[\`) {
		return element{prefix: text}, true
	}
	return element{
		prefix: text[:strings.IndexAny(text, `*?[\`)],
		suffix: text[strings.LastIndexAny(text, `*?]\`)+1:],
		glob:   compile(text),
	}, true
}

func (e element) matches(name string) bool {
	if e.glob == nil {
		return name == e.prefix
	}
	return strings.HasPrefix(name, e.prefix) && strings.HasSuffix(name, e.suffix) && e.glob.MatchesPath(name)
}

// compile hands a well-formed element to go-gitignore, whose own reading of wildcards is not opm's: it takes "?" for
// itself and "+" for a repetition. So it gets a line without ".", "*", "?", "!" and "#", which it would rewrite, and
// takes what is left as a regular expression. The slash ties the line to the start of the name. What go-gitignore lets
// follow begins with a slash, which no name holds, so the whole name has to match.
func compile(text string) *gitignore.GitIgnore {
	var line strings.Builder
	line.WriteByte('/')
	for text != "" {
		switch text[0] {
		case '*':
			line.WriteString(`[^/]{0,}`)
			text = text[1:]
		case '?':
			line.WriteString(`[^/]`)
			text = text[1:]
		case '[':
			text = writeClass(&line, text[1:])
		default:
			var r rune
			r, text = char(text)
			writeRune(&line, r)
		}
	}
	return gitignore.CompileIgnoreLines(line.String())
}

// writeClass writes a class whose text begins after "[" and returns what follows it. Only "^" negates; "!" and the
// "[:" of POSIX classes are characters like others. A range that runs backwards has no members.
func writeClass(line *strings.Builder, text string) string {
	text, negated := strings.CutPrefix(text, "^")
	var members strings.Builder
	for text[0] != ']' {
		var low, high rune
		low, text = char(text)
		high = low
		if upper, ok := strings.CutPrefix(text, "-"); ok {
			high, text = char(upper)
		}
		if low <= high {
			writeRune(&members, low)
			members.WriteByte('-')
			writeRune(&members, high)
		}
	}
	switch {
	case negated:
		fmt.Fprintf(line, `[^/%s]`, members.String())
	case members.Len() > 0:
		fmt.Fprintf(line, `[%s]`, members.String())
	default:
		line.WriteString(`[^\x{0}-\x{10FFFF}]`)
	}
	return text[1:]
}

// char returns the first character of text, or the one behind a backslash, and the text after it.
func char(text string) (rune, string) {
	text = strings.TrimPrefix(text, `\`)
	r, size := utf8.DecodeRuneInString(text)
	return r, text[size:]
}

func writeRune(line *strings.Builder, r rune) {
	fmt.Fprintf(line, `\x{%X}`, r)
}
