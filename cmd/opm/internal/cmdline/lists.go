package cmdline

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A wholeList is the value of a flag with a list of items that commas separate. The library drops the text after a line
// break; here it is an error.
type wholeList struct{ pflag.Value }

func (l wholeList) Set(s string) error {
	items := csv.NewReader(strings.NewReader(s))
	items.FieldsPerRecord = -1 // any number
	_, err := items.Read()
	if rest, errRest := items.Read(); err == nil && errRest == nil {
		return fmt.Errorf("a line break before %q: separate items with commas, or repeat the flag", rest[0])
	}
	return l.Value.Set(s)
}

// WholeLists makes the lists of all flags of a command and its subcommands wholeLists.
func WholeLists(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "stringSlice" || f.Value.Type() == "stringToString" {
			f.Value, f.DefValue = wholeList{f.Value}, "" // the library hides the default only of its own types
		}
	})
	for _, sub := range cmd.Commands() {
		WholeLists(sub)
	}
}
