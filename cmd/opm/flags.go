package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A choice is the value of a flag that takes one of a few words.
type choice[T ~string] struct {
	value     *T
	byDefault T // also accepted; need not be one of the words
	words     []T
	former    []T // accepted for former spellings, but not shown
}

func (c *choice[T]) String() string { return string(*c.value) }

// Type returns the name of the value in help texts.
func (c *choice[T]) Type() string { return strings.Join(texts(c.words), "|") }

func (c *choice[T]) Set(s string) error {
	if T(s) != c.byDefault && !slices.Contains(c.words, T(s)) && !slices.Contains(c.former, T(s)) {
		return errors.New("want " + oneOf(c.words))
	}
	*c.value = T(s)
	return nil
}

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

// wholeLists makes the lists of all flags of a command and its subcommands wholeLists.
func wholeLists(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "stringSlice" || f.Value.Type() == "stringToString" {
			f.Value, f.DefValue = wholeList{f.Value}, "" // the library hides the default only of its own types
		}
	})
	for _, sub := range cmd.Commands() {
		wholeLists(sub)
	}
}

// texts returns the values of a string type as strings.
func texts[T ~string](all []T) []string {
	var words []string
	for _, v := range all {
		words = append(words, string(v))
	}
	return words
}

// oneOf lists words as "a", "a or b", "a, b or c".
func oneOf[T ~string](words []T) string {
	last := len(words) - 1
	if last == 0 {
		return string(words[0])
	}
	return strings.Join(texts(words[:last]), ", ") + " or " + string(words[last])
}

// choiceVar adds a flag whose value must be one of the words.
func choiceVar[T ~string](cmd *cobra.Command, value *T, name, short string, byDefault T, usage string, words ...T) {
	*value = byDefault
	cmd.Flags().VarP(&choice[T]{value: value, byDefault: byDefault, words: words}, name, short, usage)
	completeWith(cmd, cobra.FixedCompletions(texts(words), cobra.ShellCompDirectiveNoFileComp), name)
}

// addOutput adds -o to a command. The first of its formats is the default.
func addOutput(cmd *cobra.Command, format *string, formats ...output.Format) {
	choiceVar(cmd, format, "output", "o", string(formats[0]), "output format", texts(formats)...)
}

// formatOf returns the value of -o of a command, or text for a command without it.
func formatOf(cmd *cobra.Command) output.Format {
	if f := cmd.Flag("output"); f != nil && f.Value.String() != "" {
		return output.Format(f.Value.String())
	}
	return output.Text
}

// addFormatFlag adds -o to a command that prints catalog objects.
func addFormatFlag(cmd *cobra.Command, format *declcfg.Format) {
	choiceVar(cmd, format, "output", "o", declcfg.JSON, "output format", declcfg.JSON, declcfg.YAML)
}

func addMigrateLevelFlag(cmd *cobra.Command, level *render.Migration) {
	levels := render.Migrations()
	choiceVar(cmd, level, "migrate-level", "", "", "migrate up to `LEVEL`: "+oneOf(levels), levels...)
}

// An olmFlag is the value of --olm.
type olmFlag string

// The values of --olm.
const (
	olmClassic = olmFlag(graph.Classic)
	olmV1      = olmFlag(graph.V1)
	olmBoth    = olmFlag("both")
)

func (f *olmFlag) add(cmd *cobra.Command, usage string) {
	choiceVar(cmd, f, "olm", "", olmBoth, usage, olmClassic, olmV1, olmBoth)
}

// semantics returns the semantics of the OLM version that the flag names, or nil for both versions.
func (f olmFlag) semantics() []graph.Semantics {
	if f == olmBoth {
		return nil
	}
	return []graph.Semantics{graph.Semantics(f)}
}

// The flags of limits.
const (
	maxObjectSize = "max-object-size"
	maxImageSize  = "image-max-size"
)

// defaultMaxObject is the default of --max-object-size in bytes. A server with little memory has a lower default.
const defaultMaxObject = 256 << 20

// addReadFlags adds the flags of a command that reads catalogs, including the registry flags.
func addReadFlags(cmd *cobra.Command, images *imageFlags) {
	addObjectLimit(cmd)
	images.add(cmd)
}

func addObjectLimit(cmd *cobra.Command) {
	cmd.Flags().Var(new(byteSize), maxObjectSize, "reject objects of more than `SIZE` in catalogs (default 256Mi)")
}

// A byteSize is the value of a flag: a number of bytes, written as a Kubernetes quantity. Zero means not given.
type byteSize int64

func (s *byteSize) String() string {
	if *s == 0 {
		return ""
	}
	return resource.NewQuantity(int64(*s), resource.DecimalSI).String()
}

func (s *byteSize) Type() string { return "size" }

func (s *byteSize) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Value() <= 0 {
		return errors.New("want a number of bytes, such as 500M or 2Gi")
	}
	*s = byteSize(q.Value())
	return nil
}

// sizeOf returns the value of a byteSize flag, 0 if the command has no such flag or it was not given.
func sizeOf(cmd *cobra.Command, name string) int64 {
	if f := cmd.Flag(name); f != nil {
		return int64(*f.Value.(*byteSize))
	}
	return 0
}
