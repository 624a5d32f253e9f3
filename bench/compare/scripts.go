//go:build linux

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// scriptValues returns the calls of opm in the scripts that test the commands, as shell commands. Each runs in a copy
// of the files of its script, without the effects of the lines above it, so some calls fail that succeed in the script.
func scriptValues(root string) ([]value, error) {
	files, err := scriptFiles(root)
	if err != nil {
		return nil, err
	}
	var all []value
	for _, file := range files {
		script, err := txtar.ParseFile(file)
		if err != nil {
			return nil, err
		}
		for _, call := range scriptCalls(string(script.Comment)) {
			all = append(all, value{"": fmt.Sprintf("cp -r scripts/%s script && cd script && %s", scriptName(file), call)})
		}
	}
	return all, nil
}

// scriptFiles returns the files of the scripts, at least one.
func scriptFiles(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "cmd", "opm", "testdata", "script", "*.txtar"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no scripts in %s", root)
	}
	return files, err
}

func scriptName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// Lines of scripts: a call of opm, and settings of variables.
var (
	scriptCall = regexp.MustCompile(`^(?:\[[^\]]*\] )*(?:! )?(?:exec )?opm(?: (.*))?$`)
	scriptEnv  = regexp.MustCompile(`^(?:\[[^\]]*\] )*env (.*)$`)
)

// ownVariables are variables of scripts that have other values in the environment of a line.
var ownVariables = []string{"CONTAINERS_REGISTRIES_CONF", "PATH", "TERM"}

// scriptCalls returns the different calls of opm in a script that end by themselves, with the variables set before.
func scriptCalls(script string) []string {
	var calls []string
	env := map[string]string{}
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if setting := scriptEnv.FindStringSubmatch(line); setting != nil {
			for _, word := range scriptWords(setting[1]) {
				name, value, _ := strings.Cut(word, "=")
				env[name] = value
			}
		}
		found := scriptCall.FindStringSubmatch(line)
		if found == nil || runsOn(line) {
			continue
		}
		call := ""
		if strings.Contains(line, "$WORK") || slices.ContainsFunc(slices.Collect(maps.Values(env)), mentionsWork) {
			call = "export WORK=$PWD && "
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if !slices.Contains(ownVariables, name) {
				call += fmt.Sprintf("export %s=%s && ", name, shellWord(env[name]))
			}
		}
		call += "opm"
		for _, word := range scriptWords(found[1]) {
			call += " " + shellWord(word)
		}
		if !slices.Contains(calls, call) {
			calls = append(calls, call)
		}
	}
	return calls
}

func mentionsWork(text string) bool { return strings.Contains(text, "$WORK") }

// scriptWords splits a line of a script at blanks outside of quotes, up to a comment. Words keep their quotes.
func scriptWords(line string) []string {
	var words []string
	word, quoted := "", false
	for _, r := range line + " " {
		switch {
		case r == ' ' && !quoted:
			if strings.HasPrefix(word, "#") {
				return words
			}
			if word != "" {
				words = append(words, word)
			}
			word = ""
			continue
		case r == '\'':
			quoted = !quoted
		}
		word += string(r)
	}
	return words
}

// safeWord matches words that mean the same in a script and in a shell.
var safeWord = regexp.MustCompile(`^[\w./:@%+,=^-]+$`)

// shellWord returns a word of a script as a word for a shell. In scripts, only single quotes quote, and two of them in
// quotes are one.
func shellWord(word string) string {
	if safeWord.MatchString(word) {
		return word
	}
	var text strings.Builder
	parts := strings.Split(strings.ReplaceAll(word, "''", "\x00"), "'")
	for i, part := range parts {
		switch {
		case i%2 == 1:
			text.WriteString("'" + strings.ReplaceAll(part, "\x00", `'\''`) + "'")
		case part != "":
			part = strings.NewReplacer("${/}", "/", "${:}", ":", `\`, `\\`, `"`, `\"`, "`", "\\`", "\x00", "").Replace(part)
			text.WriteString(`"` + part + `"`)
		}
	}
	if text.Len() == 0 {
		return "''"
	}
	return text.String()
}
