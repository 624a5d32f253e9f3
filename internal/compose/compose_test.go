package compose_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestIncremental checks that a second run requests only digests, and renders only references whose tag has moved.
func TestIncremental(t *testing.T) {
	w := newWorld(t)
	w.push("a:v1", packages("1.0.0", "a"))
	w.push("b:v1", packages("1.0.0", "b"))
	refs := []string{"a", w.host + "/a:v1", "b", w.host + "/b:v1"}
	r, err := w.compose(refs...)
	w.want("a rendered, b rendered", r, err)
	pinned := w.host + "/b@" + r.References[1].Digest

	r, err = w.compose(refs...)
	w.want("a unchanged, b unchanged", r, err)
	slices.Sort(w.requests)
	if got, want := strings.Join(slices.Compact(w.requests), ", "),
		"GET /v2/, HEAD /v2/a/manifests/v1, HEAD /v2/b/manifests/v1"; got != want {
		t.Errorf("a second run requests %s, want %s", got, want)
	}

	w.push("a:v1", packages("2.0.0", "a"))
	r, err = w.compose(refs...)
	w.want("a rendered, b unchanged", r, err)
	if !strings.Contains(w.read("c/a/index.yaml"), "a.v2.0.0") || slices.ContainsFunc(w.requests, func(r string) bool {
		return strings.HasPrefix(r, "GET /v2/b/")
	}) {
		t.Errorf("requests: %q", w.requests)
	}

	// Another reference to the same image has the same content.
	r, err = w.compose("a", w.host+"/a:v1", "b", pinned)
	w.want("a unchanged, b unchanged", r, err)
	r, err = w.compose("b", pinned)
	w.want("b unchanged, a removed", r, err)
	if len(w.requests) != 0 {
		t.Errorf("a pinned image that is up to date requests %q", w.requests)
	}

	// Other settings render everything again, even if the result is the same.
	w.opts.Render.Changes.Migration = render.MigrateAll
	r, err = w.compose("b", pinned)
	w.want("b unchanged", r, err)
	if len(w.requests) == 0 {
		t.Error("other settings request nothing")
	}
}

// TestConflictEnds checks that a dropped package returns to a fragment when the other reference no longer has it.
func TestConflictEnds(t *testing.T) {
	w := newWorld(t)
	w.push("a:v1", packages("1.0.0", "shared", "a"))
	w.push("b:v1", packages("2.0.0", "shared", "b"))
	refs := []string{"a", w.host + "/a:v1", "b", w.host + "/b:v1"}
	if _, err := w.compose(refs...); err == nil || !strings.Contains(err.Error(),
		`c.yaml:4:20: error: references[1].image: package "shared" is already in reference "a" at `) {
		t.Fatalf("a conflict returns %v", err)
	}
	w.opts.Conflicts = compose.Last
	r, err := w.compose(refs...)
	w.want("a rendered, b rendered", r, err)
	if !slices.Equal(r.References[0].Dropped, []string{"shared"}) || !slices.Equal(r.References[0].Packages, []string{"a"}) ||
		strings.Contains(w.read("c/a/index.yaml"), "shared") {
		t.Errorf("the first reference has %+v", r.References[0])
	}
	r, err = w.compose(refs...)
	w.want("a unchanged, b unchanged", r, err)

	w.push("b:v1", packages("3.0.0", "b"))
	r, err = w.compose(refs...)
	w.want("a rendered, b rendered", r, err)
	if !strings.Contains(w.read("c/a/index.yaml"), "shared.v1.0.0") {
		t.Error("the package did not come back")
	}
	w.push("b:v1", packages("2.0.0", "shared", "b"))
	w.opts.Conflicts = compose.First
	r, err = w.compose(refs...)
	w.want("a unchanged, b rendered", r, err)
}

// TestInterrupted checks that a run completes the work of a run that was killed at any step.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.push("a:v1", packages("1.0.0", "a"))
	w.write("b/catalog.yaml", packages("1.0.0", "b"))
	refs := []string{"a", w.host + "/a:v1", "b", "b"}
	_, err := w.compose(refs...)
	if err != nil {
		t.Fatal(err)
	}
	old := w.read("c.compose.json")
	w.push("a:v1", packages("2.0.0", "a"))
	w.write("b/catalog.yaml", packages("2.0.0", "b"))
	if _, err = w.compose(refs...); err != nil {
		t.Fatal(err)
	}
	done := w.read("c.compose.json")
	digests := func(record string) (all []string) {
		for line := range strings.Lines(record) {
			if _, digest, ok := strings.Cut(line, `"digest": `); ok {
				all = append(all, strings.Trim(digest, "\",\n"))
			}
		}
		return all
	}
	before, after := digests(old), digests(done) // digests of the Dockerfile, a and b
	changing := `{"files": [
	{"path": "c.Dockerfile", "digest": "` + before[0] + `"},
	{"path": "c/a/index.yaml", "digest": "` + before[1] + `", "next": "` + after[1] + `"},
	{"path": "c/b/index.yaml", "digest": "` + before[2] + `", "next": "` + after[2] + `"}]}`

	// The run was killed between the last file and the record, and then the source changed again.
	w.write("c.compose.json", changing)
	w.write(".c.compose/a/index.yaml", "rest of an old run")
	w.write("b/catalog.yaml", packages("3.0.0", "b"))
	r, err := w.compose(refs...)
	w.want("a unchanged, b rendered", r, err)

	// The run was killed before it wrote all files, or any file: Overwrite is not needed.
	w.write("b/catalog.yaml", packages("2.0.0", "b"))
	for _, missing := range []string{"c/a/index.yaml", "c/b/index.yaml", "c.Dockerfile"} {
		if _, err := w.compose(refs...); err != nil {
			t.Fatal(err)
		}
		w.write("c.compose.json", changing)
		if err := os.Remove(filepath.Join(w.dir, missing)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.compose(refs...); err != nil {
			t.Fatal(err)
		}
		if got := w.read("c.compose.json"); got != done {
			t.Errorf("the record is\n%s\nwant\n%s", got, done)
		}
	}

	// A file with a digest that is not in the record belongs to someone else.
	w.write("c.compose.json", changing)
	w.write("c/b/index.yaml", "# by hand\n")
	if _, err := w.compose(refs...); err == nil || !strings.Contains(err.Error(), "was changed since compose wrote it") {
		t.Errorf("a file that was changed by hand returns %v", err)
	}
	w.clean()
}

func TestTwoRuns(t *testing.T) {
	w := newWorld(t)
	w.write("a/catalog.yaml", packages("1.0.0", "a"))
	w.write(".c.compose/a/index.yaml", "")
	unlock, err := atomicfile.LockDir(filepath.Join(w.dir, ".c.compose"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.compose("a", "a"); err == nil || !strings.Contains(err.Error(), "another opm compose is writing the catalog ") {
		t.Errorf("a second run returns %v", err)
	}
	w.opts.DryRun = true
	if _, err := w.compose("a", "a"); err != nil {
		t.Errorf("a dry run beside another run: %v", err)
	}
	w.opts.DryRun = false
	unlock()
	r, err := w.compose("a", "a")
	w.want("a rendered", r, err)
}

// TestLinks checks that links in the catalog cannot lead out of the directory.
func TestLinks(t *testing.T) {
	w := newWorld(t)
	w.write("a/catalog.yaml", packages("1.0.0", "a"))
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(w.dir, "c")); err != nil {
		t.Skip(err)
	}
	if _, err := w.compose("a", "a"); err == nil {
		t.Error("a catalog elsewhere is written")
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("the other directory has %v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "c")), os.Mkdir(filepath.Join(w.dir, "c"), 0o777),
		os.Symlink(filepath.Join(w.dir, "a"), filepath.Join(w.dir, "c", "a"))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.compose("a", "a"); err == nil {
		t.Error("a fragment through a link out of the directory is written")
	}
	w.clean()
}

func TestProblems(t *testing.T) {
	w := newWorld(t)
	w.write("a/catalog.yaml", strings.Replace(packages("1.0.0", "a"), "a.v1.0.0}]", "a.v2.0.0}]", 1))
	_, err := w.compose("a", "a")
	var wrong *compose.ProblemsError
	if !errors.As(err, &wrong) || !problem.HasErrors(wrong.Problems) || wrong.Problems[0].Rule == "" {
		t.Errorf("an invalid fragment returns %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "c")); err == nil {
		t.Error("an invalid catalog is written")
	}
	w.clean()
}

// FuzzParseConfig checks that a valid config has safe directory names, and that every mistake has a position.
func FuzzParseConfig(f *testing.F) {
	f.Add("name: c\nrepo: r.example/c\ntag: v1\nreferences:\n- {name: a, image: b}\n")
	f.Add("name: ../c\nreferences: [{name: a}, {name: A, image: 1}]\nconflicts: x\n")
	f.Add(`{"name": "c", "references": [{"name": "a/b", "image": "i", "x": 1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := compose.ParseConfig("c.yaml", []byte(text))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "c.yaml:") {
					t.Errorf("an error without a place: %q", line)
				}
			}
			return
		}
		for _, r := range append(c.References, compose.Reference{Name: c.Name, Image: "i"}) {
			if !filepath.IsLocal(r.Name) || filepath.Base(r.Name) != r.Name || strings.HasPrefix(r.Name, ".") || r.Image == "" {
				t.Errorf("reference %+v", r)
			}
		}
	})
}

// TestManyMistakes checks that finding the positions of many mistakes takes one pass.
func TestManyMistakes(t *testing.T) {
	const references = 20_000
	text := "name: c\nreferences:\n" + strings.Repeat("- {name: a, image: b}\n", references)
	_, err := compose.ParseConfig("c.yaml", []byte(text))
	if many, ok := err.(interface{ Unwrap() []error }); !ok || len(many.Unwrap()) != references-1 {
		t.Error("not every repeated name is reported")
	}
}
