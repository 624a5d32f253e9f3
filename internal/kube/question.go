package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// A Question is a command to a live cluster, as far as the objects to read depend on it.
type Question struct {
	Command string // one of [Commands]
	Watch   bool   // the objects are followed
	Pull    bool   // the contents of catalogs are read from a registry
	Forward bool   // the contents of catalogs are read from their pods
}

// Commands returns the commands that read clusters, sorted.
func Commands() []string {
	all := map[string]bool{}
	for _, k := range kinds {
		for _, command := range k.of {
			all[command] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// flags returns the flags of a command on which the objects to read depend.
func (q *Question) flags() map[string]*bool {
	flags := map[string]*bool{}
	if q.Command == simulate {
		flags["--watch"] = &q.Watch
	}
	if slices.Contains(resolution, q.Command) {
		flags["--pull"], flags["--forward"] = &q.Pull, &q.Forward
	}
	return flags
}

// ParseQuestion parses a command and its flags: "simulate --watch". The error names an unknown word, and the known
// ones.
func ParseQuestion(text string) (q Question, err error) {
	words := strings.Fields(text)
	if len(words) == 0 || !slices.Contains(Commands(), words[0]) {
		command := strings.Join(words[:min(1, len(words))], "")
		return q, fmt.Errorf("unknown command %q%s, want one of %s", command, nearest.Hint(command, Commands()),
			strings.Join(Commands(), ", "))
	}
	q.Command = words[0]
	flags := q.flags()
	for _, word := range words[1:] {
		if flags[word] == nil {
			known := slices.Sorted(maps.Keys(flags))
			if len(known) == 0 {
				return q, fmt.Errorf("flag %q: the objects that %s reads depend on no flag", word, q.Command)
			}
			return q, fmt.Errorf("flag %q: the objects that %s reads depend only on %s", word, q.Command,
				strings.Join(known, ", "))
		}
		*flags[word] = true
	}
	return q, nil
}

// kinds returns the kinds to read, in the order of reading; nil if the command is unknown.
func (q Question) kinds() []kind {
	var all []kind
	for _, k := range kinds {
		isContents := q.Pull || q.Forward && k.kind == "Pod"
		if slices.Contains(k.of, q.Command) || isContents && slices.Contains(k.contents, q.Command) {
			all = append(all, k)
		}
	}
	return all
}
