package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/graphtest"
	"github.com/opm-toolchain/opm/pkg/graph"
)

func packageOf(t testing.TB, name, lines string) *graph.Package {
	t.Helper()
	return graph.NewPackage(graphtest.Package(t, name, lines))
}

// chainOf returns a package with a channel of n bundles, each of which replaces the one before, skips every third of
// the last thirty, and has the last hundred in its skipRange.
func chainOf(t testing.TB, n int) *graph.Package {
	t.Helper()
	var lines strings.Builder
	lines.WriteString("default stable\nchannel stable\n")
	for i := range n {
		fmt.Fprintf(&lines, "p.v1.%d.0", i)
		if i > 0 {
			fmt.Fprintf(&lines, " replaces p.v1.%d.0", i-1)
		}
		var skips []string
		for j := max(0, i-30); j < i-1; j++ {
			if j%3 == 1 {
				skips = append(skips, fmt.Sprintf("p.v1.%d.0", j))
			}
		}
		if len(skips) > 0 {
			fmt.Fprintf(&lines, " skips %s", strings.Join(skips, ","))
		}
		fmt.Fprintf(&lines, " range >=1.%d.0 <1.%d.0\n", i/100*100, i)
	}
	return packageOf(t, "p", lines.String())
}

// textsOf returns the texts of all elements of that name. It fails where the document is not well-formed.
func textsOf(t testing.TB, document, element string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	var texts []string
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			if token.Name.Local == element {
				texts = append(texts, "")
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == element {
				texts[len(texts)-1] += string(token)
			}
		}
	}
}
