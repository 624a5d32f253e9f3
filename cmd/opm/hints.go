package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// argumentAdvice returns a hint about arguments that are missing, or not of the kind that the usage line names, or "".
func argumentAdvice(cmd *cobra.Command, err error) string {
	args, names := cmd.Flags().Args(), argumentNames(cmd)
	if cmd.Flags().Changed("each") || cmd.Flags().Changed("rules") {
		return ""
	}
	inputs := make([]input, len(args))
	for i, arg := range args {
		inputs[i] = inputOf(cmd.Context(), arg)
	}
	at, of := slices.Index(names, "CATALOG"), slices.Index(names, "BUNDLE")
	part := slices.Index(inputs, partInput)
	switch directory := cmd.Flag("directory"); {
	case len(args) == 0 && !strings.HasPrefix(err.Error(), "argument "): // it is about something else
	case len(args) == 0 && at == 0:
		return catalogsHere(cmd, "", nil, names, 0)
	case len(args) == 0 && slices.Contains(names, "STATE") && cmd.Name() != "diagnose": // which needs none
		return "STATE is a file or a directory with the objects of a cluster, or kube: for the current cluster; " +
			runHint(cmd, []string{"kube:"})
	case len(args) == 0:
	case cmd.Name() == "render-template" && slices.Contains(inputs, catalogInput):
		return "it is a catalog; run: " + shellLine("opm convert-template basic", args[slices.Index(inputs, catalogInput)])
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
		args[part] = bundleAround(args[part])
		return runHint(cmd, args)
	case inputs[0] == missingInput && cmd.HasParent() && cmd.Parent().Name() == "bundle":
		return bundlesHere(cmd, args[0], "")
	case at >= 0 && at < len(args) && (inputs[at] == missingInput || of >= 0 && inputs[at] == bundleInput || of == 0 &&
		inputs[of] == catalogInput):
		return catalogAdvice(cmd, err, args, names, inputs, at)
	}
	return ""
}

// directoryAdvice returns a hint for the argument of a command without arguments, whose flag --directory names a
// bundle.
func directoryAdvice(cmd *cobra.Command, arg string, is input) string {
	const flag = " --directory "
	switch is {
	case missingInput:
		return bundlesHere(cmd, arg, flag)
	case partInput: // the metadata beside the manifests name the package and the channels
		arg = bundleAround(arg)
	}
	return "run: " + commandLine(cmd, nil) + flag + shell.Quote(arg)
}

// catalogAdvice returns a hint for arguments without a catalog at an index: to swap two arguments or, for a plain name,
// the catalogs of the working directory.
func catalogAdvice(cmd *cobra.Command, err error, args, names []string, inputs []input, at int) string {
	if i := slices.Index(inputs, catalogInput); i >= 0 {
		if names[i%len(names)] == "FROM" { // CATALOG [FROM TO]
			return runHint(cmd, args[i:i+1], "--package", args[at])
		}
		args = slices.Clone(args)
		args[at], args[i] = args[i], args[at]
		return runHint(cmd, args)
	}
	about := isMissing(err) && strings.Contains(err.Error(), args[at]) || strings.HasPrefix(err.Error(), "argument ")
	if inputs[at] != missingInput || !isPlain(args[at]) || !about || cmd.Flags().Changed("create") {
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
	here := inputsIn(cmd, ".", catalogInput)
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

// runHint returns the hint to run the command with other arguments, its flags and more words; or "" if the arguments
// are fewer than the command requires.
func runHint(cmd *cobra.Command, args []string, more ...string) string {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	if !strings.Contains(usage, "(") && len(args) < cmdline.ArgumentsOf(usage).Least {
		return ""
	}
	return strings.TrimSuffix("run: "+commandLine(cmd, args)+" "+shell.Join(more...), " ")
}

// bundlesHere returns a hint with the bundle directories of the working directory for a missing one, or "". If there is
// one, the hint is the command with it, after the flag.
func bundlesHere(cmd *cobra.Command, name, flag string) string {
	here := inputsIn(cmd, ".", bundleInput)
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

// maxHere is the maximum number of paths in a hint.
const maxHere = 5

// inputsIn returns the paths of a kind in a directory, nil if there are more than a hint can name.
func inputsIn(cmd *cobra.Command, dir string, kind input) []string {
	return pathsIn(dir, func(path string, e os.DirEntry) bool {
		return (e.IsDir() || kind == templateInput) && inputOf(cmd.Context(), path) == kind
	})
}

// pathsIn returns the paths in a directory that match, in alphabetical order; nil if there are more than a hint can
// name. It looks at few of them, since the directory may be any.
func pathsIn(dir string, match func(path string, e os.DirEntry) bool) (paths []string) {
	entries, _ := os.ReadDir(dir) // no hint without it
	for _, e := range entries[:min(len(entries), 100)] {
		if path := filepath.Join(dir, e.Name()); match(path, e) {
			paths = append(paths, path)
		}
	}
	if len(paths) > maxHere {
		return nil
	}
	return paths
}

// quotedAll returns paths as an alternative: a, b or c.
func quotedAll(paths []string) string {
	var quoted []string
	for _, path := range paths {
		quoted = append(quoted, shell.Quote(path))
	}
	return cmdline.OneOf(quoted)
}

// fileAdvice returns a hint for a command whose last argument is a file, if that is missing or a directory: the files
// of the expected kind in the directory. It is "" if there are none, or if err is about an argument too many.
func fileAdvice(cmd *cobra.Command, err error) string {
	args := cmd.Flags().Args()
	if len(args) == 0 || strings.HasPrefix(err.Error(), "unexpected argument ") {
		return ""
	}
	path := args[len(args)-1]
	var dirs []string // to look in
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		dirs = []string{path, "."}
	case err == nil:
		return ""
	default:
		dirs = []string{filepath.Dir(path)}
		if near := reference.Near(path); near != "" {
			if info, err := os.Stat(near); err == nil && !info.IsDir() {
				return ""
			}
			dirs = []string{near}
		}
	}
	for _, dir := range dirs {
		var files []string
		switch cmd.Name() {
		case "render-template":
			files = inputsIn(cmd, dir, templateInput)
		case "compose":
			files = pathsIn(dir, func(path string, e os.DirEntry) bool {
				ext := filepath.Ext(path)
				if !e.Type().IsRegular() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
					return false
				}
				_, err := compose.ReadConfig(path)
				return err == nil
			})
		}
		switch {
		case len(files) == 1:
			return "run: " + commandLine(cmd, append(slices.Clone(args[:len(args)-1]), files[0]))
		case files != nil:
			return fmt.Sprintf("a file for opm %s is %s", cmd.Name(), quotedAll(files))
		}
	}
	return ""
}

// stateAdvice returns a hint for a catalog in place of the objects of a cluster, or "".
func stateAdvice(cmd *cobra.Command) string {
	states, flag := cmd.Flags().Args(), cmd.Flag("state")
	switch {
	case flag != nil:
		if paths, ok := flag.Value.(pflag.SliceValue); ok {
			states = paths.GetSlice()
		}
		if catalogs := cmd.Flags().Args(); len(catalogs) > 0 && flag.Changed {
			return contentsAdvice(cmd, catalogs[0], nil, states)
		}
	case !strings.Contains(cmd.Use, "STATE"):
		return ""
	}
	i := slices.IndexFunc(states, func(state string) bool { return inputOf(cmd.Context(), state) == catalogInput })
	if i < 0 {
		return ""
	}
	others := slices.Delete(slices.Clone(states), i, i+1)
	if flag != nil { // the line would have the catalog in --state, too
		return contentsAdvice(cmd, states[i], nil, nil)
	}
	return contentsAdvice(cmd, states[i], others, others)
}

// contentsAdvice returns the hint to give a catalog by --catalog: the command with other arguments, if the states have
// only one catalog.
func contentsAdvice(cmd *cobra.Command, catalog string, args, states []string) string {
	if name := onlyCatalog(cmd, states); name != "" && !cmd.Flags().Changed("catalog") {
		return "a catalog is the contents of a CatalogSource; " + runHint(cmd, args, "--catalog="+name+"="+catalog)
	}
	return "a catalog is the contents of a CatalogSource, given by --catalog=[NAMESPACE/]NAME=" + shell.Quote(catalog)
}

// onlyCatalog returns the name of the only CatalogSource or ClusterCatalog in files of a cluster, ignoring objects that
// cannot be read. It is "" if there are none or several, or for states that are not files.
func onlyCatalog(cmd *cobra.Command, states []string) string {
	if len(states) == 0 || slices.Contains(states, reference.Stdin) || slices.ContainsFunc(states, isLive) {
		return ""
	}
	opts := openOptions(cmd)
	opts.AnyDirectory = true
	files, err := render.Open(cmd.Context(), states, opts)
	if err != nil {
		return ""
	}
	defer files.Close()
	state, _ := cluster.Load(cmd.Context(), nil, files.Sources...)
	if state == nil || state.CatalogSources.Len()+state.ClusterCatalogs.Len() != 1 {
		return ""
	}
	for o := range state.CatalogSources.All() {
		return o.Value.Name
	}
	for o := range state.ClusterCatalogs.All() {
		return o.Value.Name
	}
	return ""
}

// argumentNames returns the names of the arguments in the usage line, up to the first flag or choice.
func argumentNames(cmd *cobra.Command) []string {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	if choice := strings.IndexAny(usage, "(|"); choice >= 0 {
		usage = usage[:strings.LastIndexByte(usage[:choice], ' ')+1]
	}
	return cmdline.ArgumentsOf(usage).Names
}

// commandLine returns the command with other arguments, its flags, and the flags of the usage line that are missing.
func commandLine(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range args {
		words = append(words, shell.Quote(arg))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, value := range givenTo(f) {
			word := "--" + f.Name
			if value == "" || value != f.NoOptDefVal {
				word += "=" + shell.Quote(value)
			}
			words = append(words, word)
		}
	})
	use, _, _ := strings.Cut(cmd.Use, "(") // flags after it are alternatives
	fields := strings.Fields(use)
	for i, word := range fields[:len(fields)-1] {
		if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flag(name) != nil && !cmd.Flags().Changed(name) {
			words = append(words, word, fields[i+1])
		}
	}
	return strings.Join(words, " ")
}

// missingAdvice returns a hint for a file that does not exist, with the name of a similar one beside it, or "".
func missingAdvice(cmd *cobra.Command, err error) string {
	text := err.Error()
	if strings.Contains(text, "did you mean") {
		return ""
	}
	paths := givenTexts(cmd)
	if e, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		paths = []string{e.Path}
	} else if !isMissing(err) {
		return ""
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); path == "" || err == nil || !strings.Contains(text, path) {
			continue
		}
		if near := reference.Near(strings.TrimSuffix(path, "/")); near != "" {
			if endsInSlash(path) {
				near = withSlash(near)
			}
			return fmt.Sprintf("did you mean %q?", near)
		}
		switch {
		case isValue(cmd, "config", path):
			return "without --config, the opm.yaml beside the catalog is read; it is described by: opm help opm.yaml"
		case isValue(cmd, "baseline", path) && cmd.Flag("write-baseline") != nil:
			return "run: " + commandLine(cmd, cmd.Flags().Args()) + " --write-baseline"
		}
	}
	return ""
}

// isMissing reports whether an error is about a file that does not exist.
func isMissing(err error) bool {
	text := err.Error()
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(text, "does not exist") ||
		strings.Contains(text, "no such file")
}

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
		if around := bundleAround(directory.Value.String()); around != "" {
			return fmt.Sprintf("the metadata in %s name both; give that directory: --directory %s", around, shell.Quote(around))
		}
	}
	return ""
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

// isValue reports whether a text is the value of a flag.
func isValue(cmd *cobra.Command, flag, text string) bool {
	f := cmd.Flag(flag)
	return f != nil && f.Changed && f.Value.String() == text
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
