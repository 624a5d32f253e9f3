//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A list is the content of a file such as lines.txt, which describes the syntax.
type list struct {
	patterns map[string]string // of files, by the name of a placeholder
	lines    []listLine
	unused   map[string]string // reasons, by "COMMAND" or "COMMAND --FLAG"
	without  []*regexp.Regexp  // lines that are left out
}

// A listLine is a line before its placeholders are replaced.
type listLine struct {
	number int // in the file, from 1
	text   string
}

// parseLines parses a file of lines.
func parseLines(text string) (*list, error) {
	l := &list{patterns: map[string]string{}, unused: map[string]string{}}
	for i, line := range joinLines(text) {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		keyword, rest, _ := strings.Cut(line, " ")
		switch keyword {
		case "let":
			name, pattern, ok := strings.Cut(rest, " = ")
			if !ok {
				return nil, fmt.Errorf("lines.txt:%d: want let NAME = PATTERN", i+1)
			}
			l.patterns[name] = pattern
		case "unused":
			what, why, ok := strings.Cut(rest, ": ")
			if !ok {
				return nil, fmt.Errorf("lines.txt:%d: want unused COMMAND [--FLAG]: REASON", i+1)
			}
			l.unused[what] = why
		case "without":
			pattern, _, ok := strings.Cut(rest, ": ")
			without, err := regexp.Compile(pattern)
			if err != nil || !ok {
				return nil, fmt.Errorf("lines.txt:%d: want without REGEXP: REASON", i+1)
			}
			l.without = append(l.without, without)
		default:
			l.lines = append(l.lines, listLine{i + 1, line})
		}
	}
	return l, nil
}

// joinLines returns the lines of a text. A line that begins with a blank is part of the one before; "" takes its place.
func joinLines(text string) []string {
	all := strings.Split(text, "\n")
	first := 0
	for i, line := range all {
		if strings.HasPrefix(line, " ") {
			all[first] += " " + strings.TrimSpace(line)
			all[i] = ""
		} else {
			first = i
		}
	}
	return all
}

// A value of a placeholder has the texts of its fields, by name: "" for {NAME}, FIELD for {NAME.FIELD}.
type value map[string]string

// errNoData is the error of a placeholder that has no values because the directory shared does not exist.
var errNoData = errors.New("no data")

// expand returns the command lines of a list, in its order. values returns the values of a placeholder, in order. Lines
// whose values are missing because of [errNoData] are left out.
func (l *list) expand(values func(name, pattern string) ([]value, error)) ([]string, error) {
	var all []string
	for _, line := range l.lines {
		for _, text := range expandChoices(line.text) {
			expanded, err := l.expandPlaceholders(text, values)
			if errors.Is(err, errNoData) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("lines.txt:%d: %w", line.number, err)
			}
			all = append(all, slices.DeleteFunc(expanded, l.leavesOut)...)
		}
	}
	return all, nil
}

func (l *list) leavesOut(line string) bool {
	return slices.ContainsFunc(l.without, func(r *regexp.Regexp) bool { return r.MatchString(line) })
}

// choices matches {A,B,C}, for which a line is repeated with A, B and C. Any of them may be empty.
var choices = regexp.MustCompile(`\{[\w .=/:@$&-]*(?:,[\w .=/:@$&-]*)+\}`)

// expandChoices returns the lines that a line with choices stands for.
func expandChoices(line string) []string {
	at := choices.FindStringIndex(line)
	if at == nil {
		return []string{line}
	}
	var all []string
	for choice := range strings.SplitSeq(line[at[0]+1:at[1]-1], ",") {
		all = append(all, expandChoices(line[:at[0]]+choice+line[at[1]:])...)
	}
	return all
}

// placeholder matches {NAME}, {NAME.FIELD} and {NAME/STEP}.
var placeholder = regexp.MustCompile(`\{([a-z][a-z-]*)(?:\.([a-z]+))?(?:/([0-9]+))?\}`)

// expandPlaceholders returns a line for each value of the first placeholder in a line, and of the others for each of
// them. All placeholders of one name have the same value. What a value has in braces, such as {{end}} of a template,
// is no placeholder.
func (l *list) expandPlaceholders(
	line string, values func(name, pattern string) ([]value, error),
) ([]string, error) {
	steps := map[string]int{}
	var names []string
	for _, found := range placeholder.FindAllStringSubmatch(line, -1) {
		name := found[1]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if found[3] != "" {
			steps[name], _ = strconv.Atoi(found[3]) // of digits
		}
	}
	choices := []map[string]value{{}} // by name
	for _, name := range names {
		list, err := values(name, l.patterns[name])
		if err != nil {
			return nil, err
		}
		var longer []map[string]value
		for _, choice := range choices {
			for chunk := range slices.Chunk(list, max(steps[name], 1)) {
				choice = maps.Clone(choice)
				choice[name] = chunk[0]
				longer = append(longer, choice)
			}
		}
		choices = longer
	}
	var all []string
	for _, choice := range choices {
		text, err := replacePlaceholders(line, choice)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// replacePlaceholders replaces the placeholders of a line by the texts of values, by name.
func replacePlaceholders(line string, values map[string]value) (string, error) {
	unknown := ""
	line = placeholder.ReplaceAllStringFunc(line, func(text string) string {
		found := placeholder.FindStringSubmatch(text)
		with, ok := values[found[1]][found[2]]
		if !ok {
			unknown = text
		}
		return with
	})
	if unknown != "" {
		return "", fmt.Errorf("%s: no such field", unknown)
	}
	return line, nil
}
