package cmdline

import (
	"strings"

	"github.com/spf13/cobra"
)

// Arguments are the arguments that a usage line names, such as CATALOG [PACKAGE...].
type Arguments struct {
	Names []string
	Least int  // the number of required arguments
	Many  bool // one of them can be repeated
}

// ArgumentsOf reads the arguments in front of the first flag. The name of FILE|DIRECTORY is FILE, the name of
// [NAME=]CATALOG is CATALOG, and a choice of words in lower case is its own name.
func ArgumentsOf(usage string) (a Arguments) {
	isOptional := false
	for word := range strings.FieldsSeq(usage) {
		if strings.HasPrefix(word, "-") {
			break
		}
		if i := strings.Index(word, "=]"); i >= 0 {
			word = word[i+len("=]"):]
		}
		isOptional = isOptional || strings.HasPrefix(word, "[")
		if !isOptional {
			a.Least++
		}
		a.Many = a.Many || strings.HasSuffix(strings.TrimSuffix(word, "]"), "...")
		name := strings.Trim(word, "[].")
		if name == strings.ToUpper(name) {
			name, _, _ = strings.Cut(name, "|")
		}
		a.Names = append(a.Names, name)
	}
	return a
}

// WantArgs requires the arguments that a usage line names, such as CATALOG [PACKAGE...]; "" accepts none. Its errors
// are easier to read than cobra's.
func WantArgs(usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch want := ArgumentsOf(usage); {
		case len(args) < want.Least:
			return Errorf("argument %s is missing", want.Names[len(args)])
		case len(args) > len(want.Names) && !want.Many:
			return Errorf("unexpected argument %q", args[len(want.Names)])
		}
		return nil
	}
}
