package render_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

const (
	channel = "schema: olm.channel\npackage: a\nname: c\nentries: []\n"
	pkg     = `{"schema":"olm.package","name":"a"}`

	both = `{
    "schema": "olm.package",
    "name": "a",
    "defaultChannel": ""
}
{
    "schema": "olm.channel",
    "name": "c",
    "package": "a",
    "entries": []
}
`
)

// TestReferences renders the same objects from all kinds of references.
func TestReferences(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "catalog/a.yaml", channel)
	write(t, dir, "catalog/sub/b.json", pkg)
	write(t, dir, "catalog/.indexignore", "*.md\n")
	write(t, dir, "catalog/README.md", "# words")
	files := []string{"./a.yaml", channel, "sub/b.json", pkg, "c.md", "# words", ".indexignore", "*.md"}
	write(t, dir, "plain", archived(t, false, files...))
	write(t, dir, "compressed", archived(t, true, files...))
	write(t, dir, "one", channel+"---\n"+pkg)
	for _, tt := range []struct {
		name  string
		refs  []string
		stdin string
	}{
		{"a directory", []string{"catalog"}, ""},
		{"a directory with a slash", []string{"catalog/"}, ""},
		{"files", []string{"catalog/a.yaml", "catalog/sub/b.json"}, ""},
		{"a file and a directory", []string{"catalog/a.yaml", "catalog/sub"}, ""},
		{"an archive", []string{"plain"}, ""},
		{"a compressed archive", []string{"compressed"}, ""},
		{"one file", []string{"one"}, ""},
		{"standard input", []string{"-"}, channel + "---\n" + pkg},
		{"an archive on standard input", []string{"-"}, archived(t, false, files...)},
		{"a compressed archive on standard input", []string{"-"}, archived(t, true, files...)},
		{"standard input and a file", []string{"-", "catalog/sub/b.json"}, channel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(dir)
			opts := render.Options{Stdin: strings.NewReader(tt.stdin)}
			got, err := rendered(t.Context(), tt.refs, opts, "", declcfg.JSON)
			if err != nil || got != both {
				t.Errorf("%v\n%s\nwant\n%s", err, got, both)
			}
		})
	}
}

func TestPlacesBeginWithReferences(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "catalog/x/a.yaml", "schema: 1\n")
	write(t, dir, "a.yaml", "schema: 1\n")
	write(t, dir, "b.tgz", archived(t, true, "x/a.yaml", "schema: 1\n"))
	t.Chdir(dir)
	for ref, want := range map[string]string{
		"catalog":   "catalog/x/a.yaml:1:9: schema must be a string, found a number; put it in quotes",
		"catalog/":  "catalog/x/a.yaml:1:9: schema must be a string, found a number; put it in quotes",
		"./a.yaml":  "./a.yaml:1:9: schema must be a string, found a number; put it in quotes",
		"b.tgz":     "b.tgz/x/a.yaml:1:9: schema must be a string, found a number; put it in quotes",
		"-":         "stdin:1:9: schema must be a string, found a number; put it in quotes",
		".":         "./a.yaml:1:9: schema must be a string, found a number; put it in quotes",
		"catalog/x": "catalog/x/a.yaml:1:9: schema must be a string, found a number; put it in quotes",
	} {
		opts := render.Options{Stdin: strings.NewReader("schema: 1\n")}
		if _, err := rendered(t.Context(), []string{ref}, opts, "", ""); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ref, err, want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "file", "schema: s\n")
	write(t, dir, "layout/oci-layout", "{}")
	cut := archived(t, true, "a.yaml", strings.Repeat("schema: s\n", 1000))
	write(t, dir, "cut.tgz", cut[:len(cut)/2])
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("line is dead")
	for _, tt := range []struct {
		refs  []string
		stdin io.Reader
		want  string
	}{
		{[]string{"none"}, nil, `open "none": no such file or directory`},
		{[]string{""}, nil, `open "": no such file or directory`},
		{[]string{"file/x"}, nil, `open "file/x": not a directory`},
		{[]string{"loop"}, nil, `open "loop": too many levels of symbolic links`},
		{[]string{"-"}, nil, `open "-": standard input is not accepted here`},
		{[]string{"-"}, &failingReader{broken}, "read stdin: line is dead"},
		{[]string{"cut.tgz"}, nil, `open archive "cut.tgz": `},
		{[]string{"file", "cut.tgz", "none"}, nil, `open archive "cut.tgz": `},
		{[]string{"-", "file", "-"}, strings.NewReader(""), `"-" is given twice: standard input can be read only once`},
		{[]string{"layout"}, nil, `open "layout": it is an OCI layout; use oci:layout`},
	} {
		c, err := render.Open(t.Context(), tt.refs, render.Options{Stdin: tt.stdin})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || c != nil {
			t.Errorf("%q: %v, %v, want %s", tt.refs, c, err, tt.want)
		}
	}
}

// TestLimits checks that untrusted or endless input is limited.
func TestLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	long := "schema: s\nname: " + strings.Repeat("x", 3<<20) + "\n"
	write(t, ".", "a/a.yaml", long)
	write(t, ".", "a.tar", archived(t, false, "a.yaml", long))
	write(t, ".", "a.tgz", archived(t, true, "a.yaml", long))
	write(t, ".", "many.tgz", archived(t, true, "a.yaml", "schema: s\n", "b.yaml", "schema: s\n", "c.yaml", "schema: s\n"))
	object, unpacked, files := render.Options{MaxObject: 2 << 20}, render.Options{}, render.Options{}
	unpacked.Limits.Unpacked, files.Limits.Files = 2<<20, 2
	for _, tt := range []struct {
		ref   string
		opts  render.Options
		stdin io.Reader
		want  string
	}{
		{"a", object, nil, "a/a.yaml:1:1: the object has more than 2 MB"},
		{"a/a.yaml", object, nil, "a/a.yaml:1:1: the object has more than 2 MB"},
		{"a.tar", object, nil, "a.tar/a.yaml:1:1: the object has more than 2 MB"},
		{"a.tgz", object, nil, "a.tgz/a.yaml:1:1: the object has more than 2 MB"},
		{"-", object, strings.NewReader(long), "stdin:1:1: the object has more than 2 MB"},
		{"-", unpacked, strings.NewReader(long), "read stdin: larger than allowed: more than 2 MB"},
		{"-", render.Options{}, zeros{}, "stdin: binary file: it contains NUL bytes"},
		{"a.tgz", unpacked, nil, `open archive "a.tgz": decompress archive: larger than allowed: more than 2 MB in total when decompressed`},
		{"many.tgz", files, nil, `open archive "many.tgz": read archive: entry "c.yaml": larger than allowed: more than 2 files, directories and links`},
	} {
		tt.opts.Stdin = tt.stdin
		_, err := rendered(t.Context(), []string{tt.ref}, tt.opts, "", declcfg.JSON)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.ref, err, tt.want)
		}
	}
}

// zeros is an endless stream of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type failingReader struct{ err error }

func (r *failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestEveryError checks that every error is reported, sorted by position, and that nothing is written.
func TestEveryError(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "a.json", `{"schema":"olm.bundle","package":"p","image":1}{"schema":"olm.package"}{"name":"n"}`)
	write(t, dir, "b.yaml", "text\n---\nschema: olm.bundle\npackage: p\nproperties:\n- type: olm.bundle.object\n  value: {data: W30=}\n")
	_, err := rendered(t.Context(), []string{"b.yaml", "a.json"}, render.Options{}, "", "")
	want := []string{
		"a.json:1:46: image: want a string, found a number; put it in quotes",
		"a.json:1:48: the package has no name",
		"a.json:1:72: object is missing root schema field",
		"b.yaml:1:1: want an object, found a string",
		"b.yaml:7:17: properties[0].value.data: neither a JSON nor a YAML manifest: ",
	}
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("got:\n%v\nwant:\n%s", err, strings.Join(want, "\n"))
		}
	}
}

func TestNothing(t *testing.T) {
	for _, refs := range [][]string{nil, {t.TempDir()}, {write(t, t.TempDir(), "empty", "")}, {"-"}} {
		opts := render.Options{Stdin: strings.NewReader("")}
		if got, err := rendered(t.Context(), refs, opts, "", ""); got != "" || err != nil {
			t.Errorf("%q: %q, %v", refs, got, err)
		}
	}
}

// TestCancel checks that canceling ends the wait for standard input.
func TestCancel(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := render.Open(ctx, []string{"-"}, render.Options{Stdin: r})
		done <- err
	}()
	if _, err := io.WriteString(w, "schema: s\n"); err != nil { // the write returns when the reader has started
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}

	dir := t.TempDir()
	write(t, dir, "a.yaml", channel)
	c, err := render.Open(t.Context(), []string{dir}, render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if metas, err := c.Metas(ctx); err != context.Canceled || metas != nil {
		t.Errorf("Metas = %v, %v", metas, err)
	}
}

func TestCloseTwice(t *testing.T) {
	c, err := render.Open(t.Context(), []string{"-"}, render.Options{Stdin: strings.NewReader(archived(t, true, "a", "schema: s"))})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// TestPublishedCatalogs checks that real catalogs always render to the same bytes, and that rendering the result does
// not change it.
func TestPublishedCatalogs(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		for _, format := range []declcfg.Format{declcfg.JSON, declcfg.YAML} {
			t.Run(filepath.Base(dir)+" "+string(format), func(t *testing.T) {
				first, err := rendered(t.Context(), []string{dir}, render.Options{}, "", format)
				if err != nil {
					t.Fatal(err)
				}
				second, err := rendered(t.Context(), []string{dir}, render.Options{}, "", format)
				if err != nil || second != first {
					t.Errorf("%v, and the second run differs: %t", err, second != first)
				}
				stdin := render.Options{Stdin: strings.NewReader(first)}
				again, err := rendered(t.Context(), []string{"-"}, stdin, "", format)
				if err != nil || again != first {
					t.Errorf("%v, and its own output renders differently: %t", err, again != first)
				}
			})
		}
	}
}

// TestPublishedCatalogsAcrossFormats checks that rendering to one format and then to the other equals rendering to the
// latter.
func TestPublishedCatalogsAcrossFormats(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		asYAML, err := rendered(t.Context(), []string{dir}, render.Options{}, "", declcfg.YAML)
		if err != nil {
			t.Fatal(err)
		}
		want, err := rendered(t.Context(), []string{dir}, render.Options{}, "", declcfg.JSON)
		if err != nil {
			t.Fatal(err)
		}
		stdin := render.Options{Stdin: strings.NewReader(asYAML)}
		got, err := rendered(t.Context(), []string{"-"}, stdin, "", declcfg.JSON)
		if err != nil || got != want {
			t.Errorf("%s: %v, and JSON made of YAML differs: %t", dir, err, got != want)
		}
	}
}

func publishedCatalogs(t testing.TB) []string {
	t.Helper()
	return shared.Catalogs(t)
}
