package problem_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/problem"
)

func TestBaselineFormat(t *testing.T) {
	text := func(problems []*problem.Problem) string {
		return write(t, func(w *bytes.Buffer) error { return problem.NewBaseline(problems).Write(w) })
	}
	same(t, text(nil), "{\n  \"problems\": []\n}\n")
	same(t, text([]*problem.Problem{two[0], two[1], two[0]}), `{
  "problems": [
    {
      "rule": "utf-8",
      "file": "c/b,c:d.json"
    },
    {
      "rule": "channel-head",
      "package": "p",
      "path": "package \"p\": channel \"<c>\""
    },
    {
      "rule": "channel-head",
      "package": "p",
      "path": "package \"p\": channel \"<c>\""
    }
  ]
}
`)
	same(t, text([]*problem.Problem{two[1], two[0]}), text(two))
}

func TestReadBaseline(t *testing.T) {
	for _, text := range []string{"", "[]", `{"problems": [{"rule": 1}]}`, `{"problem": []}`, `{"problems": []} x`} {
		if _, err := problem.ReadBaseline(strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "not a baseline: ") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
