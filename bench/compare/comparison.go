//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
)

// A comparison compares two programs.
type comparison struct {
	in             *inputs
	old, now       program
	lines          []string
	verbose        bool
	stdout, stderr io.Writer
}

// A result is the comparison of one line.
type result struct {
	line     string
	old, now outcome
	again    bool // the old program differs from itself, too
}

// run compares all lines, several at a time, and prints the differences in the order of the lines. It returns
// [errDiffer] if there are any.
func (c *comparison) run(ctx context.Context) error {
	before, err := c.in.listData()
	if err != nil {
		return err
	}
	places, err := c.newPlaces()
	if err != nil {
		return err
	}
	compare := func(line string) (result, error) {
		p := <-places
		defer func() { places <- p }()
		return c.compare(ctx, p, line)
	}
	done, differ := 0, 0
	for r, err := range parallel.Try(ctx, cap(places), slices.Values(c.lines), compare) {
		if err != nil {
			return err
		}
		if c.verbose {
			fmt.Fprintf(c.stdout, "%5.2f s %5.2f s  %s: %s\n", r.old.took.Seconds(), r.now.took.Seconds(), r.line, r.now.end)
		}
		if text := r.describe(); text != "" {
			differ++
			fmt.Fprint(c.stdout, text)
		}
		if done++; done%100 == 0 {
			fmt.Fprintf(c.stderr, "compare: %d of %d lines, %d differ\n", done, len(c.lines), differ)
		}
	}
	if err := c.in.checkData(before); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s, %s\n", plural.Of(done, "line"), plural.Words(differ, "differs", "differ"))
	if differ > 0 {
		return errDiffer
	}
	return nil
}

// newPlaces returns a place for each line that runs at the same time.
func (c *comparison) newPlaces() (chan *place, error) {
	s, err := newSeeds(c.in.work, c.in.bundles)
	if err != nil {
		return nil, err
	}
	places := make(chan *place, runtime.GOMAXPROCS(0))
	for i := range cap(places) {
		p, err := newPlace(filepath.Join(c.in.dir, fmt.Sprint(i)), c.in.work, s)
		if err != nil {
			return nil, err
		}
		places <- p
	}
	return places, nil
}

// compare runs a line with both programs. If their outcomes differ, the old program runs a second time.
func (c *comparison) compare(ctx context.Context, p *place, line string) (r result, err error) {
	r.line = line
	if r.old, err = p.run(ctx, c.old, line); err != nil {
		return r, fmt.Errorf("%s: %w", line, err)
	}
	if r.now, err = p.run(ctx, c.now, line); err != nil {
		return r, fmt.Errorf("%s: %w", line, err)
	}
	if maps.Equal(r.old.parts, r.now.parts) {
		r.old.parts, r.now.parts = nil, nil // may be large
		return r, nil
	}
	again, err := p.run(ctx, c.old, line)
	if err != nil {
		return r, fmt.Errorf("%s: %w", line, err)
	}
	r.again = !maps.Equal(r.old.parts, again.parts)
	return r, nil
}

// describe returns the line and its differences, or "" if there are none.
func (r *result) describe() string {
	var text strings.Builder
	for _, part := range slices.Sorted(maps.Keys(union(r.old.parts, r.now.parts))) {
		old, inOld := r.old.parts[part]
		now, inNew := r.now.parts[part]
		switch {
		case !inNew:
			fmt.Fprintf(&text, "  %s: only OLD makes it\n", part)
		case !inOld:
			fmt.Fprintf(&text, "  %s: only NEW makes it\n", part)
		case old != now && !strings.Contains(old+now, "\n") && len(old)+len(now) <= maxDiffWidth:
			fmt.Fprintf(&text, "  %s: OLD %q, NEW %q\n", part, old, now)
		case old != now:
			fmt.Fprintf(&text, "  %s differs\n%s", part, shortDiff(old, now))
		}
	}
	if text.Len() == 0 {
		return ""
	}
	note := ""
	if r.again {
		note = "  OLD differs from itself when it runs again\n"
	}
	return fmt.Sprintf("\n$ %s\n%s%s", r.line, note, text.String())
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Limits of a printed difference.
const (
	maxDiffLines = 40
	maxDiffWidth = 200
)

// shortDiff returns a unified diff of two texts, indented. Long lines are broken first, so that the diff has only the
// parts that differ.
func shortDiff(old, now string) string {
	if !utf8.ValidString(old) || !utf8.ValidString(now) {
		at := 0
		for at < min(len(old), len(now)) && old[at] == now[at] {
			at++
		}
		return fmt.Sprintf("    binary, %s and %s, equal up to byte %s\n",
			plural.Of(len(old), "byte"), plural.Of(len(now), "byte"), plural.Number(at))
	}
	text := string(diff.Diff("OLD", []byte(breakLines(old)), "NEW", []byte(breakLines(now))))
	_, text, _ = strings.Cut(text, "\n") // the names a second time
	all := strings.SplitAfter(text, "\n")
	var short strings.Builder
	for _, line := range all[:min(len(all), maxDiffLines)] {
		if line != "" {
			short.WriteString("    " + line)
		}
	}
	if n := len(all) - maxDiffLines; n > 0 {
		fmt.Fprintf(&short, "    … %s more\n", plural.Of(n, "line"))
	}
	return short.String()
}

// breakLines breaks lines of more than maxDiffWidth bytes behind commas and tags, or anywhere.
func breakLines(text string) string {
	var broken strings.Builder
	for line := range strings.Lines(text) {
		if len(line) <= maxDiffWidth {
			broken.WriteString(line)
			continue
		}
		for piece := range strings.SplitAfterSeq(strings.ReplaceAll(line, "><", ">\n<"), ",") {
			for len(piece) > maxDiffWidth {
				at := maxDiffWidth
				for !utf8.RuneStart(piece[at]) {
					at--
				}
				broken.WriteString(piece[:at] + "\n")
				piece = piece[at:]
			}
			broken.WriteString(strings.TrimSuffix(piece, "\n") + "\n")
		}
	}
	return broken.String()
}
