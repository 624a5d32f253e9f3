package draw

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const shownDOT = `digraph updates {
  // from old to new; solid: replaces, bold: skips, dashed: skipRange
  rankdir=LR
  node [shape=box, style=rounded, fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=10]
  subgraph cluster_p1 {
    label="p"
    style=rounded
    subgraph cluster_p1c1 {
      label="old (deprecated)"
      style="rounded,filled", fillcolor="#FFF3CD"
      p1c1n2 [label="v1\n1.0.0", style="rounded,bold", color="#1A7F37", peripheries=2]
      p1c1n1 [label="v0\n0.0.0", style="rounded,dotted,filled", fillcolor="#F2CC60", fontcolor="#1F2328"]
      p1c1n1 -> p1c1n2 [label="replaces"]
    }
    subgraph cluster_p1c2 {
      label="stable (default)"
      style=rounded
      p1c2n5 [label="v4\n4.0.0", style="rounded,bold", color="#1A7F37", peripheries=2]
      p1c2n4 [label="v3\n3.0.0", color="#CF222E"]
      p1c2n3 [label="v1\n1.0.0"]
      p1c2n2 [label="v0\n0.0.0", style="rounded,bold,filled", color="#1A7F37", peripheries=2, fillcolor="#F2CC60", fontcolor="#1F2328"]
      p1c2n1 [label="v2", style="rounded,dashed", color="#CF222E"]
      p1c2n3 -> p1c2n5 [label="replaces"]
      p1c2n4 -> p1c2n5 [label="skips", style=bold]
      p1c2n1 -> p1c2n5 [label="skips", style=bold]
      p1c2n2 -> p1c2n4 [label="<2.0.0", style=dashed]
      p1c2n3 -> p1c2n4 [label="<2.0.0", style=dashed]
      p1c2n2r [label="skipRange <0.0.0", style="rounded,dashed"]
      p1c2n2r -> p1c2n2 [style=dashed]
    }
  }
}
`

func TestDotText(t *testing.T) {
	for text, want := range map[string]string{
		"kiln.v1.2.0": "kiln.v1.2.0",
		`a "b" \N`:    `a \"b\" \\N`,
		"&lt; <b>":    "&amp;lt; <b>",
		"a\nb":        `a\\nb`,
		"\u202ea":     `\\u202ea`,
	} {
		if got := dotText(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestDOTBalanced checks that hostile names do not end the quotes or brackets around them.
func TestDOTBalanced(t *testing.T) {
	if err := balanced(write(t, DOT, Options{}, hostilePackage())); err != nil {
		t.Error(err)
	}
}

// balanced reports unbalanced quotes and brackets, as read by Graphviz.
func balanced(text string) error {
	rest := regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(text, "")
	if strings.ContainsAny(rest, `"\`) {
		return fmt.Errorf("a quote is left over:\n%s", rest)
	}
	var open []rune
	for _, r := range rest {
		switch r {
		case '{', '[':
			open = append(open, r)
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != r-2 {
				return fmt.Errorf("%q has no counterpart", r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%q are not closed", string(open))
	}
	return nil
}
