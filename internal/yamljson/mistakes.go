package yamljson

import (
	"bytes"
	"fmt"
	"strings"
)

// conflictMarkers begin the lines that git adds to a file with a merge conflict.
var conflictMarkers = []string{"<<<<<<< ", "||||||| ", "=======", ">>>>>>> "}

// Conflict returns the error about the first conflict marker of git in text, YAML or JSON, or nil. It is for text that
// cannot be read: a block scalar at the top of a document, for example, may have such lines.
func Conflict(text []byte) *Error {
	for offset := 0; offset < len(text); {
		line := firstLine(text[offset:])
		for _, marker := range conflictMarkers {
			rest, ok := bytes.CutPrefix(line, []byte(marker))
			if ok && (marker != "=======" || len(bytes.TrimRight(rest, blanks)) == 0) {
				return errorAt(text, offset, conflictMessage)
			}
		}
		offset += len(line)
	}
	return nil
}

const conflictMessage = "a conflict marker of git: keep one of the two versions, and delete the lines that begin " +
	"with <<<<<<<, ======= and >>>>>>>"

// mend returns what to do about a syntax error at an offset, as "; ..." to add to its message, or "". It knows the
// most common mistakes.
func mend(text []byte, offset int, msg string) string {
	start := bytes.LastIndexByte(text[:offset], '\n') + 1
	line := string(bytes.TrimRight(firstLine(text[start:]), blanks))
	column := offset - start
	switch {
	case column > len(line):
	case strings.HasPrefix(msg, "mapping values are not allowed"):
		return mendColon(text[:start], line, column)
	case strings.Contains(msg, "did not find expected key") && strings.Trim(line[:column], " ") == "":
		if line[column:] == "-" || strings.HasPrefix(line[column:], "- ") {
			return fmt.Sprintf("; no list above begins in column %d: correct the spaces before the dash", column+1)
		}
		return fmt.Sprintf("; no key above begins in column %d: correct the spaces before the key", column+1)
	case strings.Contains(msg, "a simple key"):
		return "; a colon and a space are missing after the key"
	case strings.HasPrefix(msg, "while scanning"):
		return mendValue(line)
	}
	return ""
}

// mendColon is mend for a colon where there can be none, in a column, from 0, of a line. above is the text before it.
func mendColon(above []byte, line string, column int) string {
	first := strings.Index(line+" ", ": ")
	if first < column {
		return mendValue(line)
	}
	key, indent := keyOfLine(line)
	for len(above) > 0 {
		start := bytes.LastIndexByte(above[:len(above)-1], '\n') + 1
		before := strings.TrimRight(string(above[start:]), blanks)
		above = above[:start]
		if isBlank([]byte(before)) {
			continue
		}
		other, column := keyOfLine(before)
		switch _, value, ok := strings.Cut(before, ":"); {
		case other != "" && column < indent:
			return fmt.Sprintf("; begin the key %q in column %d, as the key %q above", key, column+1, other)
		case other == "" && ok && value != "":
			return "; the line above has no space after its colon"
		}
		break
	}
	return ""
}

// keyOfLine returns the key of a line, without the dashes before it, and its column, from 0; "" for a line without one.
func keyOfLine(line string) (key string, column int) {
	rest := line
	for {
		inner := strings.TrimLeft(rest, " ")
		item, ok := strings.CutPrefix(inner, "- ")
		if !ok {
			column = len(line) - len(inner)
			key, _, ok = strings.Cut(inner+" ", ": ")
			if !ok {
				return "", column
			}
			return key, column
		}
		rest = item
	}
}

// mendValue is mend for a value that is no plain scalar, because of a character in it.
func mendValue(line string) string {
	key, column := keyOfLine(line)
	if key == "" {
		return ""
	}
	value := strings.TrimLeft(line[column+len(key)+1:], " ")
	if value == "" || len(value) > 200 || strings.ContainsAny(value[:1], `"'[{&*!#`) || strings.Contains(value, " #") {
		return ""
	}
	quoted := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	return fmt.Sprintf("; put the value in quotes: %s: %s", key, quoted)
}
