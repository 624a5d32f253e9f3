package hostile

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// write creates a file with a text, followed by zeros up to size.
func write(t *testing.T, name, text string, size int64) string {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666))
	if size > 0 {
		err = errors.Join(err, os.Truncate(name, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// fails checks that opm fails with an error that contains want, in little time and memory and without output.
func fails(t *testing.T, want string, call program.Call) {
	t.Helper()
	call.Limit = attack.TooLong
	r := call.Bounded(t, attack.FewBytes)
	if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
		t.Errorf("opm %q: exit status %d, %d bytes of output, stderr %.500s\nwant %s", call.Args, r.Code, len(r.Stdout), r.Stderr, want)
	}
}

const (
	binary   = "binary file: it contains NUL bytes"
	tooLarge = "the object has more than 256 MB"
)

// TestHugeFiles checks that a file of 3 GB in a catalog takes little time and memory.
func TestHugeFiles(t *testing.T) {
	const size = 3 << 30
	text := strings.Repeat("x", 8<<10)
	for _, tt := range []struct{ name, head, want string }{
		{"disk.img", "", binary},
		{"object.json", `{"schema":"` + text, "invalid character '\\x00' in string"},
		{"block.yaml", "schema: |\n  " + text, "block.yaml:1:1: error: " + tooLarge},
		{"later.yaml", "schema: s\n---\n# c\nschema: " + text, "later.yaml:4:1: error: " + tooLarge},
		{"text.yaml", text, "text.yaml:1:1: error: want an object, found a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "c", tt.name), tt.head, size)
			commands := [][]string{{"validate", "c"}, {"render", filepath.Join("c", tt.name)}}
			if tt.want == binary {
				commands = append(commands, []string{"render", "c"}, []string{"list", "packages", "c"},
					[]string{"migrate", "c", "new"}, []string{"serve", "c", "--cache-only", "--cache-dir", "cache"})
			}
			for _, args := range commands {
				fails(t, tt.want, program.Call{Args: args, Dir: dir})
			}
		})
	}
}

// TestHugeStreams checks that endless input takes little time and memory.
func TestHugeStreams(t *testing.T) {
	long := func(head, unit string, size int64) io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(&repeated{text: []byte(strings.Repeat(unit, 64<<10))}, size))
	}
	const size = 1 << 30
	for name, tt := range map[string]struct {
		in   io.Reader
		args []string
		want string
	}{
		"zeros":       {long("", "\x00", 1<<50), nil, "stdin: error: " + binary},
		"a string":    {long(`{"schema":"`, "x", size), nil, "stdin:1:1: error: " + tooLarge},
		"a scalar":    {long("schema: |\n", "  xxx\n", size), nil, "stdin:1:1: error: " + tooLarge},
		"no line":     {long("", "x", size), nil, "stdin:1:1: error: want an object, found a string"},
		"lines":       {long("", "y\n", size), nil, "stdin:1:1: error: want an object, found a string"},
		"no end":      {long("", "y\n", 1<<50), []string{"--image-max-size", "1Gi"}, "read stdin: larger than allowed: more than 1 GB"},
		"small limit": {long("schema: s\n---\nx: ", "x", 40<<20), []string{"--max-object-size", "32Mi"}, "stdin:3:1: error: the object has more than 32 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			fails(t, tt.want, program.Call{Args: append([]string{"render", "-"}, tt.args...), Stdin: tt.in})
		})
	}
}

// repeated yields a text over and over.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// archive writes a tar archive of one file.
func archive(t *testing.T, w io.Writer, name string, size int64, content io.Reader) {
	t.Helper()
	a := tar.NewWriter(w)
	err := a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644})
	if err == nil {
		_, err = io.CopyN(a, content, size)
	}
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
}

// zstdBomb writes an archive of incompressible data that zstd compresses by distant repetitions.
func zstdBomb(t *testing.T, name string, size int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewWriter(f, zstd.WithWindowSize(8<<20), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 5<<20)
	seed := uint64(1)
	for i := range noise {
		seed = seed*6364136223846793005 + 1442695040888963407
		noise[i] = byte(seed >> 56)
	}
	archive(t, z, "c/x.bin", size, &repeated{text: noise})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHugeArchives checks that archives have the limits of images, and that their content is not kept in memory.
func TestHugeArchives(t *testing.T) {
	dir := t.TempDir()
	zeros := &repeated{text: make([]byte, 1<<20)}
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "c/disk.img", Size: 3 << 30}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.tar"), head.String(), 3<<30+2048)
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	archive(t, z, "c/disk.img", 1<<30, zeros)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.tar.gz"), zipped.String(), 0)
	for _, name := range []string{"a.tar", "a.tar.gz"} {
		for _, command := range []string{"render", "validate"} {
			fails(t, "c/disk.img:1:1: error: "+binary, program.Call{Args: []string{command, name}, Dir: dir})
		}
	}
	fails(t, "more than 512 MB in total when decompressed",
		program.Call{Args: []string{"render", "a.tar.gz", "--image-max-size", "512Mi"}, Dir: dir})
	fails(t, "read stdin: larger than allowed", program.Call{
		Args: []string{"render", "-", "--image-max-size", "512Mi"}, Dir: dir, Stdin: io.MultiReader(&head, zeros)})

	bomb := filepath.Join(dir, "a.tar.zst")
	zstdBomb(t, bomb, 1<<30)
	if info, err := os.Stat(bomb); err != nil || info.Size() > 20<<20 {
		t.Fatalf("no bomb: %v, %v", info, err)
	}
	fails(t, "larger than allowed: more than 320 MB when compressed",
		program.Call{Args: []string{"render", "a.tar.zst", "--image-max-size", "1Gi"}, Dir: dir})
}

// TestChangingFile checks that the output of a file that is being written is either complete or an error, although the
// file always ends after an object. A writer that pauses in the middle for as long as opm waits for further writes,
// which is 20 ms, is not detected; the test excuses somewhat shorter pauses, because file times are coarse.
func TestChangingFile(t *testing.T) {
	const stopped = 15 * time.Millisecond
	var objects []string
	for n := range 100 {
		objects = append(objects, fmt.Sprintf("---\nschema: x\npackage: p\nname: n%d\n", n))
	}
	objects = append(objects, "---\nschema: olm.package\nname: p\ndefaultChannel: c\n",
		"---\nschema: olm.channel\npackage: p\nname: c\nentries:\n- name: p.v1\n",
		"---\nschema: olm.bundle\npackage: p\nname: p.v1\nimage: example.com/p@sha256:"+strings.Repeat("0", 64)+
			"\nproperties:\n- type: olm.package\n  value:\n    packageName: p\n    version: 1.0.0\n")
	dir := t.TempDir()
	name := write(t, filepath.Join(dir, "c", "catalog.yaml"), strings.Join(objects, ""), 0)
	for _, args := range [][]string{{"render", "c"}, {"list", "packages", "c"}} {
		t.Run(args[0], func(t *testing.T) {
			want := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Run(t)
			if want.Code != 0 {
				t.Fatalf("exit status %d: %s", want.Code, want.Stderr)
			}
			ctx, cancel := context.WithCancel(t.Context())
			w := &rewriter{name: name, objects: objects}
			ended := make(chan error)
			go func() { ended <- w.run(ctx) }()
			passed, excused := 0, 0
			for range 30 {
				w.longestPause()
				got := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Run(t)
				switch paused := w.longestPause(); {
				case got.Code != 0 && got.Stderr == "":
					t.Error("no message")
				case got.Code != 0:
				case got.Stdout == want.Stdout:
					passed++
				case paused > stopped: // on a busy machine
					excused++
				default:
					t.Errorf("exit status 0 with %d bytes of output, want %d", len(got.Stdout), len(want.Stdout))
				}
			}
			t.Logf("%d runs passed, %d were excused", passed, excused)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A rewriter writes objects to a file repeatedly.
type rewriter struct {
	name    string
	objects []string

	mu      sync.Mutex
	last    time.Time // before the last write; zero when all objects are written
	longest time.Duration
}

// run repeatedly truncates the file and adds one object after the other. It leaves a complete file.
func (w *rewriter) run(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		start := time.Now()
		f, err := os.Create(w.name)
		if err != nil {
			return err
		}
		w.note(start)
		for _, o := range w.objects {
			time.Sleep(2 * time.Millisecond) // so that opm often opens the file and reads all of it between two writes
			start := time.Now()
			if _, err := f.WriteString(o); err != nil {
				return errors.Join(err, f.Close())
			}
			w.note(start)
		}
		w.note(time.Time{})
		if err := f.Close(); err != nil {
			return err
		}
		time.Sleep(time.Duration(n%8) * 15 * time.Millisecond)
	}
	return nil
}

// note records a write that began at start. A zero time records that all objects are written.
func (w *rewriter) note(start time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.last.IsZero() {
		w.longest = max(w.longest, time.Since(w.last))
	}
	w.last = start
}

// longestPause returns an upper bound of the longest time between two writes of the same text since its last call.
func (w *rewriter) longestPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := w.longest
	if w.longest = 0; !w.last.IsZero() {
		longest = max(longest, time.Since(w.last))
	}
	return longest
}
