package validate

import (
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes problems as commands of GitHub workflows, which shows them beside the lines of a pull request.
func WriteGitHub(w io.Writer, problems []*Problem) error {
	for _, p := range problems {
		text := p.Message
		if p.Path != "" {
			text = p.Path + ": " + text
		}
		if p.Fix != "" {
			text += "; " + p.Fix
		}
		_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", p.Severity,
			githubProperty.Replace(p.Pos.File), max(1, p.Pos.Line), max(1, p.Pos.Column),
			githubProperty.Replace(p.Rule), githubText.Replace(text))
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
