package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badInputs are invalid catalogs, named "bad", that every command must reject. Each has one mistake, which is reported
// once and with its position.
var badInputs = []struct {
	name, file string
	content    string // of the file; after "-> " where a link leads
	want       string // place: what is wrong, as the commands that print no rules have it
}{
	{"NUL in YAML", "c.yaml", "schema: a\nname: \"x\x00y\"\n",
		"bad/c.yaml:2:9: control character U+0000"},
	{"NUL in JSON", "c.json", "{\"schema\": \"a\",\n \"name\": \"x\x00y\"}\n",
		`bad/c.json:2:12: not valid JSON: invalid character '\x00' in string (expecting non-control character)`},
	{"Latin-1 in YAML", "c.yaml", "schema: a\nname: caf\xe9\n",
		"bad/c.yaml:2:10: not UTF-8"},
	{"UTF-16", "c.yaml", "\xff\xfes\x00c\x00h\x00e\x00m\x00a\x00",
		"bad/c.yaml:1:1: not UTF-8"},
	{"truncated JSON", "c.json", "{\"schema\": \"a\"}\n{\"schema\": \"a\"}\n{\"schema\":\n \"a\", ",
		"bad/c.json:4:6: the JSON object that starts at 3:1 does not end"},
	{"tab in YAML", "c.yaml", "schema: a\nentries:\n- name: x\n\treplaces: y\n",
		"bad/c.yaml:4:1: a tab, where only spaces may indent"},
	{"YAML bomb", "c.yaml", yamlBomb(),
		"bad/c.yaml:7:34: aliases expand beyond 64 MB"},
	{"deep JSON", "c.json", `{"schema": "a", "v": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"bad/c.json:1:10021: nested deeper than 10,000 levels"},
	{"deep YAML", "c.yaml", "schema: a\nv: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"bad/c.yaml:2:10003: nested deeper than 10,000 levels"},
	{"deep block YAML", "c.yaml", "schema: a\nv:\n" + strings.Repeat("- ", 10_000) + "x\n",
		"bad/c.yaml:3:19999: nested deeper than 10,000 levels"},
	{"scalar document", "c.yaml", "schema: a\n---\nhello\n",
		"bad/c.yaml:3:1: want an object, found a string"},
	{"list document", "c.yaml", "\n- a\n- b\n",
		"bad/c.yaml:2:1: want an object, found a list"},
	{"null document", "c.yaml", "schema: a\n---\n~\n",
		"bad/c.yaml:3:1: want an object, found null"},
	{"JSON scalar", "c.json", "\"x\"\n",
		"bad/c.json:1:1: want an object, found a string"},
	{"JSON list", "c.json", "[{\"schema\": \"a\"}]\n",
		"bad/c.json:1:1: want an object, found a list"},
	{"JSON null", "c.json", "null\n",
		"bad/c.json:1:1: want an object, found null"},
	{"no schema", "c.yaml", "# comment\nname: x\n",
		"bad/c.yaml:2:1: object is missing root schema field"},
	{"empty schema", "c.json", "{\"schema\": \"\"}\n",
		"bad/c.json:1:1: object is missing root schema field"},
	{"schema that is no text", "c.yaml", "schema: 1\n",
		"bad/c.yaml:1:9: schema must be a string, found a number; put it in quotes"},
	{"package that is no text", "c.json", "{\"schema\": \"a\", \"package\": null}\n",
		"bad/c.json:1:28: package must be a string, found null"},
	{"name that is no text", "c.yaml", "schema: a\nname: n\n",
		"bad/c.yaml:2:7: name must be a string, found a boolean; put it in quotes"},
	{"README", "README.md", "# Title\n\nWords: in text.\n\nMore words\n",
		"bad/README.md:5:1: while scanning a simple key: could not find expected ':'; " +
			"a colon and a space are missing after the key (if this is not a catalog file, add it to .indexignore)"},
	{"dangling link", "c.yaml", "-> nowhere",
		"bad/c.yaml: symbolic link to a file that does not exist"},
	{"looping link", "c.yaml", "-> c.yaml",
		"bad/c.yaml: symbolic link that leads back to itself"},
	{"link to a directory above", "up", "-> .",
		"bad/up: symbolic link to a directory that holds it"},
}

func TestBadInput(t *testing.T) {
	for _, test := range badInputs {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeBad(t, filepath.Join(dir, "bad"), test.file, test.content)
			testBadInput(t, dir, test.want)
		})
	}
}

func writeBad(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	write := func() error { return os.WriteFile(path, []byte(content), 0o666) }
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		write = func() error { return os.Symlink(target, path) }
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
}

// testBadInput runs every command that reads a catalog on dir/bad, and expects the error want.
func testBadInput(t *testing.T, dir, want string) {
	place, what, _ := strings.Cut(want, ": ")
	reason := "Error: " + what + " (" + place + ")\n"
	message := place + ": error: " + what + "\n" + reason
	problem := place + ": error: " + what + " [read]\n" + reason
	for line, want := range map[string]result{
		"render bad":       {"", message, 1},
		"migrate bad out":  {"", message, 1},
		"list bundles bad": {"", problem, 1},
		"validate bad":     {"", problem, 1},
	} {
		if got := opm(t, dir, line); got != want {
			t.Errorf("opm %s:\n got %+v\nwant %+v", line, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "out")); err == nil {
		t.Error("opm migrate wrote something")
	}
	testReport(t, opm(t, dir, "validate bad -o json"), place, what)
}

// testReport checks that the report of a catalog that cannot be read is complete, and on standard output.
func testReport(t *testing.T, got result, place, what string) {
	t.Helper()
	var report struct {
		Passed   bool
		Error    struct{ Message string }
		Problems []struct {
			File, Message string
			Line, Column  int
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 1 || got.stderr != "" {
		t.Fatalf("opm validate -o json: %v, exit code %d, standard error %q", err, got.code, got.stderr)
	}
	if report.Passed || !strings.Contains(report.Error.Message, place+": error: "+what) || len(report.Problems) != 1 {
		t.Fatalf("opm validate -o json prints\n%s", got.stdout)
	}
	p := report.Problems[0]
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if at != place || p.Message != what {
		t.Errorf("opm validate -o json has the problem %+v, want %s: %s", p, place, what)
	}
}

// yamlBomb returns a document of which every line is ten times the one before it.
func yamlBomb() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schema: a\na0: &a0 %s\n", strings.Repeat("x", 1000))
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	return b.String()
}
