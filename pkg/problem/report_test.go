package problem_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// two are an error with all fields and a warning with almost none.
var two = []*problem.Problem{
	{
		Rule: "channel-head", Severity: problem.Error, Pos: declcfg.Pos{File: "c/a b.yaml", Line: 6, Column: 9},
		Package: "p", Path: `package "p": channel "<c>"`, Message: "100% wrong & so\u2028on", Fix: "mend it",
	},
	{Rule: "utf-8", Severity: problem.Warning, Pos: declcfg.Pos{File: "c/b,c:d.json"}, Message: "odd"},
}

var (
	ruleHead = &problem.Rule{Name: "channel-head", Severity: problem.Error, Summary: "a channel has exactly one head",
		Reason: "The head is what new users get. A channel with none or several has no use.",
		Fix:    "connect the entries"}
	ruleUTF8 = &problem.Rule{Name: "utf-8", Severity: problem.Warning, Summary: "JSON files are UTF-8"}
	ruleIcon = &problem.Rule{Name: "icon", Severity: problem.Info, Summary: "a package has an icon"}
)

var rules = problem.NewRules("", fstest.MapFS{"rules/channel-head.txtar": {Data: []byte(`
it would be too long
-- schema --
#Tier: {}
-- config --
policy: {}
-- bad --
a: 1
b: ` + "\xef" + `
c: 3
d:	4
-- good --
a: 1
b: ` + "\xef" + `
c: 3
d: 4`)}, "rules/icon.txtar": {Data: []byte(
	"-- bad/a.yaml --\n-- bad/b/c.yaml --\nx: 1\n-- good/a.yaml --\ny: 2\n")}},
	&problem.Group{Title: "Channels", Rules: []*problem.Rule{ruleHead}},
	&problem.Group{Title: "Files", Rules: []*problem.Rule{ruleUTF8, ruleIcon}})

// written returns a report about a catalog with the given problems.
func written(t *testing.T, format problem.Format, problems ...*problem.Problem) string {
	t.Helper()
	report := problem.Report{Subject: "catalog", Problems: problems, Rules: rules, Version: "v1.2.3"}
	return write(t, func(w *bytes.Buffer) error { return report.Write(w, format) })
}

func write(t *testing.T, fn func(*bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := fn(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTables checks that tables are written in front of the problems, in the formats for people only.
func TestTables(t *testing.T) {
	table := &report.Report{}
	table.Table([]string{"package", "plan"}, [][]string{{report.Name("kiln"), "stuck"}})
	for format, want := range map[problem.Format]string{
		problem.Text:     "PACKAGE  PLAN\nkiln     stuck\n",
		problem.Markdown: "| package | plan |\n| --- | --- |\n| `kiln` | stuck |\n\n",
		problem.JSON:     "",
	} {
		r := problem.Report{Tables: []problem.Table{table, table}}
		got := write(t, func(w *bytes.Buffer) error { return r.WriteTables(w, format) })
		if got != want+want {
			t.Errorf("%s: got %q, want %q twice", format, got, want)
		}
	}
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWriteText(t *testing.T) {
	plain := write(t, func(w *bytes.Buffer) error { return problem.WriteText(w, two, false) })
	same(t, plain, `c/a b.yaml:6:9: error: package "p": channel "<c>": `+
		"100% wrong & so on; mend it"+` [channel-head]
c/b,c:d.json: warning: odd [utf-8]
`)
	coloured := write(t, func(w *bytes.Buffer) error { return problem.WriteText(w, two, true) })
	same(t, strings.Split(coloured, "\n")[1],
		"\x1b[1mc/b,c:d.json\x1b[0m: \x1b[33mwarning\x1b[0m: odd \x1b[2m[utf-8]\x1b[0m")
	for _, code := range []string{"\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"} {
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	same(t, coloured, plain)
}

// TestWriteTextFolds checks that warnings of one rule about one package share a line, and that errors never do.
func TestWriteTextFolds(t *testing.T) {
	at := func(line int, severity problem.Severity, pkg string) *problem.Problem {
		return &problem.Problem{
			Rule: "r", Severity: severity, Pos: declcfg.Pos{File: "f", Line: line}, Package: pkg, Message: "odd",
		}
	}
	problems := []*problem.Problem{
		at(1, problem.Warning, "p"), at(2, problem.Error, "p"), at(3, problem.Error, "p"), at(4, problem.Warning, "p"),
		at(5, problem.Warning, "q"), at(6, problem.Warning, "p"), at(7, problem.Warning, ""), at(8, problem.Warning, ""),
	}
	same(t, written(t, problem.Text, problems...), `f:1: warning: odd [r] (and 2 more)
f:2: error: odd [r]
f:3: error: odd [r]
f:5: warning: odd [r]
f:7: warning: odd [r]
f:8: warning: odd [r]
`)
	problems = append(problems, &problem.Problem{Severity: problem.Error, Message: "stopped"})
	if !problem.Folds(problems) || problem.Folds(problems[1:3]) {
		t.Error("Folds does not say what WriteText does")
	}
}

func TestSummary(t *testing.T) {
	for want, problems := range map[string][]*problem.Problem{
		"no problems":                        nil,
		"1 error and 1 warning in 2 files":   two,
		"2 errors and 0 warnings in 1 file":  {two[0], two[0]},
		"0 errors and 2 warnings in 1 file":  {two[1], two[1]},
		"1 error and 2 warnings in 2 files":  {two[0], two[1], two[1]},
		"0 errors and 1 warning in 1 file":   two[1:],
		"1 error and 0 warnings in 1 file":   two[:1],
		"2 errors and 1 warning in 2 files":  {two[0], two[0], two[1]},
		"2 errors and 2 warnings in 2 files": {two[0], two[0], two[1], two[1]},

		"0 errors, 0 warnings and 1 hint in 1 file": {{Severity: problem.Info}},
	} {
		same(t, problem.Summary(problems), want)
	}
}

// TestWriteJSON checks passed and error.message, which scripts read and which are the same as upstream's.
func TestWriteJSON(t *testing.T) {
	got := func(problems []*problem.Problem) string {
		return written(t, problem.JSON, problems...)
	}
	same(t, got(nil), "{\n  \"passed\": true\n}\n")
	same(t, got(two), `{
  "passed": false,
  "error": {
    "message": "invalid catalog:\nc/a b.yaml:6:9: error: package \"p\": channel \"\u003cc\u003e\": `+
		`100% wrong \u0026 so on; mend it [channel-head]"
  },
  "problems": [
    {
      "rule": "channel-head",
      "severity": "error",
      "file": "c/a b.yaml",
      "line": 6,
      "column": 9,
      "package": "p",
      "path": "package \"p\": channel \"\u003cc\u003e\"",
      "message": "100% wrong \u0026 so\u2028on",
      "fix": "mend it"
    },
    {
      "rule": "utf-8",
      "severity": "warning",
      "file": "c/b,c:d.json",
      "message": "odd"
    }
  ]
}
`)
	same(t, got(two[1:]), `{
  "passed": true,
  "problems": [
    {
      "rule": "utf-8",
      "severity": "warning",
      "file": "c/b,c:d.json",
      "message": "odd"
    }
  ]
}
`)
}

func TestWriteYAML(t *testing.T) {
	got := func(problems []*problem.Problem) string {
		return written(t, problem.YAML, problems...)
	}
	same(t, got(nil), "passed: true\n\n")
	p := *two[0]
	p.Message, p.Pos.File = "wrong & so on", "c/a.yaml"
	same(t, got([]*problem.Problem{&p}), `error:
  message: |-
    invalid catalog:
    c/a.yaml:6:9: error: package "p": channel "<c>": wrong & so on; mend it [channel-head]
passed: false
problems:
- column: 9
  file: c/a.yaml
  fix: mend it
  line: 6
  message: wrong & so on
  package: p
  path: 'package "p": channel "<c>"'
  rule: channel-head
  severity: error

`)
}

func TestWriteGitHub(t *testing.T) {
	p, hint, nowhere := *two[0], *two[1], problem.Problem{Severity: problem.Error, Rule: "push", Message: "denied"}
	p.Message, hint.Severity = "first\nsecond\r", problem.Info
	same(t, written(t, problem.GitHub, two[0], two[1], &p, &hint, &nowhere), `::error file=c/a b.yaml,line=6,col=9,title=channel-head::package "p": channel "<c>": `+
		"100%25 wrong & so\\u2028on; mend it\n"+
		"::warning file=c/b%2Cc%3Ad.json,line=1,col=1,title=utf-8::odd\n"+
		`::error file=c/a b.yaml,line=6,col=9,title=channel-head::package "p": channel "<c>": `+
		"first%0Asecond\\r; mend it\n"+
		"::notice file=c/b%2Cc%3Ad.json,line=1,col=1,title=utf-8::odd\n"+
		"::error title=push::denied\n")
}

// A sarifLog is the part of SARIF 2.1.0 that code scanning requires.
type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []struct {
		ColumnKind string `json:"columnKind"`
		Tool       struct {
			Driver struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				Rules   []struct {
					ID      string         `json:"id"`
					Short   map[string]any `json:"shortDescription"`
					Full    map[string]any `json:"fullDescription"`
					Help    map[string]any `json:"help"`
					Default struct {
						Level string `json:"level"`
					} `json:"defaultConfiguration"`
				} `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []struct {
			RuleID    string            `json:"ruleId"`
			RuleIndex int               `json:"ruleIndex"`
			Level     string            `json:"level"`
			Message   map[string]string `json:"message"`
			Locations []struct {
				Physical struct {
					Artifact struct {
						URI string `json:"uri"`
					} `json:"artifactLocation"`
					Region *struct {
						StartLine   int `json:"startLine"`
						StartColumn int `json:"startColumn"`
					} `json:"region"`
				} `json:"physicalLocation"`
				Logical []map[string]string `json:"logicalLocations"`
			} `json:"locations"`
		} `json:"results"`
	} `json:"runs"`
}

func readSARIF(t *testing.T, problems []*problem.Problem) sarifLog {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(written(t, problem.SARIF, problems...)))
	decoder.DisallowUnknownFields()
	var log sarifLog
	if err := decoder.Decode(&log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestWriteSARIF(t *testing.T) {
	hint := *two[1]
	hint.Rule, hint.Severity, hint.Pos.Line = "icon", problem.Info, 7
	log := readSARIF(t, []*problem.Problem{two[0], two[1], &hint})
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("got version %s, schema %s, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	driver := run.Tool.Driver
	if driver.Name != "opm" || driver.Version != "v1.2.3" || run.ColumnKind != "unicodeCodePoints" {
		t.Errorf("got driver %s %s, columns in %s", driver.Name, driver.Version, run.ColumnKind)
	}
	for i, r := range rules.All() {
		got := driver.Rules[i]
		if got.ID != r.Name || got.Default.Level != level(r.Severity) || got.Short["text"] == "" || got.Full["text"] == "" {
			t.Errorf("rule %d is %+v, want %s", i, got, r.Name)
		}
	}
	var got []string
	for _, result := range run.Results {
		if driver.Rules[result.RuleIndex].ID != result.RuleID || result.Message["text"] == "" || len(result.Locations) != 1 {
			t.Fatalf("an incomplete result: %+v", result)
		}
		at := result.Locations[0].Physical
		if _, err := url.Parse(at.Artifact.URI); err != nil {
			t.Error(err)
		}
		place := at.Artifact.URI
		if at.Region != nil {
			place += fmt.Sprintf(":%d:%d", at.Region.StartLine, at.Region.StartColumn)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", place, result.Level, result.RuleID, result.Message["text"]))
	}
	want := []string{
		"c/a%20b.yaml:6:9 error channel-head 100% wrong & so\u2028on; mend it",
		"c/b,c:d.json warning utf-8 odd",
		"c/b,c:d.json:7:0 note icon odd",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// level returns the SARIF level of a severity.
func level(s problem.Severity) string {
	if s == problem.Info {
		return "note"
	}
	return string(s)
}

func TestSARIFLocations(t *testing.T) {
	for file, want := range map[string]string{
		"c/a b.yaml":   "c/a%20b.yaml",
		"c/50%.yaml":   "c/50%25.yaml",
		"/tmp/a.yaml":  "file:///tmp/a.yaml",
		"a:b/c.yaml":   "./a:b/c.yaml",
		"../c/ä.yaml":  "../c/%C3%A4.yaml",
		"-":            "-",
		"c/x?y#z.yaml": "c/x%3Fy%23z.yaml",
	} {
		p := &problem.Problem{Rule: "utf-8", Severity: problem.Error, Pos: declcfg.Pos{File: file}, Message: "m"}
		result := readSARIF(t, []*problem.Problem{p}).Runs[0].Results[0]
		if got := result.Locations[0].Physical.Artifact.URI; got != want {
			t.Errorf("%s is written as %s, want %s", file, got, want)
		}
		if result.Locations[0].Physical.Region != nil || result.Locations[0].Logical != nil {
			t.Errorf("%s has a place inside: %+v", file, result.Locations[0])
		}
	}
	if results := readSARIF(t, nil).Runs[0].Results; results == nil {
		t.Error("results of a catalog without problems are null, which means that opm failed")
	}
}

// TestIncomplete checks that no format passes a check that is incomplete.
func TestIncomplete(t *testing.T) {
	for format, want := range map[problem.Format]string{
		problem.JSON:     "{\n  \"passed\": false,\n  \"error\": {\n    \"message\": \"1 catalog failed: v2\"\n  }\n}\n",
		problem.YAML:     "error:\n  message: '1 catalog failed: v2'\npassed: false\n\n",
		problem.GitHub:   "::error::1 catalog failed: v2\n",
		problem.Markdown: "### catalog: no problems\n\n- **error** 1 catalog failed: v2\n",
		problem.SARIF:    `"executionSuccessful": false,`,
		problem.GitLab:   `"severity": "blocker",`,
		problem.JUnit:    `<error type="incomplete" message="1 catalog failed: v2"></error>`,
	} {
		report := problem.Report{Subject: "catalog", Rules: rules, Incomplete: "1 catalog failed: v2"}
		got := write(t, func(w *bytes.Buffer) error { return report.Write(w, format) })
		part := slices.Contains([]problem.Format{problem.SARIF, problem.GitLab, problem.JUnit}, format)
		if got != want && (!part || !strings.Contains(got, want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
	report := problem.Report{Subject: "catalog", Rules: rules, Problems: two, Incomplete: "1 catalog failed: v2"}
	if got := report.Result().Error.Message; !strings.HasSuffix(got, "[channel-head]\n1 catalog failed: v2") {
		t.Errorf("got %s", got)
	}
}

// TestJUnit checks that each error is a failed test, and that a report without errors has a test that passes.
func TestJUnit(t *testing.T) {
	type suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Class   string `xml:"classname,attr"`
			File    string `xml:"file,attr"`
			Line    int    `xml:"line,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Out string `xml:"system-out"`
		} `xml:"testcase"`
	}
	read := func(problems ...*problem.Problem) suite {
		var report struct {
			Suites []suite `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(written(t, problem.JUnit, problems...)), &report); err != nil {
			t.Fatal(err)
		}
		return report.Suites[0]
	}
	bad := &problem.Problem{
		Rule: "r", Severity: problem.Error, Pos: declcfg.Pos{File: "a.yaml", Line: 3}, Path: `package "a"`, Message: "<\x1b>",
	}
	odd := &problem.Problem{Rule: "s", Severity: problem.Warning, Message: "odd"}
	s := read(bad, odd)
	if c := s.Cases[0]; s.Tests != 2 || s.Failures != 1 || c.Name != bad.Path || c.Class != "r" || c.File != "a.yaml" ||
		c.Line != 3 || c.Failure == nil || c.Failure.Message != "<\ufffd>" || s.Cases[1].Out != "warning: odd" {
		t.Errorf("got %+v", s)
	}
	if s := read(odd); s.Tests != 2 || s.Failures != 0 || s.Cases[0].Failure != nil {
		t.Errorf("got %+v", s)
	}
}

// TestGitLab checks that the fingerprint of a problem depends on its subject, not on its place, and that no two are the
// same.
func TestGitLab(t *testing.T) {
	at := func(line int) *problem.Problem {
		return &problem.Problem{
			Rule: "r", Severity: problem.Warning, Pos: declcfg.Pos{File: "a.yaml", Line: line}, Path: `package "a"`, Message: "odd",
		}
	}
	type issue struct {
		Description, Fingerprint, Severity string
		Check                              string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	read := func(problems ...*problem.Problem) (issues []issue) {
		text := written(t, problem.GitLab, problems...)
		if err := json.Unmarshal([]byte(text), &issues); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return issues
	}
	two := read(at(3), at(5))
	want := issue{Description: `package "a": odd`, Fingerprint: two[0].Fingerprint, Severity: "minor", Check: "r"}
	want.Location.Path, want.Location.Lines.Begin = "a.yaml", 3
	if two[0] != want || two[0].Fingerprint == two[1].Fingerprint || read(at(9))[0].Fingerprint != two[0].Fingerprint {
		t.Errorf("got %+v", two)
	}
	if got := written(t, problem.GitLab); got != "[]\n" {
		t.Errorf("got %q without problems", got)
	}
}

// TestLimit checks that Markdown lists as many problems as fit, and counts the others.
func TestLimit(t *testing.T) {
	const a, b, c = "- **error** ä\n", "- **error** b\n", "- **error** c\n"
	for limit, want := range map[int]string{0: a + b + c, 42: a + b + c, 41: a + b + "- and 1 more\n", 1: "- and 3 more\n"} {
		r := problem.Report{Subject: "catalog", Limit: limit}
		for _, message := range []string{"ä", "b", "c"} {
			r.Problems = append(r.Problems, &problem.Problem{Severity: problem.Error, Message: message})
		}
		var out strings.Builder
		if err := r.Write(&out, problem.Markdown); err != nil {
			t.Fatal(err)
		}
		if _, list, _ := strings.Cut(out.String(), "\n\n"); list != want {
			t.Errorf("limit %d: got %s, want %s", limit, list, want)
		}
	}
}
