package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
)

// title returns what is written over a package or a channel.
func title(name string, isDefault, deprecated bool) string {
	var marks []string
	if isDefault && name != "" {
		marks = append(marks, "default")
	}
	if deprecated {
		marks = append(marks, "deprecated")
	}
	if name == "" {
		marks = append(marks, "without a name")
	}
	if marks == nil {
		return name
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", name, strings.Join(marks, ", ")))
}

// lines returns what is written on a node: its name, and its version where the name does not tell it.
func (n Node) lines() []string {
	if n.Version == nil || strings.Contains(n.Name, n.Version.String()) {
		return []string{n.Name}
	}
	return []string{n.Name, n.Version.String()}
}

// label returns what is written on a link, or in the place of the node where it comes from a range as a whole.
func (l Link) label() string {
	switch {
	case l.By != SkipRange:
		return string(l.By)
	case l.From >= 0:
		return l.Range
	}
	switch l.Bundles {
	case 0:
		return "skipRange " + l.Range
	case 1:
		return fmt.Sprintf("skipRange %s (1 bundle)", l.Range)
	}
	return fmt.Sprintf("skipRange %s (%d bundles)", l.Range, l.Bundles)
}

// nodeIDs returns the ids of the nodes of a channel: its own, and a number from the lowest version on, so that most
// keep theirs when a version is added.
func nodeIDs(channel string, d *Drawing) []string {
	ids := make([]string, len(d.Nodes))
	for i := range ids {
		ids[i] = channel + "n" + strconv.Itoa(len(ids)-i)
	}
	return ids
}

// texts returns the results of a function on each text.
func texts(fn func(string) string, all []string) []string {
	results := make([]string, len(all))
	for i, text := range all {
		results[i] = fn(text)
	}
	return results
}

// visible writes what breaks a line, changes the direction of what follows or is no text as an escape of Go, such as
// \u202e.
func visible(text string) string { return legible.Name(text) }
