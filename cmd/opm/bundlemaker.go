package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

const bundleDockerfile = "bundle.Dockerfile"

// A bundleMaker makes the directory of a bundle and, if asked to, a Dockerfile.
type bundleMaker struct {
	directory string // of the manifests
	output    string // that the bundle is copied to; "" is where it is
	base      string // image
	labels    bundle.Labels
	overwrite bool
}

func (f *bundleMaker) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.directory, "directory", "d", "", "take the manifests of the bundle from `DIRECTORY`")
	flags.StringVarP(&f.labels.Package, "package", "p", "", "the bundle is of package `NAME`")
	flags.StringVarP(&f.labels.Channels, "channels", "c", "", "the bundle is in the channels `NAMES`, commas in between")
	flags.StringVarP(&f.labels.DefaultChannel, "default", "e", "", "`CHANNEL` for users who name none")
	flags.StringVarP(&f.output, "output-dir", "u", "", "copy the manifests to `DIRECTORY` and write the metadata there")
	flags.StringVar(&f.base, "base-image", "scratch", "build on `IMAGE`")
	must(cmd.MarkFlagRequired("directory"))
	must(cmd.MarkFlagDirname("directory"))
	must(cmd.MarkFlagDirname("output-dir"))
	completeNothing(cmd, "package", "channels", "default", "base-image")
}

// root returns the directory of the bundle, which holds manifests and metadata.
func (f *bundleMaker) root() string {
	return cmp.Or(f.output, filepath.Dir(filepath.Clean(f.directory)))
}

// manifests returns the directory of the manifests, once they are generated.
func (f *bundleMaker) manifests() string {
	if f.output == "" {
		return f.directory
	}
	return filepath.Join(f.output, "manifests")
}

func (f *bundleMaker) metadata() string { return filepath.Join(f.root(), "metadata") }

// generateForEngine writes the directory of the bundle and a Dockerfile into the current directory, as upstream does.
func (f *bundleMaker) generateForEngine(cmd *cobra.Command) error {
	text, err := f.dockerfile()
	if err != nil {
		return err
	}
	if err := f.generate(cmd); err != nil {
		return err
	}
	if found, err := os.ReadFile(bundleDockerfile); !f.overwrite && !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !bytes.Equal(found, text) {
			fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: %s exists and is taken as it is, though generate would write "+
				"another one; --overwrite writes that\n", bundleDockerfile)
		}
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	return atomicfile.Write(bundleDockerfile, atomicfile.Options{Replace: f.overwrite}, write)
}

// generate writes the directory of the bundle.
func (f *bundleMaker) generate(cmd *cobra.Command) error {
	opts := bundle.GenerateOptions{Overwrite: f.overwrite}
	if f.output != "" {
		opts.Manifests = os.DirFS(f.directory)
	}
	return inDirectory(f.root(), func(out *os.Root) error {
		return bundle.Generate(cmd.Context(), f.labels, out, opts)
	})
}

// check wants manifests in a directory that is in another one, and an output outside of it. The name of one that is .
// or .. it finds out.
func (f *bundleMaker) check() (err error) {
	f.directory = filepath.Clean(f.directory)
	if base := filepath.Base(f.directory); base == "." || base == ".." {
		if f.directory, err = filepath.Abs(f.directory); err != nil {
			return err
		}
	}
	manifests, err := directoryInfo(f.directory)
	switch {
	case err != nil:
		return err
	case filepath.Dir(f.directory) == f.directory:
		return fmt.Errorf("%q has nothing above it", f.directory)
	case f.output == "":
		return nil
	}
	inside, err := isWithin(f.output, manifests)
	if inside {
		return fmt.Errorf("--output-dir %q is in the directory of the manifests, %q", f.output, f.directory)
	}
	return err
}

// isWithin tells whether a path, of which the end need not exist, is a directory or leads into it.
func isWithin(name string, dir fs.FileInfo) (bool, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return false, err
	}
	path, err := filepath.EvalSymlinks(name)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(name) != name {
		name = filepath.Dir(name)
		path, err = filepath.EvalSymlinks(name)
	}
	for ; err == nil; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil || os.SameFile(info, dir) {
			return err == nil, err
		}
		if filepath.Dir(path) == path {
			return false, nil
		}
	}
	return false, err
}

// complete checks the directory and completes the labels. It tells what it infers.
func (f *bundleMaker) complete(w io.Writer) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("generate bundle: %w", err)
	}
	given := f.labels
	parent := filepath.Dir(f.directory)
	labels, err := given.Complete(os.DirFS(parent), filepath.Base(f.directory))
	if err != nil {
		if given.Package != "" && given.Channels != "" {
			return fmt.Errorf("generate bundle from %s: %w", f.directory, err)
		}
		return fmt.Errorf("infer package and channels from %s: %w (or name them: --package, --channels)", parent, err)
	}
	f.labels = labels
	for _, inferred := range []struct{ what, given, found string }{
		{"package", given.Package, labels.Package},
		{"channels", given.Channels, labels.Channels},
		{"default channel", given.DefaultChannel, labels.DefaultChannel},
	} {
		if inferred.given != inferred.found {
			fmt.Fprintf(w, "opm: inferred %s: %s\n", inferred.what, inferred.found)
		}
	}
	return nil
}

func (f *bundleMaker) dockerfile() ([]byte, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var names [2]string
	for i, dir := range []string{f.manifests(), f.metadata()} {
		if filepath.IsAbs(dir) {
			if dir, err = filepath.Rel(here, dir); err != nil {
				return nil, err
			}
		}
		names[i] = filepath.ToSlash(filepath.Clean(dir))
	}
	l := f.labels
	for _, word := range []string{f.base, l.Package, l.Channels, l.DefaultChannel, names[0], names[1]} {
		if strings.ContainsAny(word, " \t\r\n\"'\\$*?[]") {
			return nil, fmt.Errorf("write %s: it cannot name %q", bundleDockerfile, word)
		}
	}
	return l.Dockerfile(f.base, names[0], names[1]), nil
}
