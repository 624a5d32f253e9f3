package indexignore

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	gitignore "github.com/sabhiram/go-gitignore"
)

// An element matches the name of one file or directory, in the same way as path.Match, which opm uses.
type element struct {
	prefix, suffix string // start and end of matching names; if glob is nil, the prefix is the whole name
	glob           *gitignore.GitIgnore
}

// newElement parses one element of a pattern. It reports false if the element is malformed. An empty one matches no
// name.
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

// compile compiles a well-formed element with go-gitignore, which interprets wildcards differently from opm: it matches
// "?" literally, and treats "+" as a repetition. So the line for it avoids ".", "*", "?", "!" and "#", which
// go-gitignore would rewrite, and is otherwise a regular expression. The leading slash anchors the line at the start of
// the name. go-gitignore allows only a suffix that starts with a slash, which no name contains, so the whole name must
// match.
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

// writeClass writes a character class and returns the rest of the text, which starts after "[". Only "^" negates; "!"
// and the "[:" of POSIX classes are ordinary characters. A range in descending order has no members.
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

// char returns the first character of text, unescaped, and the rest of the text.
func char(text string) (rune, string) {
	text = strings.TrimPrefix(text, `\`)
	r, size := utf8.DecodeRuneInString(text)
	return r, text[size:]
}

func writeRune(line *strings.Builder, r rune) {
	fmt.Fprintf(line, `\x{%X}`, r)
}
