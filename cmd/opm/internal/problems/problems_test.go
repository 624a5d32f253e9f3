package problems_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

var (
	head = &problem.Problem{
		Rule: "channel-head", Severity: problem.Error, Pos: declcfg.Pos{File: "a.yaml", Line: 6, Column: 9}, Package: "p",
		Message: "no head",
	}
	utf8 = &problem.Problem{Rule: "utf-8", Severity: problem.Warning, Pos: declcfg.Pos{File: "b.json"}, Message: "odd"}
	hint = &problem.Problem{Rule: "icon", Severity: problem.Info, Message: "no icon"}
)

// rules are the rules of a command, which has no rule utf-8.
var rules = problem.NewRules("", fstest.MapFS{}, &problem.Group{Title: "Channels", Rules: []*problem.Rule{
	{Name: "channel-head", Severity: problem.Error, Summary: "a channel has exactly one head"},
	{Name: "icon", Severity: problem.Info, Summary: "a package has an icon"},
}})

// A run is the output of a Printer, with its error.
type run struct {
	out, stderr strings.Builder
	err         error
}

func printed(p problems.Printer, incomplete string, all ...problems.Checked) *run {
	r := new(run)
	p.Out, p.Err, p.Rules = &r.out, &r.stderr, func() *problem.Rules { return rules }
	r.err = p.Print(all, incomplete)
	return r
}

func checked(name, baseline string, found ...*problem.Problem) problems.Checked {
	report := &problem.Report{Subject: "catalog", Problems: found, Rules: rules, Summary: []string{"checked"}}
	return problems.Checked{Name: name, Config: &opmyaml.Config{Baseline: baseline}, Report: report}
}

// after returns the lines that are printed after the reason of a failure.
func after(t *testing.T, err error) string {
	t.Helper()
	f, ok := errors.AsType[*failure.Error](err)
	if !ok {
		t.Fatalf("got error %v, want a failure", err)
	}
	return f.After
}

func TestPrint(t *testing.T) {
	const headLine = "a.yaml:6:9: error: no head [channel-head]\n"
	r := printed(problems.Printer{Format: output.Text}, "", checked("", "", head, utf8, hint))
	want := "opm: 1 error, 1 warning and 1 hint in 3 files; --info shows the hint\n  1    error channel-head\n" +
		"  1  warning utf-8\nopm: checked\n"
	if got := r.stderr.String(); got != headLine+"b.json: warning: odd [utf-8]\n" || after(t, r.err) != want {
		t.Errorf("got %q, then %q, want the second %q", got, after(t, r.err), want)
	}
	r = printed(problems.Printer{Format: output.Text, OnOut: true}, "", checked("x", "", utf8), checked("y", "", utf8))
	if got := r.out.String(); !strings.HasPrefix(got, "b.json: warning: odd") || r.err != nil {
		t.Errorf("got %q and error %v", got, r.err)
	}
	if got, want := r.stderr.String(), "opm: x: checked\nopm: y: checked\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at the end", got, want)
	}
	for _, quiet := range []bool{false, true} {
		r = printed(problems.Printer{Format: output.JSON, Quiet: quiet}, "", checked("", "", head))
		if got := r.err.Error() == ""; got != quiet || !strings.Contains(r.out.String(), `"no head"`) {
			t.Errorf("quiet %t: got error %q and output %s", quiet, r.err, &r.out)
		}
	}
}

// A baseline is shared: by several catalogs, and by several commands, each of which keeps the problems of the others.
func TestBaseline(t *testing.T) {
	name := filepath.Join(t.TempDir(), "known.json")
	writer := problems.Printer{Format: output.Text, Write: true}
	all := []problems.Checked{checked("x", name, head), checked("y", name, utf8)}
	if r := printed(writer, "", all...); r.err != nil || r.stderr.String() != "opm: wrote 1 error and 1 warning in 2 files to "+name+"\n" {
		t.Fatalf("got %q and error %v", &r.stderr, r.err)
	}
	if r := printed(writer, "a catalog cannot be read", checked("x", name)); r.err == nil {
		t.Error("a baseline was replaced though not all catalogs were read")
	}
	r := printed(problems.Printer{Format: output.Text}, "", all...)
	if got := r.stderr.String(); got != "opm: x: checked\nopm: y: checked\n" || r.err != nil {
		t.Errorf("got %q and error %v, want no known problem", got, r.err)
	}
	stale := "opm: " + name + " lists 1 problem that no longer exists; --write-baseline removes it:\n  "
	if r := printed(problems.Printer{Format: output.Text}, "", checked("", name)); !strings.HasPrefix(r.stderr.String(), stale) {
		t.Errorf("got %q, want %q at the start", &r.stderr, stale)
	}
	if r := printed(problems.Printer{Format: output.Text, Partial: true}, "", checked("", name)); r.stderr.String() != "opm: checked\n" {
		t.Errorf("got %q from a command that looks for some problems only", &r.stderr)
	}
	if r := printed(writer, "", checked("", name)); r.err != nil {
		t.Fatal(r.err)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(text), "channel-head") || !strings.Contains(string(text), "utf-8") {
		t.Errorf("got baseline %s and error %v, want the problem of the other command only", text, err)
	}
}

// TestSummary checks the lines below problems that people see, or do not.
func TestSummary(t *testing.T) {
	root := *utf8
	root.Root = true
	for _, tt := range []struct {
		found []*problem.Problem
		info  bool
		want  string
	}{
		{[]*problem.Problem{hint}, false, ""},
		{[]*problem.Problem{utf8, hint}, false, "opm: 0 errors, 1 warning and 1 hint in 2 files; --info shows the hint\n"},
		{[]*problem.Problem{utf8, hint, hint}, false,
			"opm: 0 errors, 1 warning and 2 hints in 2 files; --info shows the hints\n"},
		{[]*problem.Problem{utf8, hint}, true, ""},
		{[]*problem.Problem{head, utf8}, false, ""},
		{[]*problem.Problem{&root, head}, false,
			"hint: correct the warning at b.json first: the errors may be consequences of it\n"},
		{[]*problem.Problem{head, &root}, false, ""},
	} {
		var out, summary strings.Builder
		got := ""
		if err := problems.PrintText(&out, &summary, tt.found, tt.info); err != nil {
			got = after(t, err)
		}
		if got += summary.String(); got != tt.want {
			t.Errorf("%d problems, info %t: got %q, want %q", len(tt.found), tt.info, got, tt.want)
		}
	}
}
