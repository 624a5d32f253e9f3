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

// TestBaselineLimit checks that a baseline with too many problems is neither read nor written, and that the limit is
// noticed before the whole text is read.
func TestBaselineLimit(t *testing.T) {
	const most = 100_000
	b := &problem.Baseline{Problems: make([]problem.Known, most)}
	var text bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	if read, err := problem.ReadBaseline(&text); err != nil || len(read.Problems) != most {
		t.Errorf("%d problems: %v", most, err)
	}
	const want = "a baseline has at most 100,000 problems"
	b.Problems = append(b.Problems, problem.Known{})
	if err := b.Write(&text); err == nil || err.Error() != want || text.Len() > 0 {
		t.Errorf("written: %v, %d bytes", err, text.Len())
	}
	endless := strings.NewReader(`{"problems": [` + strings.Repeat("{}, ", 2*most) + "no JSON")
	if _, err := problem.ReadBaseline(endless); err == nil || err.Error() != want {
		t.Errorf("read: %v", err)
	}
}

func TestReadBaseline(t *testing.T) {
	for _, text := range []string{"", "[]", `{"problems": [{"rule": 1}]}`, `{"problem": []}`, `{"problems": []} x`} {
		if _, err := problem.ReadBaseline(strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "not a baseline: ") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
