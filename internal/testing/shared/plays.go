package shared

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// archives are the archives of plays and their numbers of plays.
var archives = map[string]int{"plays": 68, "more-plays": 106}

// Plays returns the folders of all plays by name, such as hello/1: recordings of what OLM did in real clusters. They
// are unpacked for the test.
func Plays(t testing.TB) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for name, count := range archives {
		archive, root := Path(t, "data/olm-plays/"+name+".tar.xz"), t.TempDir()
		if out, err := exec.CommandContext(t.Context(), "tar", "-xJf", archive, "-C", root).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v\n%s", archive, err, out)
		}
		files, err := filepath.Glob(filepath.Join(root, "*", "*", "play.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			dir := filepath.Dir(file)
			dirs[filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir)] = dir
		}
		if len(files) != count {
			t.Errorf("%d plays in %s, want %d", len(files), archive, count)
		}
	}
	return dirs
}
