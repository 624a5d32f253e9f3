package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// A Maker generates a bundle from a directory of manifests.
type Maker struct {
	Directory string // of the manifests; until Complete, also of a bundle
	Output    string // directory to copy the bundle to; "" generates it in place
	Labels    Labels
	Overwrite bool // replaces existing files with different content; without it, such a file is an error
}

// Root returns the bundle directory, the parent of manifests and metadata.
func (m *Maker) Root() string {
	return cmp.Or(m.Output, filepath.Dir(filepath.Clean(m.Directory)))
}

// Manifests returns the directory of the generated manifests.
func (m *Maker) Manifests() string {
	if m.Output == "" {
		return m.Directory
	}
	return filepath.Join(m.Output, manifestsDir)
}

// Metadata returns the directory of the generated metadata.
func (m *Maker) Metadata() string { return filepath.Join(m.Root(), metadataDir) }

// Complete checks the directories and completes the labels. It returns the inferred labels, each as "package: kiln".
func (m *Maker) Complete() (inferred []string, err error) {
	m.openBundle()
	if err := m.checkDirectories(); err != nil {
		return nil, fmt.Errorf("generate bundle: %w", err)
	}
	given, parent := m.Labels, filepath.Dir(m.Directory)
	labels, err := given.complete(os.DirFS(parent), filepath.Base(m.Directory))
	switch {
	case err == nil:
		m.Labels = labels
		return labels.inferred(given), nil
	case given.Package != "" && given.Channels != "":
		return nil, fmt.Errorf("generate bundle from %s: %w", m.Directory, err)
	}
	return nil, fmt.Errorf("infer package and channels from %s: %w; set --package and --channels", parent, err)
}

// openBundle handles a directory that is a bundle: its manifests replace the directory, and its metadata the missing
// labels.
func (m *Maker) openBundle() {
	manifests := filepath.Join(m.Directory, manifestsDir)
	if info, err := os.Stat(manifests); err != nil || !info.IsDir() || filepath.Base(m.Directory) == manifestsDir {
		return
	}
	found := annotated(os.DirFS(m.Directory))
	m.Directory = manifests
	l := &m.Labels
	if l.Package == "" && l.Channels == "" && found.Package != "" && found.Channels != "" {
		l.Package, l.Channels = found.Package, found.Channels
		l.DefaultChannel = cmp.Or(l.DefaultChannel, found.DefaultChannel)
	}
}

// checkDirectories returns an error unless the manifests directory has a parent and the output is outside of it. It
// replaces . and .. by the name of the directory.
func (m *Maker) checkDirectories() (err error) {
	m.Directory = filepath.Clean(m.Directory)
	if base := filepath.Base(m.Directory); base == "." || base == ".." {
		if m.Directory, err = filepath.Abs(m.Directory); err != nil {
			return err
		}
	}
	manifests, err := regular.Directory(m.Directory)
	switch {
	case err != nil:
		return err
	case filepath.Dir(m.Directory) == m.Directory:
		return fmt.Errorf("%q has no parent directory", m.Directory)
	case m.Output == "":
		return nil
	}
	inside, err := isWithin(m.Output, manifests)
	if inside {
		return fmt.Errorf("--output-dir %q is inside the manifests directory %q", m.Output, m.Directory)
	}
	return err
}

// isWithin reports whether a path, which need not exist, is dir or inside it.
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

// Generate creates or completes the bundle directory, after Complete. Without Overwrite, an existing annotations.yaml
// is kept if it has all labels; it may have other annotations. After an error, nothing is written.
func (m *Maker) Generate(ctx context.Context) error {
	opts := generateOptions{overwrite: m.Overwrite}
	if m.Output != "" {
		opts.manifests, opts.name = os.DirFS(m.Directory), filepath.Base(m.Directory)
	}
	return atomicfile.InDir(m.Root(), func(out *os.Root) error { return generate(ctx, m.Labels, out, opts) })
}

// Lost returns the files with dependencies and properties beside the manifests that the generated bundle does not have:
// into Output, Generate writes no metadata but annotations, as upstream does.
func (m *Maker) Lost() (files []string) {
	exists := func(file string) bool {
		_, err := os.Stat(file)
		return err == nil
	}
	for _, name := range []string{"dependencies.yaml", "properties.yaml"} {
		file := filepath.Join(filepath.Dir(m.Directory), metadataDir, name)
		if exists(file) && !exists(filepath.Join(m.Metadata(), name)) {
			files = append(files, file)
		}
	}
	return files
}

// Dockerfile returns the Dockerfile that builds the bundle in the current directory on a base image.
func (m *Maker) Dockerfile(base string) ([]byte, error) {
	manifests, errManifests := fromHere(m.Manifests())
	metadata, errMetadata := fromHere(m.Metadata())
	if err := errors.Join(errManifests, errMetadata); err != nil {
		return nil, err
	}
	return m.Labels.checkedDockerfile(base, manifests, metadata)
}

// fromHere returns a directory relative to the current one, with slashes.
func fromHere(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if dir, err = filepath.Rel(here, dir); err != nil {
			return "", err
		}
	}
	return filepath.ToSlash(filepath.Clean(dir)), nil
}

// Errors returns the problems of severity error in the generated bundle.
func (m *Maker) Errors() (found []*problem.Problem) {
	root := filepath.Join(m.Root(), manifestsDir)
	files := makerFiles{manifests: os.DirFS(m.Manifests()), metadata: os.DirFS(m.Metadata())}
	for _, p := range Check(files, m.Root(), CheckOptions{}) {
		if p.Severity != problem.Error {
			continue
		}
		if rest, ok := strings.CutPrefix(p.Pos.File, root); ok {
			p.Pos.File = m.Manifests() + rest
		}
		found = append(found, p)
	}
	return found
}

// makerFiles is the file system of a bundle whose manifests and metadata may be in directories with other names.
type makerFiles struct{ manifests, metadata fs.FS }

func (f makerFiles) Open(name string) (fs.File, error) {
	dir, name, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	return dir.Open(name)
}

// Stat returns the file info without opening the file: opening a named pipe blocks.
func (f makerFiles) Stat(name string) (fs.FileInfo, error) {
	dir, name, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(dir, name)
}

// find returns the directory that contains a file, and the name of the file in it.
func (f makerFiles) find(op, name string) (fs.FS, string, error) {
	dir, rest, _ := strings.Cut(name, "/")
	switch dir {
	case manifestsDir:
		return f.manifests, cmp.Or(rest, "."), nil
	case metadataDir:
		return f.metadata, cmp.Or(rest, "."), nil
	}
	return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
