package validate

import (
	"fmt"
	"io"
	"strings"
)

// WriteRules writes the reference of all rules: name, severity, what is asked for and why, and an example of each kind.
func WriteRules(w io.Writer) error {
	for i, r := range rules {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintf(w, "%s (%s)\n  %s.\n  %s\n", r.Name, r.Severity, sentence(r.Summary), r.Reason); err != nil {
			return err
		}
		if r.Fix != "" {
			fmt.Fprintf(w, "  To do: %s.\n", r.Fix)
		}
		writeExample(w, "Bad", r.Bad)
		writeExample(w, "Good", r.Good)
	}
	return nil
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func writeExample(w io.Writer, title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(w, "  %s:\n", title)
	for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
		fmt.Fprintf(w, "    %s", line)
	}
}
