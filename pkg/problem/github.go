package problem

import (
	"fmt"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
)

func writeGitHub(w io.Writer, problems []*Problem) error {
	for _, p := range problems {
		var lines []string
		for line := range strings.SplitSeq(p.text(), "\n") {
			lines = append(lines, legible.Name(line))
		}
		text := strings.Join(lines, "\n") // escaped below
		if p.Path != "" {
			text = legible.Name(legible.Message(p.Path)) + ": " + text
		}
		_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", githubLevel(p.Severity),
			githubProperty.Replace(legible.Name(p.Pos.File)), max(1, p.Pos.Line), max(1, p.Pos.Column),
			githubProperty.Replace(p.Rule), githubText.Replace(text))
		if err != nil {
			return err
		}
	}
	return nil
}

func githubLevel(s Severity) string {
	if s == Info {
		return "notice"
	}
	return string(s)
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
