package problem

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
)

// The part of SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/) that the results of a linter need.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations,omitempty"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitzero"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string      `json:"id"`
		Short   sarifText   `json:"shortDescription"`
		Full    sarifText   `json:"fullDescription"`
		Help    *sarifText  `json:"help,omitzero"`
		Default sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitzero"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitzero"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

func (r *Report) writeSARIF(w io.Writer) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "opm", Version: r.Version}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	if r.Incomplete != "" {
		run.Invocations = []sarifInvocation{
			{Notifications: []sarifNotification{{sarifLevel(Error), sarifText{r.Incomplete}}}},
		}
	}
	indexOf := map[string]int{}
	for i, rule := range r.Rules.all {
		indexOf[rule.Name] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule.sarif())
	}
	for _, p := range r.Problems {
		run.Results = append(run.Results, p.sarif(indexOf[p.Rule]))
	}
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	return writeJSON(w, log)
}

func sarifLevel(s Severity) string {
	if s == Info {
		return "note"
	}
	return string(s)
}

func (r *Rule) sarif() sarifRule {
	rule := sarifRule{
		ID:      r.Name,
		Short:   sarifText{sentence(r.Summary)},
		Full:    sarifText{cmp.Or(r.Reason, sentence(r.Summary))},
		Default: sarifConfig{sarifLevel(r.Severity)},
	}
	if r.Fix != "" {
		rule.Help = &sarifText{sentence(r.Fix)}
	}
	return rule
}

// sarifURI converts a file name to a URI: relative to the working directory, or absolute.
func sarifURI(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

func (p *Problem) sarif(rule int) sarifResult {
	location := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{sarifURI(p.Pos.File)}}}
	if p.Pos.Line > 0 {
		location.Physical.Region = &sarifRegion{p.Pos.Line, p.Pos.Column}
	}
	if p.Path != "" {
		location.Logical = []sarifLogical{{p.Path}}
	}
	return sarifResult{
		RuleID: p.Rule, RuleIndex: rule, Level: sarifLevel(p.Severity), Message: sarifText{p.text()},
		Locations: []sarifLocation{location},
	}
}
