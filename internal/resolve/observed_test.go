package resolve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An observation is an answer of OLM's resolver; see the README next to the answers.
type observation struct {
	Catalog int
	Mode    string
	Package string
	Channel string
	Bundle  string
	Next    string
	Others  []string
	Error   string
}

// namespace returns the question of an observation.
func (o *observation) namespace(c *Catalog) *ClassicRequest {
	s := Subscription{Name: "sub", Package: o.Package, Channel: o.Channel, Catalog: "cat", CatalogNamespace: "ns"}
	ns := &ClassicRequest{Name: "ns", Catalogs: []*Catalog{c}}
	switch o.Mode {
	case "start":
		s.StartingCSV = o.Bundle
	case "classic":
		s.InstalledCSV, s.CurrentCSV = o.Bundle, o.Bundle
		in, _ := c.Operator(o.Package, o.Bundle)
		ns.Installed = []Installed{in}
	}
	ns.Subscriptions = []Subscription{s}
	return ns
}

// TestObserved compares our answers with OLM Classic's own.
func TestObserved(t *testing.T) {
	smaller := 0
	observations(t, shared.Step(1, 16), func(t *testing.T, name string, o *observation, ns *ClassicRequest) {
		if diff := o.compare(verify(t, ns)); diff == isSmaller {
			smaller++
			t.Logf("%s: a smaller core", name)
		} else if diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	})
	t.Logf("%d cores are smaller", smaller)
}

// observations calls f for every n-th observation, n being the parameter every.
func observations(t *testing.T, every int, f func(t *testing.T, name string, o *observation, ns *ClassicRequest)) {
	t.Helper()
	catalogs := map[int]*Catalog{}
	file, err := os.Open(shared.Path(t, "data/resolver/expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if n++; n%every > 0 {
			continue
		}
		var o observation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		c := catalogs[o.Catalog]
		if c == nil {
			c = readCatalog(t, filepath.Join(shared.Path(t, "data/resolver/catalogs"), fmt.Sprint(o.Catalog)))
			c.Name, c.Namespace = "cat", "ns"
			catalogs[o.Catalog] = c
		}
		name := fmt.Sprintf("catalog %d, %s %s %q %s", o.Catalog, o.Mode, o.Package, o.Channel, o.Bundle)
		f(t, name, &o, o.namespace(c))
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if n != 2304 {
		t.Errorf("%d answers, want 2304", n)
	}
}

const isSmaller = "a smaller core"

func (o *observation) compare(got *ClassicResult) string {
	if o.Error != "" {
		return o.compareError(got)
	}
	if got.Outcome != Resolved {
		return fmt.Sprintf("%s %s, want %q and %q", got.Outcome, got.Message, o.Next, o.Others)
	}
	next, others := "", []string{}
	for _, c := range got.Install {
		if c.Package == o.Package && next == "" {
			next = c.Bundle
			if o.Channel != "" && c.Channel != o.Channel {
				return "from channel " + c.Channel
			}
		} else {
			others = append(others, c.Package+"/"+c.Channel+"/"+c.Bundle)
		}
	}
	slices.Sort(others)
	if next != o.Next || !slices.Equal(others, o.Others) {
		return fmt.Sprintf("%q and %q, want %q and %q", next, others, o.Next, o.Others)
	}
	return ""
}

func (o *observation) compareError(got *ClassicResult) string {
	sentences := map[string]bool{}
	for _, f := range got.Core {
		sentences[f.Message] = true
	}
	switch {
	case got.Outcome == Resolved || got.Outcome == Undecided:
		return fmt.Sprintf("%s %v, want %s", got.Outcome, got.Install, o.Error)
	case o.Error == "*" || o.Error == got.Message:
		return ""
	}
	if sortCandidates(got.Message) == sortCandidates(o.Error) {
		return ""
	}
	for s := range sentences {
		if !strings.Contains(sortCandidates(o.Error)+", ", sortCandidates(s)+", ") {
			return fmt.Sprintf("%s: %s\nwant %s", got.Outcome, got.Message, o.Error)
		}
	}
	return isSmaller
}

func readCatalog(t testing.TB, dir string) *Catalog {
	t.Helper()
	c, err := ReadCatalog(t.Context(), declcfg.Source{Name: "catalog", FS: os.DirFS(dir)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sortCandidates sorts the candidates of the Subscription, because OLM names the channels of one bundle in any order.
func sortCandidates(message string) string {
	const requires = "subscription sub requires at least one of "
	before, after, ok := strings.Cut(message, requires)
	if !ok {
		return message
	}
	names := strings.Fields(strings.NewReplacer(", ", " ", " or ", " ").Replace(after))
	slices.Sort(names)
	return before + requires + strings.Join(names, " ")
}
