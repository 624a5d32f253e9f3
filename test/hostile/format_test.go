//go:build unix

package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// TestFormat checks the time and memory to format large files, and small files that take long.
func TestFormat(t *testing.T) {
	line := "    " + strings.Repeat("abcdefgh ", 11) + "\n"
	tests := []struct {
		name  string
		write func(w *bufio.Writer)
		rss   int64 // in MB
	}{
		{"40 MB of objects", func(w *bufio.Writer) {
			for i := range 400 {
				fmt.Fprintf(w, "---\nname: b%d # c\nschema: olm.bundle\npackage: p\nx: |\n%s", i, strings.Repeat(line, 1000))
			}
		}, 250},
		{"20,000 objects", func(w *bufio.Writer) {
			for i := range 20_000 {
				fmt.Fprintf(w, "---\nschema: olm.bundle\npackage: p\nname: n%d\n", i)
			}
		}, 250},
		{"240,000 lines", func(w *bufio.Writer) {
			fmt.Fprint(w, "name: n\nschema: olm.bundle\n")
			for i := range 240_000 {
				fmt.Fprintf(w, "k%d: 'v'\n", i)
			}
		}, 700},
		{"200,000 values on a line", func(w *bufio.Writer) {
			fmt.Fprintf(w, "name: n\nschema: olm.bundle\nv: [%s1]\n", strings.Repeat("'1', ", 200_000))
		}, 500},
		{"9,990 lists in each other", func(w *bufio.Writer) {
			fmt.Fprintf(w, "name: n\nschema: olm.bundle\nf: %s%s\nb:\n%sc\n",
				strings.Repeat("[", 9_990), strings.Repeat("]", 9_990), strings.Repeat("- ", 9_990))
		}, 250},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(file)
			tt.write(w)
			if err := errors.Join(w.Flush(), file.Close()); err != nil {
				t.Fatal(err)
			}
			format := program.Call{Args: []string{"fmt", path}, Limit: 2 * time.Minute}
			if r := format.Bounded(t, tt.rss<<20); r.Code != 0 || r.Stdout != path+"\n" {
				t.Errorf("exit status %d, %.300s%.300s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// TestFormatDeep checks the time and memory to format objects with much more indentation than content.
func TestFormatDeep(t *testing.T) {
	const depth = 4_900
	deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	for _, tt := range []struct {
		name, text string
		want       string // the error; "" for none
	}{
		{"levels.json", `{"schema": "x", "values": [` + strings.Repeat(deep+",", 200) + "1]}", ""},
		{"list.json", `{"schema": "x", "values": ` + strings.Repeat("[", 98) + strings.Repeat("1,", 7_000_000) + "1" +
			strings.Repeat("]", 98) + "}", "more than 64 MB once it is indented"},
		{"long.json", `{"schema": "x", "values": ` + strings.Repeat("[", 101) + strings.Repeat("1,", 7_000_000) + "1" +
			strings.Repeat("]", 101) + "}", "more than 2,000,000 keys and values in an object"},
		{"lists.json", `{"schema": "olm.bundle", "properties": ` + strings.Repeat("[", 9_900) + strings.Repeat("1111111,", 1_500_000) +
			"1" + strings.Repeat("]", 9_900) + "}", ""},
		{"comments.yaml", "schema: x\nv:\n" + strings.Repeat("- ", 9_000) + "a: 1\n" + strings.Repeat("# c\n", 200_000) +
			strings.Repeat("  ", 9_000) + "b: 1\n", "more than 64 MB once it is indented"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.name)
			if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"fmt", "--check", path}, {"fmt", path}} {
				r := program.Call{Args: args, Limit: attack.TooLong}.Bounded(t, 600*attack.MB)
				if !strings.Contains(r.Stderr, tt.want) || tt.want == "" && r.Stdout != path+"\n" {
					t.Errorf("%q: %.300s%.300s, want %s", args, r.Stdout, r.Stderr, tt.want)
				}
			}
		})
	}
}

// TestFormatFiles checks that only regular files are formatted, and that a link remains a link.
func TestFormatFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o666); err != nil {
		t.Skip(err)
	}
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(target, []byte("schema:   a\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	r := program.Call{Args: []string{"fmt", filepath.Join(dir, "pipe.yaml"), link}, Limit: time.Minute}.Bounded(t, 200<<20)
	if want := "want a file, found a named pipe"; r.Code != 1 || !strings.Contains(r.Stderr, want) {
		t.Errorf("exit status %d, %s, want %s", r.Code, r.Stderr, want)
	}
	text, err := os.ReadFile(target)
	if err != nil || string(text) != "---\nschema: a\n" {
		t.Errorf("the target of the link has %q, %v", text, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode changed: %v, %v", info, err)
	}
}
