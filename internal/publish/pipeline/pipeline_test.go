package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// finding returns a step that reports an error with this rule.
func finding(rule string) func(*Result) error {
	return func(r *Result) error {
		r.Report(&problem.Report{Problems: []*problem.Problem{{Rule: rule, Severity: problem.Error, Message: "wrong"}}})
		return nil
	}
}

func failing(err error) func(*Result) error { return func(*Result) error { return err } }

var (
	passing = failing(nil)
	broken  = failing(errors.New("broken"))
	placed  = &declcfg.Error{Pos: declcfg.Pos{File: "a.yaml", Line: 1}, Err: errors.New("wrong")}
	down    = &declcfg.Error{Pos: placed.Pos, Err: fmt.Errorf("pull: %w", image.ErrUnavailable)}
)

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		skipped                []Step
		validate, images, push func(*Result) error
		want                   Outcome
		statuses               string // of the steps: passed, failed, skipped or blocked
	}{
		{"all pass", nil, passing, passing, passing, Published, "ppp"},
		{"skipped", []Step{Validate}, broken, passing, passing, Published, "spp"},
		{"nothing to push", []Step{Tag}, passing, passing, broken, Checked, "pps"},
		{"problem", nil, finding("x"), passing, passing, Rejected, "fpb"},
		{"problem and failure", nil, broken, finding("missing"), passing, Rejected, "ffb"},
		{"unknown image", nil, passing, finding(imagecheck.Unknown), passing, Broken, "pfb"},
		{"failure", nil, broken, passing, passing, Broken, "fpb"},
		{"push fails", nil, passing, passing, broken, Broken, "ppf"},
		{"error with a place", nil, failing(placed), passing, passing, Rejected, "fpb"},
		{"registry is down", nil, failing(down), passing, passing, Broken, "fpb"},
		{"one is down", nil, failing(errors.Join(down, placed)), passing, passing, Rejected, "fpb"},
		{"rejected", nil, func(r *Result) error { r.Reject("no"); return nil }, passing, passing, Rejected, "fpb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := newRun("catalog", []string{"registry.example/a:v1"}, []Step{Validate, CheckImages, Tag}, tt.skipped)
			run.do(Compose, broken) // not a step of this run
			run.do(Validate, tt.validate, Compose)
			run.do(CheckImages, tt.images)
			run.do(Tag, tt.push, Validate, CheckImages)
			s := run.summary()
			var statuses string
			for _, r := range s.Steps {
				statuses += string(r.Status[:1])
			}
			if s.Outcome != tt.want || statuses != tt.statuses {
				t.Errorf("%s: %s, want %s: %s", s.Outcome, statuses, tt.want, tt.statuses)
			}
			if failed := strings.Contains(tt.statuses, "f"); (s.Err() != nil) != failed {
				t.Errorf("the error is %v", s.Err())
			}
		})
	}
}

// TestFail checks that a step that is known to fail does not run, and that a skipped step can fail.
func TestFail(t *testing.T) {
	run := newRun("catalog", nil, []Step{Build, Push}, []Step{Push})
	run.fail(Build, errors.New("no base"))
	run.fail(Push, nil)
	run.do(Build, func(*Result) error { t.Error("it was done"); return nil })
	if run.runs(Push) || run.runs(Sign) || !run.runs(Build) {
		t.Error("other steps run than should")
	}
	run.fail(Push, errors.New("no permission"))
	if err := run.summary().Err(); err == nil || err.Error() != "build: no base\npush: no permission" {
		t.Errorf("got %v", err)
	}
}

// TestFailure checks the errors of several runs, with and without the names of their catalogs.
func TestFailure(t *testing.T) {
	step := func(s Step, status Status, note string) *Result { return &Result{Step: s, Status: status, Note: note} }
	all := []*Summary{
		{Catalog: "v1", Outcome: Published, Steps: []*Result{step(Build, Passed, "")}},
		{Catalog: "v2", Outcome: Broken, Steps: []*Result{step(Build, Failed, "no base"), step(Push, Failed, "no right")}},
		{Catalog: "v3", Outcome: Rejected, Steps: []*Result{step(Validate, Failed, "2 errors")}},
	}
	for _, tt := range []struct {
		all      []*Summary
		named    bool
		rejected bool
		want     string
	}{
		{all[:1], true, false, "<nil>"},
		{all[1:2], false, false, "build: no base\npush: no right"},
		{all, true, true, "v2: build: no base\nv2: push: no right\nv3: validate: 2 errors"},
	} {
		rejected, err := Failure(tt.all, tt.named)
		if got := fmt.Sprint(err); got != tt.want || rejected != tt.rejected {
			t.Errorf("got %s, %t; want %s", got, rejected, tt.want)
		}
	}
}

func TestParseSteps(t *testing.T) {
	for names, want := range map[string]string{
		"validate,diff": "[validate diff]", "build": "[build push sign tag]", "push": "[push sign tag]", "": "[]",
	} {
		var list []string
		if names != "" {
			list = strings.Split(names, ",")
		}
		if got, err := ParseSteps(list); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v, want %s", names, got, err, want)
		}
	}
	if _, err := ParseSteps([]string{"bild"}); err == nil || err.Error() != `unknown step "bild" (did you mean "build"?)` {
		t.Errorf("got %v", err)
	}
}

// TestMarkdown checks that errors come first, that hints are left out, and that everything fits into a comment.
func TestMarkdown(t *testing.T) {
	steps := []Step{Validate, Resolve, Diff, Push}
	run := newRun("catalog", []string{"registry.example/a:v1"}, steps, nil)
	many := func(r *Result) error {
		report := &problem.Report{}
		for i := range 10_000 {
			report.Problems = append(report.Problems, &problem.Problem{Severity: problem.Warning, Message: fmt.Sprint("w", i)})
		}
		report.Problems = append(report.Problems, &problem.Problem{Severity: problem.Info, Message: "i"},
			&problem.Problem{Severity: problem.Error, Message: "e|1"})
		r.Report(report)
		return nil
	}
	run.do(Validate, many)
	run.do(Resolve, many)
	run.do(Diff, func(r *Result) error {
		r.Changes = &diff.Report{}
		for i := range 10_000 {
			r.Changes.Packages = append(r.Changes.Packages, diff.Package{Name: fmt.Sprint("p", i), Change: diff.Added})
		}
		return nil
	})
	run.do(Push, passing, steps...)
	var out strings.Builder
	if err := run.summary().Report().Markdown(&out); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	const want = "## Not published: `registry.example/a:v1`\n\n| step | status |  |\n| --- | --- | --- |\n" +
		"| validate | **failed** | 1 error, 10,000 warnings and 1 hint in 1 file |\n"
	const list = "### validate: 1 error and 10,000 warnings in 1 file\n\n- **error** e\\|1\n- **warning** w0\n"
	if !strings.HasPrefix(got, want) || !strings.Contains(got, list) || !strings.Contains(got, " more\n\n### resolve: ") {
		t.Errorf("got\n%.2000s\nwant at its start\n%s\nand then\n%s", got, want, list)
	}
	if n := utf8.RuneCountInString(got); n > report.MaxComment || n < report.MaxComment*9/10 {
		t.Errorf("%d characters, want a little less than %d", n, report.MaxComment)
	}
}

// TestMarkdownTitle checks that a failure names the tags that refer to the image, and those that do not.
func TestMarkdownTitle(t *testing.T) {
	for _, tt := range []struct {
		live int
		want string
	}{
		{0, "## Not published: `r.example/a:v1`, `r.example/a:v1.2`, `r.example/a:latest`\n\n| step | "},
		{1, "## Published in part: `r.example/a:v1`, not `r.example/a:v1.2`, `r.example/a:latest`\n\n" +
			"Live: `r.example/a:v1@sha256:0`\n\n| step | "},
		{2, "## Published in part: `r.example/a:v1`, `r.example/a:v1.2`, not `r.example/a:latest`\n\n" +
			"Live: `r.example/a:v1@sha256:0`, `r.example/a:v1.2@sha256:0`\n\n| step | "},
	} {
		tags := []string{"r.example/a:v1", "r.example/a:v1.2", "r.example/a:latest"}
		run := newRun("catalog", tags, []Step{Tag}, nil)
		run.do(Tag, func(r *Result) error {
			for _, tag := range tags[:tt.live] {
				r.Live = append(r.Live, tag+"@sha256:0")
			}
			return errors.New("refused")
		})
		var out strings.Builder
		if err := run.summary().Report().Markdown(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("got\n%s\nwant at its start\n%s", out.String(), tt.want)
		}
	}
}

// TestMarkdownOfSeveral checks that the summary of several catalogs, each with many problems, fits into a comment, and
// that each catalog has its part.
func TestMarkdownOfSeveral(t *testing.T) {
	var all []*Summary
	for i := range 10 {
		run := newRun(fmt.Sprint("catalog", i), nil, []Step{Validate, Resolve}, nil)
		many := func(r *Result) error {
			report := &problem.Report{}
			for range 300 {
				report.Problems = append(report.Problems, &problem.Problem{Severity: problem.Warning, Message: "long enough"})
			}
			r.Report(report)
			return nil
		}
		run.do(Validate, many)
		run.do(Resolve, many)
		all = append(all, run.summary())
	}
	var out strings.Builder
	if err := ReportAll(all).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(out.String()); n > report.MaxComment {
		t.Errorf("%d characters, want at most %d", n, report.MaxComment)
	}
	for part, want := range map[string]int{
		"## Checked": 10, "### validate: ": 10, "### resolve: ": 10, "- **warning** long enough\n- ": 20, " more\n": 20,
	} {
		if n := strings.Count(out.String(), part); n < want {
			t.Errorf("%q %d times, want %d", part, n, want)
		}
	}
}
