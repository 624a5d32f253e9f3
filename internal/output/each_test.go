package output_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/report"
)

// operators is an answer with a list of objects.
func operators(names ...string) *output.Result {
	type operator struct {
		Name string `json:"name"`
	}
	objects := []operator{}
	for _, name := range names {
		objects = append(objects, operator{name})
	}
	about := func() *report.Report {
		r := &report.Report{}
		for _, name := range names {
			r.Line("%s", name)
		}
		return r
	}
	return &output.Result{Value: objects, Report: about, Names: slices.Values(names)}
}

func TestEach(t *testing.T) {
	for f, want := range map[output.Format]string{
		output.Text:     "v1:\nkiln\nloom\n\nv2:\n\nv\\n3:\nkiln\n",
		output.Markdown: "## `v1`\n\nkiln\n\nloom\n\n## `v2`\n\n\n## `v\\n3`\n\nkiln\n",
		output.Name:     "kiln\nloom\n",
		output.YAML:     "- catalog: v1\n  name: kiln\n- catalog: v1\n  name: loom\n- catalog: |-\n    v\n    3\n  name: kiln\n",
		output.JSON: `[
  {
    "catalog": "v1",
    "name": "kiln"
  },
  {
    "catalog": "v1",
    "name": "loom"
  },
  {
    "catalog": "v\n3",
    "name": "kiln"
  }
]
`,
	} {
		var text strings.Builder
		each, err := output.NewEach(&text, f)
		if err == nil {
			err = errors.Join(each.Add("v1", operators("kiln", "loom")), each.Add("v2", operators()),
				each.Add("v\n3", operators("kiln")), each.Close())
		}
		if err != nil || text.String() != want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", f, err, text.String(), want)
		}
	}
	if _, err := output.NewEach(io.Discard, "dot"); err == nil {
		t.Error("several catalogs can be in one dot file")
	}
}

// TestStop checks that a part of an answer does not look complete.
func TestStop(t *testing.T) {
	cause := errors.New("the catalog has changed")
	for _, f := range []output.Format{output.Text, output.JSON, output.YAML, output.Name} {
		r := operators("kiln")
		r.Stop = func() error { return cause }
		var text strings.Builder
		if err := r.Write(&text, f); !errors.Is(err, cause) || text.Len() > 0 {
			t.Errorf("%s: got %v and %q", f, err, text.String())
		}
	}
}
