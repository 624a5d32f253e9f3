//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A command is a command of opm, as its page in docs/reference/commands describes it.
type command struct {
	path     string            // such as "opm list channels"
	examples []string          // command lines
	flags    map[string]string // names, as --NAME, by name and by shorthand, as -N
	registry map[string]string // the flags about registries, which many commands have
}

// readReference reads the pages of all commands, in lexical order.
func readReference(root string) ([]*command, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "reference", "commands", "*.md"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no pages of commands in %s: %w", root, err)
	}
	var all []*command
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, parsePage(string(text)))
	}
	return all, nil
}

// flagLine matches the line of a flag: its shorthand, if it has one, and its name.
var flagLine = regexp.MustCompile(`^(?:(-\w), )?(--[a-z0-9-]+)`)

func parsePage(text string) *command {
	c := &command{flags: map[string]string{}, registry: map[string]string{}}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		name, isTitle := strings.CutPrefix(line, "# ")
		indented, isUsage := strings.CutPrefix(line, "    ")
		switch {
		case isTitle:
			c.path = name
		case !isUsage:
			section = ""
		case !strings.HasPrefix(indented, " "):
			section = indented
		case section == "Examples:":
			c.examples = append(c.examples, strings.TrimSpace(indented))
		case strings.HasSuffix(section, "lags:"):
			c.addFlag(section, strings.TrimSpace(indented))
		}
	}
	return c
}

func (c *command) addFlag(section, line string) {
	names := flagLine.FindStringSubmatch(line)
	if names == nil {
		return
	}
	flags := c.flags
	if section == "Registry flags:" {
		flags = c.registry
	}
	flags[names[2]] = names[2]
	if names[1] != "" {
		flags[names[1]] = names[2]
	}
}

// referenceValues returns the values of {command}, the commands, or {example}, the command lines in their help that end
// by themselves.
func referenceValues(commands []*command, name string) []value {
	var all []value
	for _, c := range commands {
		if name == "command" {
			all = append(all, value{"": c.path})
			continue
		}
		for _, example := range c.examples {
			if !runsOn(example) {
				all = append(all, value{"": example})
			}
		}
	}
	return all
}

// runsOn reports whether a command line runs until it is interrupted.
func runsOn(line string) bool {
	serves := strings.Contains(line, "opm serve ") && !strings.Contains(line, "--cache-only")
	return serves || strings.HasSuffix(line, " --watch")
}
