package problem

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
)

// A gitLabIssue is an issue in GitLab's code quality report (https://docs.gitlab.com/ci/testing/code_quality/).
type gitLabIssue struct {
	Description string         `json:"description"`
	Check       string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"` // the same for a problem in two reports
	Severity    string         `json:"severity"`
	Location    gitLabLocation `json:"location"`
}

type gitLabLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

var gitLabSeverities = map[Severity]string{Error: "critical", Warning: "minor", Info: "info"}

// writeGitLab writes an issue for each problem. As in a baseline, the fingerprint of a problem does not depend on its
// position, so that it is not a new one after another change to its file.
func (r *Report) writeGitLab(w io.Writer) error {
	issues := []gitLabIssue{}
	seen := map[string]int{}
	add := func(key string, i gitLabIssue) {
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, seen[key]))
		i.Fingerprint = hex.EncodeToString(sum[:16])
		i.Location.Path = filepath.ToSlash(cmp.Or(i.Location.Path, r.Subject))
		i.Location.Lines.Begin = max(1, i.Location.Lines.Begin)
		issues = append(issues, i)
	}
	if r.Incomplete != "" {
		add("incomplete", gitLabIssue{Description: r.Incomplete, Check: "opm", Severity: "blocker"})
	}
	for _, p := range r.Problems {
		i := gitLabIssue{Description: p.text(), Check: cmp.Or(p.Rule, "opm"), Severity: gitLabSeverities[p.Severity]}
		if p.Path != "" {
			i.Description = p.Path + ": " + i.Description
		}
		i.Location.Path, i.Location.Lines.Begin = p.Pos.File, p.Pos.Line
		add(knownAs(p).key(), i)
	}
	return writeJSON(w, issues)
}
