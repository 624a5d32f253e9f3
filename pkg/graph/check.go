package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is one way in which a channel can be wrong.
type Kind int

// The ways in which a channel can be wrong. opm rejects a channel with any of them but the last.
const (
	// NoHead is a channel in which every entry is replaced or skipped. The names are those of one circle that makes it
	// so: each entry replaces or skips the one after it, and the last one is the first again.
	NoHead Kind = iota + 1

	// SeveralHeads is a channel with more than one head. The names are those of the heads, sorted.
	SeveralHeads

	// Cycle is a circle of entries each of which replaces the next. The names are its path, as of [Channel.Cycles].
	Cycle

	// Stranded is entries that are neither in the chain nor skipped nor in a Cycle. The names are theirs, sorted.
	Stranded

	// SkippedCycle is a circle of replaces in which an entry is skipped, so that the chain does not run into it. opm
	// accepts that; OLM, which also follows replaces from skipped entries, does not if it gets there.
	SkippedCycle
)

// A Problem is one thing that is wrong with the update graph of a channel.
type Problem struct {
	Kind  Kind
	Names []string // of the entries that it is about

	// At tells for each name, but for the last one of a path, the place in the channel to look at, such as
	// /entries/3/replaces or /entries/3/skips/0 for what leads to the next entry of a path, else /entries/3.
	At []jsontext.Pointer
}

// String says what is wrong in a sentence without an end, such as "replaces runs in a circle: a -> b -> a".
func (p Problem) String() string {
	switch p.Kind {
	case NoHead:
		return "no head: every entry is replaced or skipped: " + strings.Join(p.Names, " -> ")
	case SeveralHeads:
		return "more than one head: no entry replaces or skips " + strings.Join(p.Names, ", ")
	case Cycle:
		return "replaces runs in a circle: " + strings.Join(p.Names, " -> ")
	case Stranded:
		return "stranded: following replaces from the head does not lead to " + strings.Join(p.Names, ", ")
	case SkippedCycle:
		return "replaces runs in a circle through a skipped entry: " + strings.Join(p.Names, " -> ")
	default:
		return fmt.Sprintf("problem of kind %d", int(p.Kind))
	}
}

// Check returns everything that is wrong with the graph of the channel: what concerns its heads, then the circles, then
// what is stranded. A channel without entries is not its business.
func (c *Channel) Check() []Problem {
	problems := c.checkHeads()
	inCycle := make([]bool, len(c.entries))
	for _, cycle := range c.cycles() {
		kind := Cycle
		if slices.ContainsFunc(cycle, c.isSkipped) {
			kind = SkippedCycle
		}
		for _, i := range cycle {
			inCycle[i] = inCycle[i] || kind == Cycle
		}
		problems = append(problems, c.circleProblem(kind, cycle))
	}
	stranded := slices.DeleteFunc(c.stranded(), func(i int) bool { return inCycle[i] })
	if len(stranded) > 0 {
		problems = append(problems, c.entriesProblem(Stranded, stranded))
	}
	return problems
}

func (c *Channel) checkHeads() []Problem {
	heads := c.heads()
	switch {
	case len(c.nodes) == 0, len(heads) == 1:
		return nil
	case len(heads) == 0:
		return []Problem{c.noHead()}
	default:
		return []Problem{c.entriesProblem(SeveralHeads, heads)}
	}
}

// noHead goes from an entry to one that names it, and on, until it meets one again: as every entry is named, it must.
func (c *Channel) noHead() Problem {
	reached := make([]bool, len(c.entries))
	i := c.nodes[0]
	for ; !reached[i]; i = c.namedBy[i].from {
		reached[i] = true
	}
	circle := []int{i}
	for j := c.namedBy[i].from; j != i; j = c.namedBy[j].from {
		circle = append(circle, j)
	}
	slices.Reverse(circle)
	return c.circleProblem(NoHead, c.leastFirst(circle))
}

// circleProblem is about entries each of which replaces the next, or for NoHead is in namedBy of the next.
func (c *Channel) circleProblem(kind Kind, circle []int) Problem {
	path := closed(circle)
	p := Problem{Kind: kind, Names: c.names(path)}
	for step, i := range circle {
		link := edge{i, none}
		if kind == NoHead {
			link = c.namedBy[path[step+1]]
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

func (c *Channel) isSkipped(i int) bool { return c.skipped[i] }

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

// leastFirst turns a circle so that it starts with the least name.
func (c *Channel) leastFirst(circle []int) []int {
	least := slices.Index(circle, slices.MinFunc(circle, c.byName))
	return slices.Concat(circle[least:], circle[:least])
}

// closed returns the path around a circle and back to its start.
func closed(circle []int) []int { return append(slices.Clip(circle), circle[0]) }
