package report

import (
	"cmp"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
)

// The characters around the marked parts of a text. Names cannot contain them, since legible.Name escapes control
// characters. Another text that contains them can only mark a part of itself as a name.
const (
	nameMark   = "\x02"
	strongMark = "\x0e"
	endMark    = "\x03"
)

// Name marks a name in a text: all its characters are kept, and it is code in Markdown. An empty name is "".
func Name(name string) string {
	if name == "" {
		return ""
	}
	return nameMark + legible.Name(name) + endMark
}

// Names marks names.
func Names(names []string) []string {
	marked := make([]string, len(names))
	for i, n := range names {
		marked[i] = Name(n)
	}
	return marked
}

// List marks names and joins them with commas.
func List(names []string) string { return strings.Join(Names(names), ", ") }

// Strong emphasizes words without names in Markdown.
func Strong(words string) string { return strongMark + words + endMark }

// Plain returns a text as [Report.Text] writes it, in one line.
func Plain(text string) string { return terminal.line(text) }

// A style writes the parts of a text in a format.
type style struct{ name, words, strong func(string) string }

var (
	terminal = &style{legible.Name, words, words}
	capitals = &style{legible.Name, func(s string) string { return strings.ToUpper(words(s)) }, words}
	marked   = &style{codeSpan, escaped, func(s string) string { return "**" + escaped(s) + "**" }}
	inTable  = &style{
		func(s string) string { return strings.ReplaceAll(codeSpan(s), "|", `\|`) }, marked.words, marked.strong,
	}
	tags = &style{
		codeElement,
		escapedHTML,
		func(s string) string { return "<strong>" + escapedHTML(s) + "</strong>" },
	}
)

// line writes a text in one line.
func (s *style) line(text string) string {
	line := joined{plain: s == terminal || s == capitals}
	for text = strings.TrimSpace(text); ; {
		i := strings.IndexAny(text, nameMark+strongMark)
		if i < 0 {
			line.add(s.words(text))
			return line.String()
		}
		line.add(s.words(text[:i]))
		part, rest, _ := strings.Cut(text[i+1:], endMark)
		if strings.HasPrefix(text[i:], nameMark) {
			line.add(s.name(part))
		} else {
			line.add(s.strong(part))
		}
		text = rest
	}
}

// A joined is a line of parts. In Markdown, a comment keeps the backticks of adjacent parts apart.
type joined struct {
	strings.Builder

	plain    bool // not in Markdown
	backtick bool // the line ends with one
}

func (j *joined) add(part string) {
	if part == "" {
		return
	}
	if j.backtick && strings.HasPrefix(part, "`") && !j.plain {
		j.WriteString("<!-- -->")
	}
	j.WriteString(part)
	j.backtick = strings.HasSuffix(part, "`")
}

// cells writes the cells of a row of a table. An empty cell is a dash, so that every row has all columns.
func (s *style) cells(cells []string, separator string) string {
	written := slices.Clone(cells)
	for i, c := range written {
		written[i] = cmp.Or(c, "-")
	}
	return s.row(written, separator)
}

// row writes the titles of columns, or lines.
func (s *style) row(cells []string, separator string) string {
	written := make([]string, len(cells))
	for i, c := range cells {
		written[i] = s.line(c)
	}
	return strings.Join(written, separator)
}

// listMark matches the beginning of a line that Markdown reads as an item of a list or as a rule, or that forges and
// their bots read as a command.
var listMark = regexp.MustCompile(`^(\d*)([-.)](?:\s|-|$))|^(/)`)

// start writes a text as a line at the start of a paragraph or an item in Markdown.
func start(text string) string { return listMark.ReplaceAllString(marked.line(text), `$1\$2$3`) }

// words writes words in one line, with white space at their ends as one space.
func words(s string) string {
	spaced := strings.Join(strings.Fields("|"+s+"|"), " ")
	return legible.Name(spaced[1 : len(spaced)-1])
}

// references matches the parts of a text that forges make a link to somebody or something else, who are told of it: a
// user or a team, as in @org/team, and an issue, as in #1, org/repo#1 or GH-1. Forges do not read code.
var references = regexp.MustCompile(`(?:^|\W)(@\w[\w./-]*\b|[\w./-]*[#!]\d+|GH-\d+)`)

// withReferences writes a text with one function, and the references in it with another.
func withReferences(s string, text, reference func(string) string) string {
	if !strings.ContainsAny(s, "@#!") && !strings.Contains(s, "GH-") {
		return text(s)
	}
	var line joined
	for {
		at := references.FindStringSubmatchIndex(s)
		if at == nil {
			line.add(text(s))
			return line.String()
		}
		line.add(text(s[:at[2]]))
		line.add(reference(s[at[2]:at[3]]))
		s = s[at[3]:]
	}
}

// escaped writes words in one line of Markdown, with references as code.
func escaped(s string) string { return withReferences(words(s), escapedText, codeSpan) }

// escapedText escapes the characters of a text that mean something to Markdown.
func escapedText(s string) string {
	var text strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(`.,:;-/()'"%`, r) {
			text.WriteByte('\\')
		}
		text.WriteRune(r)
	}
	return strings.ReplaceAll(text.String(), `-\>`, "->") // arrows need no escape, and are also read as text
}

// escapedHTML writes words in one line of HTML, with references as code.
func escapedHTML(s string) string { return withReferences(words(s), html.EscapeString, codeElement) }

// codeElement writes a name as code in HTML.
func codeElement(name string) string {
	return "<code>" + html.EscapeString(legible.Name(name)) + "</code>"
}

// codeSpan writes a name as code, between more backticks than it has in a row.
func codeSpan(name string) string {
	name = legible.Name(name)
	around, space := fence(name, 1), ""
	if strings.Contains(name, "`") {
		space = " "
	}
	return around + space + name + space + around
}

// fence returns the backticks around a text: the given number, or more if the text has as many in a row.
func fence(text string, least int) string {
	run := 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		least = max(least, run+1)
	}
	return strings.Repeat("`", least)
}
