package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
)

// argumentAdvice returns a hint about arguments that are not of the kind that the usage line names, or "".
func argumentAdvice(cmd *cobra.Command) string {
	args, names := cmd.Flags().Args(), argumentNames(cmd)
	if cmd.Flags().Changed("each") || cmd.Flags().Changed("rules") {
		return ""
	}
	inputs := make([]input, len(args))
	for i, arg := range args {
		inputs[i] = inputOf(cmd.Context(), arg)
	}
	at := slices.Index(names, "CATALOG")
	of := slices.Index(names, "BUNDLE")
	switch {
	case len(args) == 0:
	case cmd.Name() == "render-template" && slices.Contains(inputs, catalogInput):
		return "it is a catalog; run: " + shellLine("opm convert-template basic", args[slices.Index(inputs, catalogInput)])
	case len(names) == 0 && inputs[0] != missingInput && cmd.Flag("directory") != nil && !cmd.Flags().Changed("directory"):
		return "run: " + commandLine(cmd, nil) + " --directory " + shell.Quote(args[0])
	case of >= 0 && of < len(args) && inputs[of] == partInput:
		args = slices.Clone(args)
		args[of] = bundleAround(args[of])
		return "run: " + commandLine(cmd, args)
	case at >= 0 && at < len(args) && (inputs[at] == missingInput || of >= 0 && inputs[at] == bundleInput):
		return catalogAdvice(cmd, args, names, inputs, at)
	}
	return ""
}

// catalogAdvice returns a hint for arguments without a catalog at an index: to swap two arguments or, for a plain name,
// the catalogs of the working directory.
func catalogAdvice(cmd *cobra.Command, args, names []string, inputs []input, at int) string {
	if i := slices.Index(inputs, catalogInput); i >= 0 {
		if names[i%len(names)] == "FROM" { // CATALOG [FROM TO]
			return "run: " + commandLine(cmd, args[i:i+1]) + " --package " + shell.Quote(args[at])
		}
		args = slices.Clone(args)
		args[at], args[i] = args[i], args[at]
		return "run: " + commandLine(cmd, args)
	}
	if inputs[at] != missingInput || strings.ContainsAny(args[at], "/.") || reference.Near(args[at]) != "" {
		return ""
	}
	entries, _ := os.ReadDir(".") // no hint without it
	var here []string
	for _, e := range entries[:min(len(entries), 100)] {
		if e.IsDir() && inputOf(cmd.Context(), e.Name()) == catalogInput {
			here = append(here, shell.Quote(e.Name()))
		}
	}
	if here == nil || len(here) > 5 {
		return ""
	}
	return "CATALOG is a path or an image; a catalog in this directory is " + strings.Join(here, " or ")
}

// stateAdvice returns a hint for a catalog in place of the objects of a cluster, or "".
func stateAdvice(cmd *cobra.Command) string {
	var states []string
	if slices.Contains(argumentNames(cmd), "STATE") {
		states = cmd.Flags().Args()
	} else if f := cmd.Flag("state"); f != nil {
		if paths, ok := f.Value.(pflag.SliceValue); ok {
			states = paths.GetSlice()
		}
	}
	for _, state := range states {
		if inputOf(cmd.Context(), state) == catalogInput {
			return "a catalog is given by " + shell.Quote("--catalog=NAME="+state)
		}
	}
	return ""
}

// argumentNames returns the names of the arguments in the usage line, up to the first flag or choice.
func argumentNames(cmd *cobra.Command) (names []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.ContainsAny(word, "(|") || strings.HasPrefix(word, "-") {
			break
		}
		names = append(names, strings.Trim(word, "[]."))
	}
	return names
}

// commandLine returns the command with other arguments, its flags, and the flags of the usage line that are missing.
func commandLine(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range args {
		words = append(words, shell.Quote(arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if all, ok := f.Value.(pflag.SliceValue); ok {
			values = all.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+shell.Quote(value))
		}
	})
	fields := strings.Fields(cmd.Use)
	for i, word := range fields[:len(fields)-1] {
		if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flag(name) != nil && !cmd.Flags().Changed(name) {
			words = append(words, word, fields[i+1])
		}
	}
	return strings.Join(words, " ")
}

// missingAdvice returns a hint for a file that does not exist, with the name of a similar one beside it, or "".
func missingAdvice(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		if near := reference.Near(e.Path); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
	}
	return ""
}

// shortDigest matches a digest with a wrong number of digits at the end of an image reference.
var shortDigest = regexp.MustCompile(`@sha256:([0-9a-fA-F]*)$`)

// digestAdvice returns a hint for an argument whose digest is too short or too long, or "".
func digestAdvice(cmd *cobra.Command) string {
	for _, arg := range cmd.Flags().Args() {
		if found := shortDigest.FindStringSubmatch(arg); found != nil && len(found[1]) != 64 {
			return fmt.Sprintf("the digest of %s has %d digits, want 64", arg, len(found[1]))
		}
	}
	return ""
}

// commandsFor are commands of other tools and the command to run instead.
var commandsFor = map[string]string{
	"push": "opm publish, or opm build --push", "lint": "opm validate", "show": "opm list, opm graph or opm render",
	"copy": "opm mirror", "pull": "opm render, or opm bundle unpack", "create": "opm init, or opm add --create",
	"format": "opm fmt", "upgrade": "opm updates, or opm plan", "explain": "opm rules NAME",
}

// longFlag returns the hint for a flag with one dash in front of its long name: `; did you mean "--NAME"?`, or "".
func longFlag(cmd *cobra.Command, text string) string {
	name, _, _ := strings.Cut(text, "=")
	if len(name) < 2 {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest.Name(name, names); near != "" {
		return fmt.Sprintf(" (did you mean \"--%s\"?)", near)
	}
	return ""
}
