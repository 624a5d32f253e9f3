package cmdline

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/output"
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
func (c *choice[T]) Type() string { return strings.Join(Texts(c.words), "|") }

func (c *choice[T]) Set(s string) error {
	if T(s) != c.byDefault && !slices.Contains(c.words, T(s)) && !slices.Contains(c.former, T(s)) {
		return errors.New("want " + OneOf(c.words))
	}
	*c.value = T(s)
	return nil
}

// ChoiceVar adds a flag whose value must be one of the words.
func ChoiceVar[T ~string](cmd *cobra.Command, value *T, name, short string, byDefault T, usage string, words ...T) {
	*value = byDefault
	cmd.Flags().VarP(&choice[T]{value: value, byDefault: byDefault, words: words}, name, short, usage)
	Must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(Texts(words), cobra.ShellCompDirectiveNoFileComp)))
}

// AlsoAccept makes a flag of ChoiceVar accept more words, which are not shown.
func AlsoAccept(cmd *cobra.Command, flag string, words ...string) {
	cmd.Flag(flag).Value.(*choice[string]).former = words
}

// AddOutput adds -o to a command. The first of its formats is the default.
func AddOutput(cmd *cobra.Command, formats ...output.Format) {
	ChoiceVar(cmd, new(string), "output", "o", string(formats[0]), "output format", Texts(formats)...)
}

// Format returns the value of -o of a command, or text for a command without it.
func Format(cmd *cobra.Command) output.Format {
	if f := cmd.Flag("output"); f != nil && f.Value.String() != "" {
		return output.Format(f.Value.String())
	}
	return output.Text
}

// Texts returns the values of a string type as strings.
func Texts[T ~string](all []T) []string {
	var words []string
	for _, v := range all {
		words = append(words, string(v))
	}
	return words
}

// OneOf lists words as "a", "a or b", "a, b or c".
func OneOf[T ~string](words []T) string {
	last := len(words) - 1
	if last == 0 {
		return string(words[0])
	}
	return strings.Join(Texts(words[:last]), ", ") + " or " + string(words[last])
}
