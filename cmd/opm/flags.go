package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A choice is the value of a flag that takes one of a few words.
type choice struct {
	value     *string
	byDefault string // also accepted; need not be one of the words
	words     []string
}

func (c *choice) String() string { return *c.value }

// Type names the value in help texts.
func (c *choice) Type() string { return strings.Join(c.words, "|") }

func (c *choice) Set(s string) error {
	if s != c.byDefault && !slices.Contains(c.words, s) {
		return errors.New("want " + oneOf(c.words))
	}
	*c.value = s
	return nil
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
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// choiceVar adds the flag described by its names and usage, which takes one of the words.
func choiceVar(cmd *cobra.Command, value *string, name, short, byDefault, usage string, words ...string) {
	*value = byDefault
	cmd.Flags().VarP(&choice{value, byDefault, words}, name, short, usage)
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// addFormatFlag adds -o to a command that prints catalog objects.
func addFormatFlag(cmd *cobra.Command, format *string) {
	choiceVar(cmd, format, "output", "o", string(declcfg.JSON), "output format",
		string(declcfg.JSON), string(declcfg.YAML))
}

func addMigrateLevelFlag(cmd *cobra.Command, level *string) {
	levels := texts(render.Migrations())
	choiceVar(cmd, level, "migrate-level", "", "", "migrate up to `LEVEL`: "+oneOf(levels), levels...)
}
