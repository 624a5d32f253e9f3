// Package shell writes command lines that can be pasted into a shell.
package shell

import (
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:./-]+$`)

// Quote returns a word of a command line, in quotes if it needs them.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Join returns the command line of a program and its arguments.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Line returns a command with an argument, which can be pasted into a shell.
func Line(command, arg string) string {
	if strings.HasPrefix(arg, "-") && arg != "-" {
		command += " --"
	}
	return command + " " + Quote(arg)
}
