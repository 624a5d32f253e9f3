package advice

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
)

// argumentAdvice returns a hint about arguments that are missing, or not of the kind that the usage line names, or "".
func argumentAdvice(cmd *cobra.Command, err error) string {
	args, names := cmd.Flags().Args(), argumentNames(cmd)
	if cmd.Flags().Changed("each") || cmd.Flags().Changed("rules") {
		return ""
	}
	inputs := make([]input.Kind, len(args))
	for i, arg := range args {
		inputs[i] = input.Of(cmd.Context(), arg)
	}
	at, of := slices.Index(names, "CATALOG"), slices.Index(names, "BUNDLE")
	part := slices.Index(inputs, input.Part)
	switch directory := cmd.Flag("directory"); {
	case len(args) == 0 && !strings.HasPrefix(err.Error(), "argument "): // it is about something else
	case len(args) == 0 && at == 0:
		return catalogsHere(cmd, "", nil, names, 0)
	case len(args) == 0 && slices.Contains(names, "STATE") && cmd.Name() != "diagnose": // which needs none
		return "STATE is a file or a directory with the objects of a cluster, or kube: for the current cluster; " +
			runHint(cmd, []string{"kube:"})
	case len(args) == 0:
	case cmd.Name() == "render-template" && slices.Contains(inputs, input.Catalog):
		return "it is a catalog; run: " + shell.Line("opm convert-template basic", args[slices.Index(inputs, input.Catalog)])
	case cmd.Name() == "mirror" && !cmd.Flags().Changed("to") && !cmd.Flags().Changed("to-dir"):
		more := []string{"--to-dir", "mirror"}
		if !cmd.Flags().Changed("dry-run") {
			more = append(more, "--dry-run")
		}
		return runHint(cmd, args, more...)
	case len(names) == 0 && directory != nil && !directory.Changed:
		return directoryAdvice(cmd, args[0], inputs[0])
	case part >= 0 && (part == of || strings.ContainsAny(cmd.Use, "(|") && strings.Contains(cmd.Use, "BUNDLE")):
		args = slices.Clone(args)
		args[part] = input.BundleAround(args[part])
		return runHint(cmd, args)
	case inputs[0] == input.Missing && cmd.HasParent() && cmd.Parent().Name() == "bundle":
		return bundlesHere(cmd, args[0], "")
	case at >= 0 && at < len(args) && (inputs[at] == input.Missing || of >= 0 && inputs[at] == input.Bundle || of == 0 &&
		inputs[of] == input.Catalog):
		return catalogAdvice(cmd, err, args, names, inputs, at)
	}
	return ""
}

// directoryAdvice returns a hint for the argument of a command without arguments, whose flag --directory names a
// bundle.
func directoryAdvice(cmd *cobra.Command, arg string, is input.Kind) string {
	const flag = " --directory "
	switch is {
	case input.Missing:
		return bundlesHere(cmd, arg, flag)
	case input.Part: // the metadata beside the manifests name the package and the channels
		arg = input.BundleAround(arg)
	}
	return "run: " + commandLine(cmd, nil) + flag + shell.Quote(arg)
}

// catalogAdvice returns a hint for arguments without a catalog at an index: to swap two arguments or, for a plain name,
// the catalogs of the working directory.
func catalogAdvice(cmd *cobra.Command, err error, args, names []string, inputs []input.Kind, at int) string {
	if i := slices.Index(inputs, input.Catalog); i >= 0 {
		if names[i%len(names)] == "FROM" { // CATALOG [FROM TO]
			return runHint(cmd, args[i:i+1], "--package", args[at])
		}
		args = slices.Clone(args)
		args[at], args[i] = args[i], args[at]
		return runHint(cmd, args)
	}
	about := isMissing(err) && strings.Contains(err.Error(), args[at]) || strings.HasPrefix(err.Error(), "argument ")
	if inputs[at] != input.Missing || !isPlain(args[at]) || !about || cmd.Flags().Changed("create") {
		return ""
	}
	return catalogsHere(cmd, args[at], args, names, at)
}

// isPlain reports whether a missing path is probably a name of something else, such as a package.
func isPlain(path string) bool {
	return !strings.ContainsAny(path, `/\.=`) && reference.Near(path) == ""
}

// catalogsHere returns a hint with the catalogs of the working directory, for arguments with name, or nothing, in place
// of the catalog at an index. If one of them was probably meant, the hint is the command with it.
func catalogsHere(cmd *cobra.Command, name string, args, names []string, at int) string {
	here := inputsIn(cmd, ".", input.Catalog)
	likely := slices.DeleteFunc(slices.Clone(here), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return name == "" || err != nil
	})
	switch {
	case len(likely) == 1:
		here = likely
	case len(here) > 1:
		return "CATALOG is a path or an image; a catalog in this directory is " + quotedAll(here)
	case here == nil:
		return ""
	}
	line := slices.Clone(args[:min(at, len(args))])
	line = append(line, here[0])
	next := at + 1
	flag := cmd.Flag("package")
	takesName := next < len(names) && (names[next] == "PACKAGE" || names[next] == "TEXT")
	switch {
	case name == "":
	case takesName && (len(args) == next || strings.Contains(cmd.Use, "PACKAGE...")):
		line = append(append(line, name), args[next:]...)
	case flag != nil && !flag.Changed && !takesName:
		return runHint(cmd, append(line, args[next:]...), "--package", name)
	case flag != nil && flag.Value.String() == name:
		line = append(line, args[next:]...)
	case len(args) > next:
		return "" // the line has no place for the name, and would be about other packages
	}
	return runHint(cmd, line)
}

// bundlesHere returns a hint with the bundle directories of the working directory for a missing one, or "". If there is
// one, the hint is the command with it, after the flag.
func bundlesHere(cmd *cobra.Command, name, flag string) string {
	here := inputsIn(cmd, ".", input.Bundle)
	switch {
	case here == nil || !isPlain(name) && flag == "":
		return ""
	case len(here) > 1:
		return "a bundle directory here is " + quotedAll(here)
	case flag == "":
		return "run: " + commandLine(cmd, here)
	}
	return "run: " + commandLine(cmd, nil) + flag + shell.Quote(here[0])
}

// argumentNames returns the names of the arguments in the usage line, up to the first flag or choice.
func argumentNames(cmd *cobra.Command) []string {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	if choice := strings.IndexAny(usage, "(|"); choice >= 0 {
		usage = usage[:strings.LastIndexByte(usage[:choice], ' ')+1]
	}
	return cmdline.ArgumentsOf(usage).Names
}
