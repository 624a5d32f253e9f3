package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

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

// The flags of limits.
const (
	maxObjectSize = "max-object-size"
	maxImageSize  = "image-max-size"
)

// defaultMaxObject is the default of --max-object-size, unless a server has little memory.
const defaultMaxObject = 256 << 20

// addReadFlags adds the flags of a command that reads catalogs, those of images included.
func addReadFlags(cmd *cobra.Command, images *imageFlags) {
	addObjectLimit(cmd)
	images.add(cmd)
}

func addObjectLimit(cmd *cobra.Command) {
	cmd.Flags().Var(new(byteSize), maxObjectSize, "reject objects of more than `SIZE` in catalogs (default 256Mi)")
}

// A byteSize is the value of a flag: a number of bytes, as Kubernetes writes quantities. Zero is none given.
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
