package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
)

// maxHere is the maximum number of paths in a hint.
const maxHere = 5

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
			files = inputsIn(cmd, dir, input.Template)
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
			if input.EndsInSlash(path) {
				near = input.WithSlash(near)
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

// inputsIn returns the paths of a kind in a directory, nil if there are more than a hint can name.
func inputsIn(cmd *cobra.Command, dir string, kind input.Kind) []string {
	return pathsIn(dir, func(path string, e os.DirEntry) bool {
		return (e.IsDir() || kind == input.Template) && input.Of(cmd.Context(), path) == kind
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
