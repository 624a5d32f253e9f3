//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// data is the set of paths of the catalogs.
type data struct {
	dir  string
	big  string // the catalog, a directory of JSON files
	yaml string // the same bundles in one YAML file
}

func dataIn(dir string) data {
	return data{
		dir:  dir,
		big:  filepath.Join(dir, "big-catalog"),
		yaml: filepath.Join(dir, "big.yaml"),
	}
}

// times returns the path of the catalog with n copies of the big one, whose packages have other names.
func (d data) times(n int) string {
	if n == 1 {
		return d.big
	}
	return fmt.Sprintf("%s-x%d", d.big, n)
}

// shape returns the path of the catalog with this shape.
func (d data) shape(s shape) string {
	return filepath.Join(d.dir, strings.ReplaceAll(s.name, " ", "-"))
}

// prepare creates the missing data for the rows of the budget, or for the rows of growth if grown is set. Each file or
// directory appears complete, so an interrupted run does no harm.
func (d data) prepare(program, archive string, grown bool) error {
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return err
	}
	type step struct {
		target string
		make   func(target string) error
	}
	steps := []step{
		{d.big, func(target string) error { return unpack(archive, target) }},
		{d.yaml, func(target string) error { return renderYAML(program, d.big, target) }},
	}
	times, shapes := []int{4}, []shape(nil)
	if grown {
		times, shapes = growthTimes, largeShapes
	}
	for _, n := range times {
		steps = append(steps, step{d.times(n), func(target string) error { return multiply(d.big, target, n) }})
	}
	for _, s := range shapes {
		steps = append(steps, step{d.shape(s.tenth()), s.tenth().write}, step{d.shape(s), s.write})
	}
	for _, step := range steps {
		_, err := os.Stat(step.target)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintln(os.Stderr, "bench: making", step.target)
		part := step.target + ".part"
		if err := os.RemoveAll(part); err != nil {
			return err
		}
		if err := step.make(part); err != nil {
			return fmt.Errorf("make %s: %w", step.target, err)
		}
		if err := os.Rename(part, step.target); err != nil {
			return err
		}
	}
	return nil
}

// unpack extracts an archive with a single directory, which becomes target.
func unpack(archive, target string) error {
	if err := os.Mkdir(target, 0o777); err != nil {
		return err
	}
	tar := exec.Command("tar", "-xJf", archive, "-C", target, "--strip-components=1")
	tar.Stderr = os.Stderr
	return tar.Run()
}

func renderYAML(program, catalog, target string) error {
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer out.Close()
	render := exec.Command(program, "render", "-o", "yaml", catalog)
	render.Stdout, render.Stderr = out, os.Stderr
	if err := render.Run(); err != nil {
		return err
	}
	return out.Close()
}

// multiply writes several copies of a catalog with one directory per package. Each copy has package names of its own.
func multiply(catalog, target string, copies int) error {
	packages, err := os.ReadDir(catalog)
	if err != nil {
		return err
	}
	for _, p := range packages {
		content, err := os.ReadFile(filepath.Join(catalog, p.Name(), "catalog.json"))
		if err != nil {
			return err
		}
		for i := range copies {
			name := p.Name()
			if i > 0 {
				name = fmt.Sprintf("%s-%d", name, i+1)
			}
			renamed, err := rename(content, p.Name(), name)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name(), err)
			}
			dir := filepath.Join(target, name)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "catalog.json"), renamed, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// size returns the number of bytes of a file, or of all files of a directory.
func size(path string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum += info.Size()
		return nil
	})
	return sum, err
}
