package dockerfile

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// The name of a directory is parsed three times: as an instruction, which is split into words or decoded from JSON; as
// a word, from which quotes are removed and in which variables are replaced, in JSON too; and as a pattern with
// wildcards. See https://docs.docker.com/reference/dockerfile/#add.
var (
	wordEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, `$`, `\$`)
	wildEscapes = strings.NewReplacer(`\`, `\\`, `*`, `[*]`, `?`, `[?]`, `[`, `[[]`)
	// In double quotes, a single quote means itself.
	quoteEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)
)

// add returns the instruction that adds the directory, as a list in JSON if the plain name could mean something else.
func add(name string) string {
	if isPlain(name) {
		return "ADD " + name + " /configs"
	}
	if strings.ContainsAny(name, "*?[") {
		name = wildEscapes.Replace(name)
	}
	if strings.HasPrefix(name, "git@") || strings.Contains(name, "<<") {
		name = "./" + name // not a repository, and not a document that follows
	}
	quoted, _ := jsontext.AppendQuote([]byte("ADD ["), wordEscapes.Replace(name)) // it is UTF-8
	return string(quoted) + `, "/configs"]`
}

// isPlain reports whether a name means itself without quotes.
func isPlain(name string) bool {
	if strings.HasPrefix(name, "-") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+=~%^,", r)
	})
}

// quote returns s, which has no line break, as a key or a value of LABEL.
func quote(s string) string {
	return `"` + quoteEscapes.Replace(s) + `"`
}
