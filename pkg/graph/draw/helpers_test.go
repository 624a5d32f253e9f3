package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/graph"
)

func packageOf(t testing.TB, name, lines string) *graph.Package {
	t.Helper()
	return graph.NewPackage(graphtest.Package(t, name, lines))
}

// textsOf returns the texts of all elements with the given name. It fails the test if the document is not well-formed.
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
