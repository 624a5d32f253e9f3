// Package shared finds test data outside the repository: published catalogs and operators, and the output of upstream
// for them, in the directory shared next to the repository. Without the directory a test is skipped; with it, a test
// whose data are missing fails if it should read all of them.
//
// Tests read a sample of large data, always the same one, and try a small number of random cases. With OPM_TESTS=full,
// as in make check, they read all data and try many.
package shared

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file or directory in ../shared, relative to the directory of the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(dir(t), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		Missing(t, path)
	}
	return path
}

// Glob returns the sorted paths in ../shared that match a pattern, at least one.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	pattern = filepath.Join(dir(t), filepath.FromSlash(pattern))
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		Missing(t, pattern)
	}
	return paths
}

// Catalogs returns the directories of the published catalogs, named after their platforms, with a directory for each
// package. For a sample, they are copies of a few packages. Benchmarks read all of them.
func Catalogs(t testing.TB) []string {
	t.Helper()
	dirs := Glob(t, "data/catalogs/v*")
	if _, benchmark := t.(*testing.B); benchmark || Full() {
		return dirs
	}
	root := t.TempDir()
	for i, dir := range dirs {
		few := filepath.Join(root, filepath.Base(dir))
		for _, pkg := range fewPackages {
			from := filepath.Join(dir, pkg)
			if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
				continue // in another catalog
			}
			if err := os.CopyFS(filepath.Join(few, pkg), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		dirs[i] = few
	}
	return dirs
}

// CatalogFiles returns the sorted paths of the files in [Catalogs].
func CatalogFiles(t testing.TB) (files []string) {
	t.Helper()
	for _, dir := range Catalogs(t) {
		some, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	return files
}

// Catalog is [Catalogs] for one platform, such as v4.20.
func Catalog(t testing.TB, platform string) string {
	t.Helper()
	for _, dir := range Catalogs(t) {
		if filepath.Base(dir) == platform {
			return dir
		}
	}
	Missing(t, "data/catalogs/"+platform)
	return ""
}

// fewPackages are a tenth of the bytes of the published catalogs, with bundles in both forms and with dependencies.
var fewPackages = []string{
	"alloydb-omni-operator", "ecr-secret-operator", "infinispan", "kairos-operator", "kepler-operator",
	"rabbitmq-cluster-operator", "rabbitmq-messaging-topology-operator", "trident-operator", "visionone-containersecurity",
}

// Missing skips a test that needs a file or a program. It fails the test if it should read all data and the directory
// shared exists, as in CI, where no test is skipped.
func Missing(t testing.TB, what string) {
	t.Helper()
	if _, err := os.Stat(dir(t)); err == nil && Full() {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("needs %s", what)
}

// Full reports whether tests read all data, not a sample.
func Full() bool { return os.Getenv(variable) == "full" }

const variable = "OPM_TESTS"

// OnlyFull skips a long test, which a sample of its data would not make short, unless tests read all data.
func OnlyFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skipf("takes long; run it with %s=full", variable)
	}
}

// OneGoroutine skips a long test of one goroutine under the race detector, which would take ten times as long to find
// nothing.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if underRace {
		t.Skip("has one goroutine")
	}
}

// Number returns the number of cases of a test: all, or few for a sample. The race detector needs only some of the few,
// and is ten times slower.
func Number(all, few int) int {
	switch {
	case Full():
		return all
	case underRace:
		return max(few/10, 1)
	}
	return few
}

// Step returns the distance between the cases of a list that a test tries: short for all data, or long for a sample.
func Step(short, long int) int {
	switch {
	case Full():
		return short
	case underRace:
		return 10 * long
	}
	return long
}

// Sample returns all elements of a list or, for a sample, few of them at equal distances, the first included.
func Sample[T any](list []T, few int) []T {
	if underRace {
		few = max(few/10, 1)
	}
	if Full() || len(list) <= few {
		return list
	}
	sample := make([]T, few)
	for i := range sample {
		sample[i] = list[i*len(list)/few]
	}
	return sample
}

// SetBytes sets the bytes per iteration of a benchmark that reads all files of fsys.
func SetBytes(b *testing.B, fsys fs.FS) {
	b.Helper()
	var n int64
	err := fs.WalkDir(fsys, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n)
}

// dir returns the path of the directory shared.
func dir(t testing.TB) string {
	t.Helper()
	for root := "."; ; root = filepath.Join(root, "..") {
		if _, err := os.Stat(filepath.Join(root, "internal", "testing", "shared")); err == nil {
			return filepath.Join(root, "..", "shared")
		}
		if abs, err := filepath.Abs(root); err != nil || abs == filepath.Dir(abs) {
			t.Fatalf("the test does not run in a checkout of the repository: %v", err)
		}
	}
}
