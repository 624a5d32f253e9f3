package bundle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/ruletest"
)

// The bad example of each rule breaks it and no other, and the good one breaks none.
func TestExamplesOfRules(t *testing.T) {
	ruletest.Explained(t, Rules().All())
	for _, r := range Rules().All() {
		t.Run(r.Name, func(t *testing.T) {
			e := r.Example()
			want := []string{r.Name}
			if strings.HasPrefix(e.Abridged, "abridged") || r.Name == "label" { // this rule is about the image
				want = nil
			}
			if got := rulesOf(t, e.Bad); !slices.Equal(got, want) {
				t.Errorf("the bad example breaks %q, want %q", got, want)
			}
			if got := rulesOf(t, e.Good); got != nil {
				t.Errorf("the good example breaks %q", got)
			}
		})
	}
}

// rulesOf returns the rules that the bundle of the examples breaks after a change.
func rulesOf(t *testing.T, change string) (names []string) {
	t.Helper()
	changed := maps.Clone(checkedFiles)
	for name, lines := range filesOf(change) {
		if changed[name] == "" || lines == "" {
			changed[name] = lines
			continue
		}
		changed[name] = spliced(t, changed[name], lines)
	}
	fsys := mapFS()
	for name, text := range changed {
		if text != "" {
			maps.Copy(fsys, mapFS(name, text))
		}
	}
	for _, p := range Check(fsys, "", CheckOptions{OperatorHub: true, BundleObjects: true}) {
		names = append(names, p.Rule)
	}
	return names
}

// spliced returns a file with the part from the first to the last of some lines replaced by these lines.
func spliced(t *testing.T, file, lines string) string {
	t.Helper()
	in, part := slices.Collect(strings.Lines(file)), slices.Collect(strings.Lines(lines))
	from := slices.Index(in, part[0])
	to := slices.Index(in[max(from, 0):], part[len(part)-1])
	if from < 0 || to < 0 {
		t.Fatalf("the first or last line is not in the file:\n%s", lines)
	}
	return strings.Join(slices.Concat(in[:from], part, in[from+to+1:]), "")
}
