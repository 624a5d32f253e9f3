package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is a kind of [Problem].
type Kind int

// The kinds of problems. opm rejects a channel with any of them except SkippedCycle.
const (
	// NoHead is a channel in which every entry is replaced or skipped. The names are a cycle that causes it: each entry
	// replaces or skips the next, and the last name repeats the first.
	NoHead Kind = iota + 1

	// SeveralHeads is a channel with more than one head. The names are the names of the heads, sorted.
	SeveralHeads

	// Cycle is a cycle of entries, each of which replaces the next. The names are its path; see [Channel.Cycles].
	Cycle

	// Stranded is a set of entries that are neither in the chain nor skipped nor in a Cycle. The names are sorted.
	Stranded

	// SkippedCycle is a cycle of replaces through a skipped entry, so the chain does not reach it. opm accepts it. OLM
	// also follows replaces from skipped entries, and rejects the channel if it reaches the cycle.
	SkippedCycle
)

// A Problem is a problem in the update graph of a channel.
type Problem struct {
	Kind  Kind
	Names []string // of the affected entries

	// At has a JSON pointer into the channel for each name, except for the last name of a path: /entries/3/replaces or
	// /entries/3/skips/0 for the edge to the next entry of a path, otherwise /entries/3.
	At []jsontext.Pointer
}

// String returns a message that starts with the wording of upstream, such as "detected cycle in replaces chain of
// upgrade graph: a -> b -> a".
func (p Problem) String() string {
	switch p.Kind {
	case NoHead:
		return "no channel head found in graph: every entry is replaced or skipped: " + strings.Join(p.Names, " -> ")
	case SeveralHeads:
		return fmt.Sprintf("multiple channel heads found in graph: %s: no entry replaces or skips them",
			strings.Join(p.Names, ", "))
	case Cycle:
		return "detected cycle in replaces chain of upgrade graph: " + strings.Join(p.Names, " -> ")
	case Stranded:
		return fmt.Sprintf("channel contains one or more stranded bundles: %s: "+
			"following replaces from the head does not lead to them", strings.Join(p.Names, ", "))
	case SkippedCycle:
		return "cycle of replaces through a skipped entry: " + strings.Join(p.Names, " -> ")
	default:
		return fmt.Sprintf("problem of kind %d", int(p.Kind))
	}
}

// Check returns all problems of the channel: first problems with heads, then cycles, then stranded entries. A channel
// without entries has no problems.
func (c *Channel) Check() []Problem {
	var problems []Problem
	switch heads := c.heads(); {
	case len(c.nodes) == 0, len(heads) == 1:
	case len(heads) == 0:
		problems = append(problems, c.noHead())
	default:
		problems = append(problems, c.entriesProblem(SeveralHeads, heads))
	}
	inCycle := make([]bool, len(c.entries))
	for _, cycle := range c.cycles() {
		kind := Cycle
		if slices.ContainsFunc(cycle, func(i int) bool { return c.skipped[i] }) {
			kind = SkippedCycle
		}
		for _, i := range cycle {
			inCycle[i] = inCycle[i] || kind == Cycle
		}
		problems = append(problems, c.cycleProblem(kind, cycle))
	}
	stranded := slices.DeleteFunc(c.stranded(), func(i int) bool { return inCycle[i] })
	if len(stranded) > 0 {
		problems = append(problems, c.entriesProblem(Stranded, stranded))
	}
	return problems
}

// noHead returns the problem of a channel without a head. It follows edges back to their first entry until it finds a
// cycle, which must exist since every entry has an incoming edge.
func (c *Channel) noHead() Problem {
	reached := make([]bool, len(c.entries))
	i := c.nodes[0]
	for ; !reached[i]; i = c.firstEdge[i].from {
		reached[i] = true
	}
	cycle := []int{i}
	for j := c.firstEdge[i].from; j != i; j = c.firstEdge[j].from {
		cycle = append(cycle, j)
	}
	slices.Reverse(cycle)
	return c.cycleProblem(NoHead, c.leastFirst(cycle))
}

// cycleProblem returns the problem for a cycle of entries. Each entry replaces the next or, for NoHead, has the first
// edge to it (see firstEdge).
func (c *Channel) cycleProblem(kind Kind, cycle []int) Problem {
	path := append(slices.Clip(cycle), cycle[0])
	p := Problem{Kind: kind, Names: c.names(path)}
	for step, i := range cycle {
		link := edge{i, none}
		if kind == NoHead {
			link = c.firstEdge[path[step+1]]
		}
		p.At = append(p.At, link.pointer())
	}
	return p
}

func (c *Channel) entriesProblem(kind Kind, entries []int) Problem {
	slices.SortFunc(entries, c.byName)
	p := Problem{Kind: kind, Names: c.names(entries)}
	for _, i := range entries {
		p.At = append(p.At, entryPointer(i))
	}
	return p
}

func entryPointer(i int) jsontext.Pointer {
	return jsontext.Pointer("/entries/" + strconv.Itoa(i))
}

func (e edge) pointer() jsontext.Pointer {
	if e.skip == none {
		return entryPointer(e.from).AppendToken("replaces")
	}
	return entryPointer(e.from).AppendToken("skips").AppendToken(strconv.Itoa(e.skip))
}

func (c *Channel) byName(i, j int) int { return cmp.Compare(c.entries[i].Name, c.entries[j].Name) }

func (c *Channel) names(entries []int) []string {
	var names []string
	for _, i := range entries {
		names = append(names, c.entries[i].Name)
	}
	return names
}

func (c *Channel) sortedNames(entries []int) []string {
	names := c.names(entries)
	slices.Sort(names)
	return names
}

// leastFirst rotates a cycle to start with the lexically smallest name.
func (c *Channel) leastFirst(cycle []int) []int {
	least := slices.Index(cycle, slices.MinFunc(cycle, c.byName))
	return slices.Concat(cycle[least:], cycle[:least])
}
