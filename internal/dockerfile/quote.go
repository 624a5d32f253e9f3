package dockerfile

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// The directory name is parsed three times: as an instruction, which is split into words or decoded from JSON; as a
// word, in which quotes are removed and variables expanded, even in JSON; and as a pattern with wildcards. See
// https://docs.docker.com/reference/dockerfile/#add.
var (
	wordEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, `$`, `\$`)
	wildEscapes = strings.NewReplacer(`\`, `\\`, `*`, `[*]`, `?`, `[?]`, `[`, `[[]`)
	// Single quotes need no escape within double quotes.
	quoteEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)
)

// add returns the ADD instruction for the directory, with a JSON list if the plain name could be misread.
func add(name string) string {
	if isPlain(name) {
		return "ADD " + name + " /configs"
	}
	if strings.ContainsAny(name, "*?[") {
		name = wildEscapes.Replace(name)
	}
	if strings.HasPrefix(name, "git@") || strings.Contains(name, "<<") {
		name = "./" + name // not a repository, and not a here-document
	}
	quoted, _ := jsontext.AppendQuote([]byte("ADD ["), wordEscapes.Replace(name)) // cannot fail: the name is UTF-8
	return string(quoted) + `, "/configs"]`
}

// isPlain reports whether a name needs no quotes.
func isPlain(name string) bool {
	if strings.HasPrefix(name, "-") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+=~%^,", r)
	})
}

// quote quotes s, which has no line break, as a key or a value of LABEL.
func quote(s string) string {
	return `"` + quoteEscapes.Replace(s) + `"`
}
