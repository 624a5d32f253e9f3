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
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
)

const (
	bundleDockerfile = "bundle.Dockerfile"
	maxDockerfile    = 1 << 20
)

// A bundleMaker holds the flags of commands that generate a bundle directory and its Dockerfile.
type bundleMaker struct {
	directory string // of the manifests
	output    string // directory to copy the bundle to; "" generates it in place
	base      string // base image
	labels    bundle.Labels
	overwrite bool
}

func (f *bundleMaker) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.directory, "directory", "d", "", "`DIRECTORY` of the bundle, or of its manifests")
	flags.StringVarP(&f.labels.Package, "package", "p", "", "`NAME` of the package of the bundle")
	flags.StringVarP(&f.labels.Channels, "channels", "c", "", "comma-separated `NAMES` of the channels of the bundle")
	flags.StringVarP(&f.labels.DefaultChannel, "default", "e", "", "default `CHANNEL` of the package")
	flags.StringVarP(&f.output, "output-dir", "u", "", "copy the manifests to `DIRECTORY` and write the metadata there")
	flags.StringVar(&f.base, "base-image", "scratch", "base `IMAGE` of the bundle image")
	must(cmd.MarkFlagRequired("directory"))
	must(cmd.MarkFlagDirname("directory"))
	must(cmd.MarkFlagDirname("output-dir"))
	completeNothing(cmd, "package", "channels", "default", "base-image")
}

// root returns the bundle directory, the parent of manifests and metadata.
func (f *bundleMaker) root() string {
	return cmp.Or(f.output, filepath.Dir(filepath.Clean(f.directory)))
}

// manifests returns the directory of the generated manifests.
func (f *bundleMaker) manifests() string {
	if f.output == "" {
		return f.directory
	}
	return filepath.Join(f.output, "manifests")
}

func (f *bundleMaker) metadata() string { return filepath.Join(f.root(), "metadata") }

// generateForEngine writes the bundle directory, and a Dockerfile into the current directory as upstream does.
func (f *bundleMaker) generateForEngine(cmd *cobra.Command) error {
	text, err := f.dockerfile()
	if err != nil {
		return err
	}
	if err := f.generate(cmd); err != nil {
		return err
	}
	found, err := regular.ReadFile(os.DirFS("."), bundleDockerfile, maxDockerfile)
	if !f.overwrite && !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !bytes.Equal(found, text) {
			fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: building the existing %s, which differs from the generated one; "+
				"to replace it, add --overwrite\n", bundleDockerfile)
		}
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	if err := atomicfile.Write(bundleDockerfile, atomicfile.Options{Replace: f.overwrite}, write); err != nil {
		return err
	}
	f.wrote(cmd, bundleDockerfile, ".")
	return nil
}

// wrote reports the written file in upstream's words, which scripts wait for.
func (*bundleMaker) wrote(cmd *cobra.Command, name, dir string) {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "opm: Writing %s in %s\n", name, dir)
}

// generate writes the bundle directory.
func (f *bundleMaker) generate(cmd *cobra.Command) error {
	opts := bundle.GenerateOptions{Overwrite: f.overwrite}
	if f.output != "" {
		opts.Manifests, opts.Name = os.DirFS(f.directory), filepath.Base(f.directory)
	}
	err := inDirectory(f.root(), func(out *os.Root) error {
		return bundle.Generate(cmd.Context(), f.labels, out, opts)
	})
	if err == nil {
		f.wrote(cmd, "annotations.yaml", f.metadata())
	}
	return err
}

// check returns an error unless the manifests directory has a parent and the output is outside of it. It replaces . and
// .. by the name of the directory.
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
		return fmt.Errorf("%q has no parent directory", f.directory)
	case f.output == "":
		return nil
	}
	inside, err := isWithin(f.output, manifests)
	if inside {
		return fmt.Errorf("--output-dir %q is inside the manifests directory %q", f.output, f.directory)
	}
	return err
}

// openDirectory takes a bundle directory for its manifests, and what its metadata says for labels that are not given.
func (f *bundleMaker) openDirectory() {
	manifests := filepath.Join(f.directory, "manifests")
	if info, err := os.Stat(manifests); err != nil || !info.IsDir() || filepath.Base(f.directory) == "manifests" {
		return
	}
	annotated := bundle.Annotated(os.DirFS(f.directory))
	f.directory = manifests
	if f.labels.Package == "" && f.labels.Channels == "" && annotated.Package != "" && annotated.Channels != "" {
		f.labels.Package, f.labels.Channels = annotated.Package, annotated.Channels
		f.labels.DefaultChannel = cmp.Or(f.labels.DefaultChannel, annotated.DefaultChannel)
	}
}

// checkBundle warns of each problem of the generated bundle, or fails if strict.
func (f *bundleMaker) checkBundle(cmd *cobra.Command, strict bool) error {
	root := filepath.Join(f.root(), "manifests")
	files := bundleFiles{manifests: os.DirFS(f.manifests()), metadata: os.DirFS(f.metadata())}
	var wrong []*problem.Problem
	for _, p := range bundle.Check(files, f.root(), bundle.CheckOptions{}) {
		if p.Severity != problem.Error {
			continue
		}
		if wrong = append(wrong, p); !strict {
			p.Severity = problem.Warning
		}
		if rest, ok := strings.CutPrefix(p.Pos.File, root); ok {
			p.Pos.File = f.manifests() + rest
		}
		fmt.Fprintln(cmd.ErrOrStderr(), p)
	}
	if len(wrong) > 0 && strict {
		return failed(problem.Reason(wrong))
	}
	return nil
}

// bundleFiles are the files of a bundle, whose manifests may be in a directory of another name.
type bundleFiles struct{ manifests, metadata fs.FS }

func (f bundleFiles) Open(name string) (fs.File, error) {
	dir, name, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	return dir.Open(name)
}

// Stat returns the file info without opening the file: opening a named pipe blocks.
func (f bundleFiles) Stat(name string) (fs.FileInfo, error) {
	dir, name, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(dir, name)
}

// find returns the directory that a file is in, and its name there.
func (f bundleFiles) find(op, name string) (fs.FS, string, error) {
	dir, rest, _ := strings.Cut(name, "/")
	switch dir {
	case "manifests":
		return f.manifests, cmp.Or(rest, "."), nil
	case "metadata":
		return f.metadata, cmp.Or(rest, "."), nil
	}
	return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// complete checks the directory, completes the labels and prints the inferred labels.
func (f *bundleMaker) complete(w io.Writer) error {
	f.openDirectory()
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
		return fmt.Errorf("infer package and channels from %s: %w; set --package and --channels", parent, err)
	}
	f.labels = labels
	for _, inferred := range labels.Inferred(given) {
		fmt.Fprintf(w, "opm: inferred %s\n", inferred)
	}
	return nil
}

// dockerfile returns the Dockerfile that builds the bundle in the current directory.
func (f *bundleMaker) dockerfile() ([]byte, error) {
	manifests, errManifests := fromHere(f.manifests())
	metadata, errMetadata := fromHere(f.metadata())
	if err := errors.Join(errManifests, errMetadata); err != nil {
		return nil, err
	}
	text, err := f.labels.CheckedDockerfile(f.base, manifests, metadata)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", bundleDockerfile, err)
	}
	return text, nil
}

func bundleGenerateCmd(path string) *cobra.Command {
	f := bundleMaker{overwrite: true}
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the metadata and Dockerfile of a bundle",
		Long: `Write metadata/annotations.yaml next to the manifests directory of a bundle, or into
--output-dir, and bundle.Dockerfile into the current directory. Existing files are overwritten.

Without --package or --channels, opm infers them from the package manifest next to the manifests
directory: the channels are those whose updates include the bundle.`,
		Example: "  " + path + ` generate --directory bundle/manifests --package kiln --channels stable,beta --default stable
  ` + path + ` generate -d bundle/manifests -p kiln -c stable --output-dir kiln-bundle`,
		Args:              rangeArgs(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(cmd.ErrOrStderr()); err != nil {
				return err
			}
			return f.generateForEngine(cmd)
		},
	}
	f.addFlags(cmd)
	return cmd
}
