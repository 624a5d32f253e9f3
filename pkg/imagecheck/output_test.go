package imagecheck_test

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/imagecheck"
)

func TestWriteJSON(t *testing.T) {
	use := imagecheck.Use{Pos: declcfg.Pos{File: "c/a.yaml", Line: 3, Column: 1}, Package: "oak", Bundle: "oak.v1"}
	related := use
	related.Related = true
	named := related
	named.Name = "<db>"
	stdin := imagecheck.Use{Pos: declcfg.Pos{File: "stdin"}, Package: "oak", Bundle: "oak.v2"}
	for _, tt := range []struct {
		name   string
		report imagecheck.Report
		want   string
	}{
		{"all there", imagecheck.Report{Images: 3}, `{
  "passed": true,
  "images": 3,
  "missing": [],
  "unknown": [],
  "invalid": []
}
`},
		{"one of each", imagecheck.Report{Images: 4, Problems: []*imagecheck.Problem{
			{imagecheck.Invalid, "db", "not full", []imagecheck.Use{named}},
			{imagecheck.Missing, "h.io/a:1", "404", []imagecheck.Use{use, related}},
			{imagecheck.Unknown, "h.io/b:1", "503", []imagecheck.Use{stdin}},
		}}, `{
  "passed": false,
  "images": 4,
  "missing": [
    {
      "reference": "h.io/a:1",
      "error": "404",
      "uses": [
        {
          "file": "c/a.yaml",
          "line": 3,
          "column": 1,
          "package": "oak",
          "bundle": "oak.v1"
        },
        {
          "file": "c/a.yaml",
          "line": 3,
          "column": 1,
          "package": "oak",
          "bundle": "oak.v1",
          "relatedImage": ""
        }
      ]
    }
  ],
  "unknown": [
    {
      "reference": "h.io/b:1",
      "error": "503",
      "uses": [
        {
          "file": "stdin",
          "package": "oak",
          "bundle": "oak.v2"
        }
      ]
    }
  ],
  "invalid": [
    {
      "reference": "db",
      "error": "not full",
      "uses": [
        {
          "file": "c/a.yaml",
          "line": 3,
          "column": 1,
          "package": "oak",
          "bundle": "oak.v1",
          "relatedImage": "<db>"
        }
      ]
    }
  ]
}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := imagecheck.WriteJSON(&b, &tt.report); err != nil || b.String() != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, b.String(), tt.want)
			}
		})
	}
}

// TestWriteText holds that lines stand in the order of the catalog and cannot be forged by what is in it.
func TestWriteText(t *testing.T) {
	at := func(line int, bundle string) imagecheck.Use {
		return imagecheck.Use{Pos: declcfg.Pos{File: "a\n.yaml", Line: line, Column: 1}, Package: "o\nk", Bundle: bundle}
	}
	report := &imagecheck.Report{Images: 2, Problems: []*imagecheck.Problem{
		{imagecheck.Invalid, "\x1b[1m", "a\rb", []imagecheck.Use{at(2, "v2")}},
		{imagecheck.Missing, "h.io/a:1", "404", []imagecheck.Use{at(1, "v1"), at(3, "v3")}},
	}}
	var b strings.Builder
	if err := imagecheck.WriteText(&b, report); err != nil {
		t.Fatal(err)
	}
	const want = `a\n.yaml:1:1: error: package "o\nk": bundle "v1": image h.io/a:1 does not exist: 404 [missing]
a\n.yaml:2:1: error: package "o\nk": bundle "v2": image "\x1b[1m" is not valid: a\rb [invalid]
a\n.yaml:3:1: error: package "o\nk": bundle "v3": image h.io/a:1 does not exist: 404 [missing]
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestSummary(t *testing.T) {
	problems := func(kinds ...imagecheck.Kind) []*imagecheck.Problem {
		var all []*imagecheck.Problem
		for _, k := range kinds {
			all = append(all, &imagecheck.Problem{Kind: k})
		}
		return all
	}
	for _, tt := range []struct {
		images   int
		problems []*imagecheck.Problem
		want     string
	}{
		{0, nil, "0 images, all there"},
		{1, nil, "1 image, all there"},
		{2, problems(imagecheck.Missing), "of 2 images 1 is missing"},
		{9, problems(imagecheck.Invalid, imagecheck.Missing, imagecheck.Unknown, imagecheck.Missing),
			"of 9 images 2 are missing, 1 cannot be checked, 1 has no valid reference"},
		{3, problems(imagecheck.Unknown, imagecheck.Unknown), "of 3 images 2 cannot be checked"},
	} {
		report := imagecheck.Report{Images: tt.images, Problems: tt.problems}
		if got := report.Summary(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
