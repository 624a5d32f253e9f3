package dockerfile

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Three readers see the name of a directory one after the other: the parser of instructions, which splits words
// or decodes JSON; the one of words, which takes away quotes and replaces variables, in JSON too; and the matcher of
// wildcards. See https://docs.docker.com/reference/dockerfile/#add.
var (
	wordEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, `$`, `\$`)
	wildEscapes = strings.NewReplacer(`\`, `\\`, `*`, `[*]`, `?`, `[?]`, `[`, `[[]`)
	// In double quotes a single one is a character as any other.
	quoteEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)
)

// add returns the instruction that adds the directory: with the plain name where that says what it means, else with
// a list in JSON.
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
	return "ADD [" + jsonString(wordEscapes.Replace(name)) + `, "/configs"]`
}

// jsonString encodes s without the escapes for HTML, which a Dockerfile has no need of.
func jsonString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// isPlain reports whether no reader of a Dockerfile takes name for anything but a name.
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
