package render_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// operators returns the directories of real bundles.
func operators(t testing.TB) []string {
	t.Helper()
	dirs := shared.Glob(t, "data/operators/*/*/manifests")
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// TestOperators checks that real bundles render to the same objects from a directory, a registry, an OCI layout and an
// archive, with any number of jobs.
func TestOperators(t *testing.T) {
	dirs := shared.Sample(operators(t), 10)
	r := newRegistry(t)
	saved := t.TempDir()
	opts := withImages(t, "")
	opts.Bundles.ImageRef = template.Must(template.New("").Parse("example.com/{{.Package}}:{{.Version}}"))
	var images, layouts, archives []string
	for i, dir := range dirs {
		img, err := image.Build(image.BuildOptions{
			Labels: map[string]string{image.LabelPackage: "p"},
			Contents: []image.Content{
				{Source: os.DirFS(dir), Dir: "manifests", Target: "manifests"},
				{Source: os.DirFS(dir), Dir: "metadata", Target: "metadata"},
			},
			Platform: "linux/amd64",
		})
		if err != nil {
			t.Fatal(err)
		}
		n := strconv.Itoa(i)
		images = append(images, r.push(t, "bundle"+n, img))
		layouts = append(layouts, "oci:"+filepath.Join(saved, n))
		if err := image.WriteLayout(img, filepath.Join(saved, n), "v1"); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(saved, n+".tar"))
		if err != nil {
			t.Fatal(err)
		}
		if err := image.WriteArchive(f, img, "v1"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		archives = append(archives, f.Name())
	}
	run := func(refs []string, jobs int) string {
		t.Helper()
		opts.Jobs = jobs
		out, err := rendered(t.Context(), refs, opts, render.MigrateNone, "")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := run(dirs, 0)
	if n := strings.Count(want, `"schema": "olm.bundle"`); n != len(dirs) {
		t.Fatalf("%d bundles rendered of %d", n, len(dirs))
	}
	for _, jobs := range []int{1, 16} {
		if run(dirs, jobs) != want {
			t.Errorf("with %d jobs the output is another", jobs)
		}
	}
	if run(layouts, 0) != want || run(archives, 0) != want {
		t.Error("layouts or archives give something else")
	}

	// The reference of an image determines its own related image and the position of that.
	for i, ref := range images {
		opts.Bundles.ImageRef = template.Must(template.New("").Parse(ref))
		if run([]string{ref}, 0) != run([]string{dirs[i]}, 0) {
			t.Errorf("the image of %s gives something else", dirs[i])
		}
	}
}
