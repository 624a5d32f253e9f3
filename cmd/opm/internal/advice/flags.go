package advice

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// flagAdvice returns a hint about flags that need others, or "".
func flagAdvice(cmd *cobra.Command, err error) string {
	args := cmd.Flags().Args()
	given := cmd.Flags().Changed
	directory := cmd.Flag("directory")
	_, stale := errors.AsType[*serve.CacheError](err)
	switch name := cmd.Name(); {
	case stale:
		line := []string{"opm", "serve", "--cache-only", "--cache-dir", cmd.Flag("cache-dir").Value.String()}
		return "run before: " + shell.Join(append(line, args...)...)
	case name == "updates" && given("across") && given("each"):
		line := []string{"opm", "plan"}
		for _, value := range cmd.Flag("each").Value.(pflag.SliceValue).GetSlice() {
			line = append(line, "--each", value)
		}
		return "run: " + shell.Join(line...)
	case name == "resolve" && given("installed") && !given("package") && strings.Contains(err.Error(), "--package"):
		texts := givenTo(cmd.Flag("installed"))
		if pkg, _, ok := strings.Cut(texts[0], ".v"); ok { // as most bundles are named
			return "run: " + commandLine(cmd, args) + " --package " + shell.Quote(pkg)
		}
	case name == "manifests" && given("probes") && strings.Contains(err.Error(), "probes"):
		line := commandLine(cmd, args)
		if !given("kind") {
			line += " --kind deployment"
		}
		if cmd.Flag("probes").Value.String() == "http" && !given("http-port") {
			line += " --http-port 8080"
		}
		return "run: " + line
	case directory != nil && directory.Changed && !given("package") && strings.Contains(err.Error(), "--package"):
		if around := input.BundleAround(directory.Value.String()); around != "" {
			return fmt.Sprintf("the metadata in %s name both; give that directory: --directory %s", around, shell.Quote(around))
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

// isValue reports whether a text is the value of a flag.
func isValue(cmd *cobra.Command, flag, text string) bool {
	f := cmd.Flag(flag)
	return f != nil && f.Changed && f.Value.String() == text
}

// givenTexts returns the arguments of a command, and the values of its flags.
func givenTexts(cmd *cobra.Command) []string {
	texts := slices.Clone(cmd.Flags().Args())
	cmd.Flags().Visit(func(f *pflag.Flag) { texts = append(texts, givenTo(f)...) })
	return texts
}

// givenTo returns the values of a flag that is given, at least one.
func givenTo(f *pflag.Flag) []string {
	if all, ok := f.Value.(pflag.SliceValue); ok && len(all.GetSlice()) > 0 {
		return all.GetSlice()
	}
	return []string{f.Value.String()}
}
