//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/opm-toolchain/opm/internal/plural"
)

// Inputs are the files that lines read.
type inputs struct {
	root    string   // of the repository
	dir     string   // temporary, for everything
	work    string   // the directory that is copied for each run, with links to data
	data    string   // the files that all runs read in place
	hasData bool     // the directory shared exists
	bundles []string // the bundle directories in it
}

// archives lists the archives of data, by the directory in shared that a line finds their files in.
var archives = map[string]string{
	"plays": "olm-plays/plays.tar.xz", "more": "olm-plays/more-plays.tar.xz", "cases": "reports/cases.tar.xz",
}

// prepare collects the inputs below a directory: the examples and the files that the help texts name, the files of the
// scripts that test the commands, and the data in shared. All are copies, so that no line can change the originals.
func prepare(ctx context.Context, dir, root, shared string, stderr io.Writer) (*inputs, error) {
	in := &inputs{root: root, dir: dir, work: filepath.Join(dir, "examples"), data: filepath.Join(dir, "data")}
	if err := in.copyExamples(); err != nil {
		return nil, err
	}
	if err := in.unpackScripts(); err != nil {
		return nil, err
	}
	switch _, err := os.Stat(shared); {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(stderr, "compare: there is no %s: only lines about the examples are run\n", shared)
		return in, nil
	case err != nil:
		return nil, err
	}
	in.hasData = true
	return in, in.copyShared(ctx, filepath.Join(shared, "data"))
}

// helpFiles are the files that help texts name and that the examples do not have.
var helpFiles = map[string]string{
	"auth.json": "{}",
	"README.md": "# My operator\n",
	"icon.svg":  `<svg xmlns="http://www.w3.org/2000/svg"></svg>`,
	"mirrors.yaml": `apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: crafts
spec:
  imageDigestMirrors:
  - source: registry.example
    mirrors: [mirror.example]
`,
}

func (in *inputs) copyExamples() error {
	if err := os.CopyFS(in.work, os.DirFS(filepath.Join(in.root, "examples"))); err != nil {
		return err
	}
	for name, content := range helpFiles {
		if err := os.WriteFile(filepath.Join(in.work, name), []byte(content), 0o666); err != nil {
			return err
		}
	}
	return writeLayout(filepath.Join(in.work, "bundle"), filepath.Join(in.work, "layout"), "v2.0.0")
}

// unpackScripts writes the files in the scripts of cmd/opm, as scripts/NAME.
func (in *inputs) unpackScripts() error {
	files, err := scriptFiles(in.root)
	if err != nil {
		return err
	}
	for _, file := range files {
		script, err := txtar.ParseFile(file)
		if err != nil {
			return err
		}
		dir := filepath.Join(in.data, "scripts", scriptName(file))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := txtar.Write(script, dir); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return os.Symlink(filepath.Join(in.data, "scripts"), filepath.Join(in.work, "scripts"))
}

// copyShared copies the directories of data, and unpacks its archives.
func (in *inputs) copyShared(ctx context.Context, data string) error {
	shared := filepath.Join(in.data, "shared")
	for _, name := range []string{"catalogs", "catalog-templates", "operators", "resolver"} {
		if err := copyWritable(filepath.Join(shared, name), filepath.Join(data, name)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(archives)) {
		dir := filepath.Join(shared, name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		tar := exec.CommandContext(ctx, "tar", "-xJf", filepath.Join(data, archives[name]), "-C", dir)
		if out, err := tar.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", tar, err, out)
		}
	}
	if err := os.Symlink(shared, filepath.Join(in.work, "shared")); err != nil {
		return err
	}
	var err error
	in.bundles, err = filepath.Glob(filepath.Join(shared, "operators", "*", "*"))
	if err != nil {
		return err
	}
	return in.rewriteTemplates()
}

// copyWritable copies a directory whose files may be read-only.
func copyWritable(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if e.IsDir() {
			return os.MkdirAll(target, 0o777)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o666)
	})
}

// imageOfTemplate matches an image in a template.
var imageOfTemplate = regexp.MustCompile(`(?i)\bimage: *\n? *\S+`)

// rewriteTemplates replaces the images in the templates, absent from all registries, by images of [newSeeds]. One
// image gets one replacement in all templates.
func (in *inputs) rewriteTemplates() error {
	files, err := filepath.Glob(filepath.Join(in.data, "shared", "catalog-templates", "*", "*"))
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = imageOfTemplate.ReplaceAllFunc(text, func(field []byte) []byte {
			ref := string(bytes.Fields(field)[1])
			if known[ref] == "" {
				known[ref] = "registry.example/" + bundleTag(in.bundles[len(known)%len(in.bundles)])
			}
			return []byte("image: " + known[ref])
		})
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// listData returns the size and the modification time of the data that all runs share, by file.
func (in *inputs) listData() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(in.data, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			files[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	return files, err
}

// checkData returns an error if a line changed the data that all runs share.
func (in *inputs) checkData(before map[string]string) error {
	after, err := in.listData()
	if err != nil {
		return err
	}
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(union(before, after))) {
		if before[path] != after[path] {
			name, err := filepath.Rel(in.data, path)
			if err != nil {
				return err
			}
			changed = append(changed, name)
		}
	}
	if changed != nil {
		return fmt.Errorf("a line changed what is for all lines: let it make a copy first: %s", plural.Some(changed))
	}
	return nil
}
