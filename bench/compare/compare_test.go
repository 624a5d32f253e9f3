//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const root = "../.."

// TestExpand checks the lines that a line stands for.
func TestExpand(t *testing.T) {
	values := func(name, pattern string) ([]value, error) {
		switch {
		case pattern == "data/*":
			return nil, errNoData
		case name == "tree":
			return []value{{"": "a/oak", "base": "oak"}, {"": "b/elm", "base": "elm"}, {"": "c/yew", "base": "yew"}}, nil
		case name == "number":
			return []value{{"": "1"}, {"": "2"}}, nil
		case name == "template":
			return []value{{"": "{{end}} {number}"}}, nil
		}
		return nil, errors.New("unknown")
	}
	for _, tt := range []struct{ text, want string }{
		{"a\n# b\n\nc", "a|c"},
		{"a\n  b\n  c\nd", "a b c|d"},
		{"x {,-o json,--n=1:2} y", "x  y|x -o json y|x --n=1:2 y"},
		{"{a,b}{c,d}", "ac|ad|bc|bd"},
		{"f {tree} {tree.base}", "f a/oak oak|f b/elm elm|f c/yew yew"},
		{"f {tree.base} {tree/2}", "f oak a/oak|f yew c/yew"},
		{"{tree/9} {number}", "a/oak 1|a/oak 2"},
		{"{template} {number}", "{{end}} {number} 1|{{end}} {number} 2"},
		{`echo '{"a": 1, "b": {}}' {{.Package}} {k_m} ${HOME}`, `echo '{"a": 1, "b": {}}' {{.Package}} {k_m} ${HOME}`},
		{"let file = data/*\nf {file}\ng", "g"},
		{"f\ng {none}", "error: lines.txt:2: unknown"},
		{"{tree.none}", "error: lines.txt:1: {tree.none}: no such field"},
		{"x {tree}\nwithout a/: why", "x b/elm|x c/yew"},
		{"without x", "error: lines.txt:1: want without REGEXP: REASON"},
		{"let x", "error: lines.txt:1: want let NAME = PATTERN"},
		{"unused opm serve", "error: lines.txt:1: want unused COMMAND [--FLAG]: REASON"},
	} {
		got, err := expanded(tt.text, values)
		joined := strings.Join(got, "|")
		if err != nil {
			joined = "error: " + err.Error()
		}
		if joined != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, joined, tt.want)
		}
	}
}

func expanded(text string, values func(name, pattern string) ([]value, error)) ([]string, error) {
	list, err := parseLines(text)
	if err != nil {
		return nil, err
	}
	return list.expand(values)
}

// TestScriptCalls checks the calls of opm that are found in a script.
func TestScriptCalls(t *testing.T) {
	const script = `# A comment about opm.
opm validate catalog
! opm render catalog --x 'a ''b'' "c"' # not this
[unix] [!exec:x] ! exec opm list "a" $REGISTRY/${X}${/}y
opm validate catalog
env PATH=x KEY='a b'
stdout 'opm'
opm serve catalog
opm serve --cache-only
env DIR=$WORK/d
opm`
	want := []string{
		`opm validate catalog`,
		`opm render catalog --x 'a '\''b'\'' "c"'`,
		`opm list "\"a\"" "$REGISTRY/${X}/y"`,
		`export KEY='a b' && opm serve --cache-only`,
		`export WORK=$PWD && export DIR="$WORK/d" && export KEY='a b' && opm`,
	}
	if got := scriptCalls(script); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestParsePage checks the content of the page of a command.
func TestParsePage(t *testing.T) {
	const page = `# opm fmt

Rewrite files.

    Flags: none of these
      --not   a flag

## Usage

    opm fmt FILE... [flags]

    Examples:
      opm fmt catalog
      opm fmt - < a.yaml

    Flags:
          --check    change nothing
      -h, --help     help for fmt
                     in two lines

    Registry flags:
          --use-http   use plain HTTP

## See also
`
	c := parsePage(page)
	wantFlags := map[string]string{"--check": "--check", "--help": "--help", "-h": "--help"}
	if c.path != "opm fmt" || !slices.Equal(c.examples, []string{"opm fmt catalog", "opm fmt - < a.yaml"}) ||
		!maps.Equal(c.flags, wantFlags) || !maps.Equal(c.registry, map[string]string{"--use-http": "--use-http"}) {
		t.Errorf("got %+v", c)
	}
}

// newComparison returns a comparison without the directory shared, in a repository with one script.
func newComparison(t *testing.T) (c *comparison, stdout *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	repository := filepath.Join(dir, "repository")
	err := os.CopyFS(filepath.Join(repository, "examples"), os.DirFS(filepath.Join(root, "examples")))
	if err != nil {
		t.Fatal(err)
	}
	script := fstest.MapFS{"fmt.txtar": {Data: []byte("opm fmt oak.yaml\n-- oak.yaml --\n{}\n")}}
	if err := os.CopyFS(filepath.Join(repository, "cmd", "opm", "testdata", "script"), script); err != nil {
		t.Fatal(err)
	}
	var warning strings.Builder
	in, err := prepare(t.Context(), dir, repository, filepath.Join(dir, "none"), &warning)
	if err != nil || !strings.Contains(warning.String(), "only lines about the examples") {
		t.Fatalf("%v, warning %q", err, warning.String())
	}
	stdout = &strings.Builder{}
	return &comparison{in: in, stdout: stdout, stderr: &warning}, stdout
}

// runScripts runs the lines of a comparison with two shell scripts as programs.
func runScripts(t *testing.T, c *comparison, old, now string) error {
	t.Helper()
	for _, p := range []struct {
		program *program
		script  string
	}{{&c.old, old}, {&c.now, now}} {
		dir := t.TempDir()
		file := filepath.Join(dir, "script")
		// It is asked for its version outside of a place.
		script := "#!/bin/sh\n[ \"$1\" != version ] || exit 1\n" + p.script + "\n"
		if err := os.WriteFile(file, []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		if *p.program, err = newProgram(file, filepath.Join(dir, "opm")); err != nil {
			t.Fatal(err)
		}
	}
	return c.run(t.Context())
}

// TestDifferences checks that every kind of difference between two programs is found and printed, and nothing else.
func TestDifferences(t *testing.T) {
	const same = `echo "$0 $*" "$PWD" "$HOME" "$TMPDIR" "$REGISTRY"; cat bundles.txt; echo x > "$TMPDIR/x"`
	c, stdout := newComparison(t)
	c.lines = []string{"opm a 'b c'"}
	for _, tt := range []struct {
		name, now string
		want      []string
	}{
		{"nothing", same, nil},
		{"output", same + "; echo more",
			[]string{"  standard output differs\n    --- OLD\n    +++ NEW\n    @@ ", "    +more\n"}},
		{"error", same + "; echo why >&2", []string{"  standard error differs\n", "    +why\n"}},
		{"status", same + "; exit 4",
			[]string{"  exit status: OLD \"exit status 0\", NEW \"exit status 4\"\n"}},
		{"new file", same + "; mkdir new; echo a > new/a",
			[]string{"  work/new/a: only NEW makes it\n", "  mode of work/new: only NEW makes it\n"}},
		{"changed file", same + "; echo a >> pottery.yaml", []string{"  work/pottery.yaml differs\n", "    +a\n"}},
		{"deleted file", same + "; rm catalog/kiln/package.yaml",
			[]string{"  work/catalog/kiln/package.yaml: only OLD makes it\n"}},
		{"mode", same + "; chmod 600 pottery.yaml",
			[]string{"  mode of work/pottery.yaml: OLD \"-rw-r--r--\", NEW \"-rw-------\"\n"}},
		{"link", same + "; ln -s a b", []string{"  work/b: only NEW makes it\n"}},
		{"file at home", same + "; echo a > $HOME/a", []string{"  home/a: only NEW makes it\n"}},
		{"temporary file", same + "; rm $TMPDIR/x", []string{"  tmp/x: only OLD makes it\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout.Reset()
			err := runScripts(t, c, same, tt.now)
			last := "1 line, 0 differ\n"
			if tt.want != nil {
				last = "1 line, 1 differs\n"
			}
			if differ := tt.want != nil; differ != errors.Is(err, errDiffer) || !differ && err != nil {
				t.Errorf("error %v", err)
			}
			got := stdout.String()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q", want)
				}
			}
			if strings.Contains(got, "differs from itself") {
				t.Error("the files of one run are there in the next one")
			}
			if !strings.HasSuffix(got, last) || tt.want == nil && got != last {
				t.Errorf("the last line is not %q", last)
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}

// TestSecondRun checks that a program which differs from itself is named, and that a line which changes the data of all
// lines is an error.
func TestSecondRun(t *testing.T) {
	c, stdout := newComparison(t)
	c.lines = []string{"opm"}
	const counts = `n=$(cat $0.count 2>/dev/null); echo $n; echo a$n > $0.count`
	if err := runScripts(t, c, counts, counts); !errors.Is(err, errDiffer) ||
		!strings.HasPrefix(stdout.String(), "\n$ opm\n  OLD differs from itself when it runs again\n") {
		t.Errorf("%v\n%s", err, stdout)
	}
	const writes = "echo a >> scripts/fmt/new"
	err := runScripts(t, c, writes, writes)
	const want = "a line changed what is for all lines: let it make a copy first: scripts/fmt, scripts/fmt/new"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestHide checks that only the places of a version are replaced.
func TestHide(t *testing.T) {
	b := build{GitCommit: "83f142ee", BuildDate: "2026-11-26T20:38:57Z", Version: "v1.0.0"}
	const text = `opm v1.0.0
kiln.v1.0.0
opm: version v1.0.0, commit 83f142ee, built 2026-11-26T20:38:57Z
"version": "v1.0.0"
`
	const want = `opm VERSION
kiln.v1.0.0
opm: version VERSION, commit COMMIT, built DATE
"version": "VERSION"
`
	if got := b.replacer().Replace(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (build{}).replacer().Replace(text); got != text {
		t.Errorf("without a version: got\n%s", got)
	}
}

// TestTimeless checks the log that is compared.
func TestTimeless(t *testing.T) {
	const log = `opm: registry failed (image: b)
time=2026-11-28T00:42:11.536Z level=INFO msg=ready took=130ms
{"time":"2026-11-28T00:59:05.9Z","msg":"ready","took":21000}
opm: image copied (image: a, time: 12ms)
Error: it took=long time=x
`
	const want = `TIME level=INFO msg=ready TIME
{TIME,"msg":"ready",TIME}
Error: it TIME time=x
opm: image copied (image: a, TIME)
opm: registry failed (image: b)
`
	if got := timeless(log); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestShortDiff checks the diff of long lines, long texts and binary data.
func TestShortDiff(t *testing.T) {
	long := strings.Repeat("a,", 300)
	if got := shortDiff(long+"b", long+"c"); !strings.Contains(got, "    -b\n    +c\n") || len(got) > 100 {
		t.Errorf("a long line: got\n%s", got)
	}
	words := strings.Repeat("ä", 500)
	if got := shortDiff(words+"b", words+"c"); !strings.Contains(got, "b\n    +") || len(got) > 1200 {
		t.Errorf("a long word: got\n%s", got)
	}
	var lines string
	for i := range 100 {
		lines += fmt.Sprintln(i)
	}
	got := shortDiff("", lines)
	if strings.Count(got, "\n") != maxDiffLines+1 || !strings.HasSuffix(got, "    … 64 lines more\n") {
		t.Errorf("many lines: got\n%s", got)
	}
	if got := shortDiff("a\xff", "a\xfe!"); got != "    binary, 2 bytes and 3 bytes, equal up to byte 1\n" {
		t.Errorf("binary: got\n%s", got)
	}
}

// TestHost checks the registry of a line: its seeds, the record of changes, and that it refuses other hosts.
func TestHost(t *testing.T) {
	dir := t.TempDir()
	bundle := filepath.Join(dir, "oak", "1.0.0+x")
	if err := os.CopyFS(bundle, os.DirFS(filepath.Join(root, "examples", "loom"))); err != nil {
		t.Fatal(err)
	}
	s, err := newSeeds(filepath.Join(root, "examples"), []string{bundle})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(s)
	if err != nil {
		t.Fatal(err)
	}
	content := h.empty()
	tag := func(path string) name.Tag {
		ref, err := name.NewTag(h.address + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	for _, ref := range []string{"pottery/kiln-bundle:v2.0.0", "crafts/catalog:v1", "operators/oak:1.0.0-x"} {
		img, err := remote.Image(tag(ref))
		if err != nil {
			t.Fatalf("%s: %v", ref, err)
		}
		if err := remote.Write(tag("new:v1"), img); err != nil {
			t.Error(err)
		}
		if err := remote.Write(tag("operators/new:v1"), img); err == nil {
			t.Error("the images of bundles were changed")
		}
	}
	log := content.log()
	if strings.Count(log, "PUT /v2/new/manifests/v1 ") != 3 || strings.Count(log, "\n") != 3 {
		t.Errorf("changes\n%s", log)
	}
	h.empty()
	if _, err := remote.Image(tag("new:v1")); err == nil {
		t.Error("an image of another run is there")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.address+"/v2/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "quay.io"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("for another host: %s", response.Status)
	}
}
