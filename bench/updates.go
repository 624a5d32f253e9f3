//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// updateJob returns the row about at least this number of bundle updates. The bundles are the versions of operators in
// a directory, repeated with other names of packages and APIs as often as needed. They are written to dir.
func updateJob(operators, dir string, least int) (job, error) {
	if err := os.RemoveAll(dir); err != nil {
		return job{}, err
	}
	packages, err := versions(operators)
	if err != nil {
		return job{}, err
	}
	updates := 0
	for i := 0; updates < least; i++ {
		for _, pkg := range slices.Sorted(maps.Keys(packages)) {
			prefix := fmt.Sprintf("c%d", i)
			if err := renameBundles(packages[pkg], filepath.Join(dir, prefix+"-"+pkg), prefix); err != nil {
				return job{}, err
			}
			updates += len(packages[pkg]) - 1
		}
	}
	bundles, err := bundleDirs(dir)
	return job{
		name:  fmt.Sprintf("check-updates, %d updates of bundle directories", updates),
		shell: `"$@"; [ $? -le 1 ]`, // 1 is for updates that OLM refuses
		args:  append([]string{"check-updates"}, bundles...), ownFlags: true,
		budget: budget{time.Minute, 400 * mb},
	}, err
}

// versions returns the bundles of packages with more than one version.
func versions(operators string) (map[string][]string, error) {
	dirs, err := bundleDirs(operators)
	packages := map[string][]string{}
	for _, dir := range dirs {
		pkg := filepath.Base(filepath.Dir(dir))
		packages[pkg] = append(packages[pkg], dir)
	}
	maps.DeleteFunc(packages, func(_ string, all []string) bool { return len(all) == 1 })
	if err == nil && len(packages) == 0 {
		err = fmt.Errorf("no updates in %s", operators)
	}
	return packages, err
}

var (
	groupLine   = regexp.MustCompile(`(?m)^  group: "?([\w.-]+)"?$`)
	packageLine = regexp.MustCompile(`(operators\.operatorframework\.io\.bundle\.package\.v1: *"?)`)
)

// renameBundles copies the bundles of a package. Its name gets a prefix, and so do the groups of its APIs.
func renameBundles(dirs []string, target, prefix string) error {
	files := map[string][]byte{}
	groups := map[string]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(file)
			if bytes.Contains(text, []byte("kind: CustomResourceDefinition\n")) {
				for _, found := range groupLine.FindAllSubmatch(text, -1) {
					groups[string(found[1])] = true
				}
			}
			files[file] = text
			return err
		})
		if err != nil {
			return err
		}
	}
	for file, text := range files {
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			text = bytes.ReplaceAll(text, []byte(group), []byte(prefix+"."+group))
		}
		text = packageLine.ReplaceAll(text, []byte("${1}"+prefix+"-"))
		inPackage, err := filepath.Rel(filepath.Dir(dirs[0]), file)
		if err != nil {
			return err
		}
		copied := filepath.Join(target, inPackage)
		if err := os.MkdirAll(filepath.Dir(copied), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(copied, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
