package problem_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func TestString(t *testing.T) {
	for want, p := range map[string]problem.Problem{
		"error: odd": {Severity: problem.Error, Message: "odd"},
		`a\n.yaml:2: info: x\ty: odd thing; mend it [r]`: {
			Rule: "r", Severity: problem.Info, Pos: declcfg.Pos{File: "a\n.yaml", Line: 2}, Path: "x\ty",
			Message: " odd\nthing", Fix: "mend\tit",
		},
	} {
		same(t, p.String(), want)
	}
}

// TestSort checks that problems are sorted by position, then severity, without duplicates.
func TestSort(t *testing.T) {
	at := func(line int, severity problem.Severity, rule, message string) *problem.Problem {
		return &problem.Problem{Rule: rule, Severity: severity, Pos: declcfg.Pos{File: "f", Line: line}, Message: message}
	}
	problems := []*problem.Problem{
		at(2, problem.Info, "a", "good"),
		at(2, problem.Warning, "z", "odd"),
		at(2, problem.Error, "b", "odd"),
		at(2, problem.Error, "a", "bad"),
		at(2, problem.Error, "a", "bad"),
		at(1, problem.Info, "z", "odd"),
		{Rule: "r", Severity: problem.Warning, Pos: declcfg.Pos{File: "g", Line: 1}, Message: "root", Root: true},
	}
	problems = problem.Sort(problems)
	const want = "g:1: warning: root [r]\nf:1: info: odd [z]\nf:2: error: bad [a]\nf:2: error: odd [b]\nf:2: info: good [a]\n"
	same(t, written(t, problem.Text, problems...), want)
	if !problem.HasErrors(problems) || problem.HasErrors(problems[:2]) || problem.Count(problems, problem.Info) != 2 {
		t.Errorf("got %d errors and %d hints", problem.Count(problems, problem.Error), problem.Count(problems, problem.Info))
	}
}

func TestFromError(t *testing.T) {
	pos := declcfg.Pos{File: "f.yaml", Line: 3, Column: 1}
	at := &declcfg.Error{Pos: pos, Pointer: "/entries/0", Err: errors.New("odd")}
	err := errors.Join(fmt.Errorf("read it: %w", at), errors.Join(at, errors.New("no disk")))
	const want = "error: no disk [read]\nerror: read it: f.yaml:3:1: entries[0]: odd [read]\n" +
		"f.yaml:3:1: error: entries[0]: odd [read]\n"
	same(t, written(t, problem.Text, problem.FromError("read", err)...), want)
}

func TestRules(t *testing.T) {
	for rule, want := range map[*problem.Rule]problem.Example{
		ruleHead: {
			Bad: "a: 1\nb: \xef\nc: 3\nd:\t4\n", Good: "a: 1\nb: \xef\nc: 3\nd: 4\n", Abridged: "it would be too long",
			Schema: "#Tier: {}\n", Config: "policy: {}\n",
		},
		ruleUTF8: {},
		ruleIcon: {Bad: "-- a.yaml --\n-- b/c.yaml --\nx: 1\n", Good: "-- a.yaml --\ny: 2\n"},
	} {
		if got := rule.Example(); got != want {
			t.Errorf("the example of %s is %q, want %q", rule.Name, got, want)
		}
	}
	if !slices.Equal(rules.All(), []*problem.Rule{ruleHead, ruleUTF8, ruleIcon}) {
		t.Errorf("all rules: %+v", rules.All())
	}
	if ruleHead != rules.Of("channel-head") || rules.Of("icon") != ruleIcon || rules.Has("ikon") {
		t.Errorf("rules by name: %+v", rules)
	}
	if err := rules.CheckNames([]string{"icon", "ikon"}); err == nil || err.Error() != `unknown rule "ikon" (did you mean "icon"?)` {
		t.Errorf("got %v", err)
	}
	same(t, write(t, func(w *bytes.Buffer) error { return rules.WriteTable(w) }), `channel-head  error    a channel has exactly one head
utf-8         warning  JSON files are UTF-8
icon          info     a package has an icon
`)
	same(t, write(t, func(w *bytes.Buffer) error { return rules.WriteRule(w, "channel-head") }), `channel-head (error)
  A channel has exactly one head. The head is what new users get. A channel with none or several has
  no use.
  To do: connect the entries.

  Given with --schema:

    #Tier: {}

  With opm.yaml:

    policy: {}

  Bad (it would be too long):

    a: 1
    b: `+"\ufffd"+`
    c: 3
    d:	4

  Good:

    a: 1
    b: `+"\ufffd"+`
    c: 3
    d: 4
`)
}
