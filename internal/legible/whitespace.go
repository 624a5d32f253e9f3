package legible

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// WhiteSpace describes the white space and the invisible characters of a value that should have none, and where they
// are: "it begins with a tab and ends in a space", "it has a non-breaking space (U+00A0) at character 5". Characters
// count from 1. The characters of allowed may be in the value, such as spaces in version ranges. WhiteSpace returns ""
// if there are no others.
func WhiteSpace(text, allowed string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	isFound := func(r rune) bool { return isInvisible(r) && !strings.ContainsRune(allowed, r) }
	content := strings.TrimFunc(text, isFound)
	if content == "" {
		if text == "" {
			return ""
		}
		return "it is only " + characters(text)
	}
	before, after, _ := strings.Cut(text, content)
	var parts []string
	if before != "" {
		parts = append(parts, "begins with "+characters(before))
	}
	for i, r := range []rune(content) {
		if isFound(r) {
			parts = append(parts, fmt.Sprintf("has %s at character %d", characters(string(r)), len([]rune(before))+i+1))
			break
		}
	}
	if after != "" {
		parts = append(parts, "ends in "+characters(after))
	}
	switch len(parts) {
	case 0:
		return ""
	case 3:
		return "it " + parts[0] + ", " + parts[1] + " and " + parts[2]
	}
	return "it " + strings.Join(parts, " and ")
}

// WithoutWhiteSpace returns a value without the characters that [WhiteSpace] describes.
func WithoutWhiteSpace(text string) string {
	return strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, text)
}

// ExplainWhiteSpace returns the error about a value with the description of [WhiteSpace], or err if there is no white
// space.
func ExplainWhiteSpace(err error, text, allowed string) error {
	if found := WhiteSpace(text, allowed); found != "" {
		return fmt.Errorf("%s (%w)", found, err)
	}
	return err
}

func isInvisible(r rune) bool {
	return unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

var invisible = map[rune]string{
	' ': "a space", '\t': "a tab", '\n': "a line break", '\r': "a carriage return",
	'\u00a0': "a non-breaking space (U+00A0)",
	'\u200b': "a zero-width space (U+200B)",
	'\ufeff': "a byte order mark (U+FEFF)",
}

// characters names the different characters of a text that has only invisible ones.
func characters(text string) string {
	var found []string
	for _, r := range text {
		name := invisible[r]
		switch {
		case name != "":
		case unicode.IsSpace(r):
			name = fmt.Sprintf("white space (%U)", r)
		default:
			name = fmt.Sprintf("an invisible character (%U)", r)
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return strings.Join(found, " and ")
}
