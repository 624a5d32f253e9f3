package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestBuildIsReproducible checks that the same catalog always produces the same bytes, with any number of goroutines.
func TestBuildIsReproducible(t *testing.T) {
	first, _ := image(t, store.BuildOptions{HTTP: true}, source("a.yaml", kiln))
	for range 5 {
		if again, _ := image(t, store.BuildOptions{HTTP: true}, source("a.yaml", kiln)); !bytes.Equal(again, first) {
			t.Fatal("the bytes differ")
		}
	}
}

// TestUnservable checks that every value that cannot be served is reported with its position.
func TestUnservable(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new string // of kiln
		want     []string
	}{
		{
			"more than one olm.csv.metadata",
			"- {type: olm.csv.metadata, value: {}}", "- {type: olm.csv.metadata, value: {}}\n- {type: olm.csv.metadata, value: {}}",
			[]string{"c/a.yaml:44:35: properties[7].value: want at most one property of type olm.csv.metadata, found another"},
		},
		{
			"no olm.package",
			"- {type: olm.package, value: {packageName: kiln, version: 3.0.0}}\n", "",
			[]string{"c/a.yaml:49:1: properties: want exactly one property of type olm.package, found 0"},
		},
		{
			"two olm.package",
			"version: 3.0.0}}\n", "version: 3.0.0}}\n- {type: olm.package, value: {packageName: kiln, version: 3.0.0}}\n",
			[]string{"c/a.yaml:49:1: properties: want exactly one property of type olm.package, found 2"},
		},
		{
			"metadata of another type", "{displayName: Kiln & co,", "{displayName: 1,",
			[]string{"c/a.yaml:29:49: properties[2].value.displayName: want a string, found a number; put it in quotes"},
		},
		{
			"a kind of another type", "value: {group: fire.io, version: v1, kind: Fire}", "value: {group: 1}",
			[]string{"c/a.yaml:40:43: properties[3].value.group: want a string, found a number; put it in quotes"},
		},
		{
			"a manifest that is none", "a2luZDogUm9sZQ==", "Ww==",
			[]string{"c/a.yaml:52:36: properties[2].value: neither a JSON nor a YAML manifest: "},
		},
		{
			"no value", "value: {b: [1, 1.50, 1e400], a: <x>}", "x: 1",
			[]string{"c/a.yaml:42:3: properties[5].value: no value"},
		},
		{
			"no head", "name: kiln.v1, replaces: kiln.v0", "name: kiln.v1, replaces: kiln.v3",
			[]string{"c/a.yaml:12:1: entries: the catalog is invalid"},
		},
		{
			"an entry without a bundle", "- name: kiln.v2", "- {name: kiln.v9, replaces: kiln.v2}\n- name: kiln.v2",
			[]string{"c/a.yaml:20:1: entries: the catalog is invalid"},
		},
		{
			"broken text and a wrong type", "- name: kiln.v2\n---\nschema: olm.bundle", "- name: [kiln.v2\n---\nschema: 1",
			[]string{"c/a.yaml:20:9: ", "c/a.yaml:22:9: "},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(kiln, tt.old) != 1 {
				t.Fatalf("%q is %d times in the catalog", tt.old, strings.Count(kiln, tt.old))
			}
			src := source("a.yaml", strings.Replace(kiln, tt.old, tt.new, 1))
			var b bytes.Buffer
			err := store.Write(t.Context(), &b, keyOf(t, src), store.BuildOptions{HTTP: true}, src)
			if err == nil {
				t.Fatal("there is no error")
			}
			lines := strings.Split(err.Error(), "\n")
			for i, want := range tt.want {
				if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
					t.Errorf("got\n%v\nwant, in line %d,\n%s", err, i+1, want)
				}
			}
		})
	}
}

// TestUnvalidated checks that problems that only package validate reports do not make a store unusable.
func TestUnvalidated(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new string // of kiln
	}{
		{"a version that is none", "version: 1.0.0}", "version: v1}"},
		{"an entry twice", "- name: kiln.v2", "- name: kiln.v2\n- name: kiln.v2"},
		{
			"a bundle in no channel", "schema: olm.deprecations\n", "schema: olm.bundle\npackage: kiln\nname: kiln.v4\n" +
				"properties: [{type: olm.package, value: {packageName: kiln, version: 4.0.0}}]\n---\nschema: olm.deprecations\n",
		},
		{"no default channel", "defaultChannel: stable", "defaultChannel: alpha"},
		{"an unknown package", "package: kiln\nname: beta", "package: oven\nname: beta"},
		{"a channel twice", "name: beta\nentries", "name: stable\nentries"},
		{"no package", "schema: olm.deprecations\npackage: kiln", "schema: olm.deprecations"},
		{
			"a bundle twice", "schema: olm.deprecations\n", "schema: olm.bundle\npackage: kiln\nname: kiln.v2\n" +
				"properties: [{type: olm.package, value: {packageName: kiln, version: 4.0.0}}]\n---\nschema: olm.deprecations\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(kiln, tt.old) != 1 {
				t.Fatalf("%q is %d times in the catalog", tt.old, strings.Count(kiln, tt.old))
			}
			s := build(t, store.BuildOptions{HTTP: true}, source("a.yaml", strings.Replace(kiln, tt.old, tt.new, 1)))
			for _, answer := range answers(s) {
				if strings.Contains(answer, store.ErrDataLoss.Error()) {
					t.Error(answer)
				}
			}
		})
	}
}

// TestUnservableTogether checks that all problems are reported, sorted by position.
func TestUnservableTogether(t *testing.T) {
	src := source(
		"a.yaml", "schema: olm.package\nname: p\n---\nschema: olm.bundle\npackage: p\nname: b\n",
		"b.yaml", "schema: 1\n---\nschema: olm.bundle\npackage: p\nname: c\n",
	)
	key := keyOf(t, src)
	path := filepath.Join(t.TempDir(), "store")
	err := store.Build(t.Context(), path, key, store.BuildOptions{}, src)
	if err == nil {
		t.Fatal("there is no error")
	}
	var places []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		places = append(places, strings.Join(strings.SplitN(line, ":", 4)[:3], ":"))
	}
	want := []string{"c/a.yaml:4:1", "c/b.yaml:1:9", "c/b.yaml:3:1"}
	if !slices.Equal(places, want) {
		t.Errorf("got\n%v\nat %q, want %q", err, places, want)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v, and there are %v", err, left)
	}
	if s, err := store.Temp(t.Context(), filepath.Dir(path), key, store.BuildOptions{}, src); err == nil {
		s.Close()
		t.Error("Temp has no error")
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v, and there are %v", err, left)
	}
}

// TestBuildKeepsOld checks that a failed build keeps the existing file.
func TestBuildKeepsOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	src := source("a.yaml", kiln)
	key := keyOf(t, src)
	if err := store.Build(t.Context(), path, key, store.BuildOptions{}, src); err != nil {
		t.Fatal(err)
	}
	if err := store.Build(t.Context(), path, store.Key{1}, store.BuildOptions{}, src); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a catalog that is not that of the key: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Build(ctx, path, key, store.BuildOptions{}, src); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
	s, err := store.Open(path, key)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	nowhere := filepath.Join(t.TempDir(), "gone", "store")
	if err := store.Build(t.Context(), nowhere, key, store.BuildOptions{}, src); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// TestWriteFails checks that a full disk is reported, whichever write fails.
func TestWriteFails(t *testing.T) {
	src := source("a.yaml", kiln)
	key := keyOf(t, src)
	full := errors.New("no space left on device")
	data, _ := image(t, store.BuildOptions{HTTP: true}, src)
	for room := 0; room < len(data); room += 997 {
		w := &limitedWriter{room: room, err: full}
		if err := store.Write(t.Context(), w, key, store.BuildOptions{HTTP: true}, src); !errors.Is(err, full) {
			t.Fatalf("with room for %d of %d bytes: %v", room, len(data), err)
		}
	}
}

type limitedWriter struct {
	room int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(w.room, len(p))
	w.room -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

// TestTemp checks that the store of Temp has no file name.
func TestTemp(t *testing.T) {
	dir, src := t.TempDir(), source("a.yaml", kiln)
	s, err := store.Temp(t.Context(), dir, keyOf(t, src), store.BuildOptions{}, src)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, and there are %v", err, left)
	}
	if n := len(listedNames(t, s)); n != 4 {
		t.Errorf("%d bundles are listed, want 4", n)
	}
	if _, err := store.Temp(t.Context(), filepath.Join(dir, "gone"), keyOf(t, src), store.BuildOptions{}, src); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
}

// TestBuildAtOnce checks that concurrent builders disturb neither each other nor readers.
func TestBuildAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	src := source("a.yaml", kiln)
	key := keyOf(t, src)
	if err := store.Build(t.Context(), path, key, store.BuildOptions{}, src); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				if err := store.Build(t.Context(), path, key, store.BuildOptions{}, src); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 20 {
				s, err := store.Open(path, key)
				if err != nil {
					t.Error(err)
					continue
				}
				if n := len(listedNames(t, s)); n != 4 {
					t.Errorf("%d bundles are listed, want 4", n)
				}
				s.Close()
			}
		})
	}
	group.Wait()
}

// killedBuild is the environment variable that makes the test binary build a store at a path repeatedly.
const killedBuild = "OPM_TEST_KILLED_BUILD"

// TestKilledBuild checks that a killed builder leaves a complete store or none.
func TestKilledBuild(t *testing.T) {
	src := source("a.yaml", kiln)
	key := keyOf(t, src)
	if path := os.Getenv(killedBuild); path != "" {
		for {
			_ = os.Remove(path)
			_ = store.Build(t.Context(), path, key, store.BuildOptions{HTTP: true}, src)
		}
	}
	for i := range 10 {
		path := filepath.Join(t.TempDir(), "store")
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledBuild$")
		cmd.Env = append(os.Environ(), killedBuild+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for { // until it has started to build
			if found, err := os.ReadDir(filepath.Dir(path)); err != nil || len(found) > 0 {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Duration(i) * 300 * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		s, err := store.Open(path, key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestChangingSource checks that a store is discarded if its source changes during the build.
func TestChangingSource(t *testing.T) {
	files := fstest.MapFS{"a.yaml": {Data: []byte(kiln)}}
	src := declcfg.Source{Name: "c", FS: files}
	key := keyOf(t, src)
	files["b.yaml"] = &fstest.MapFile{Data: []byte("schema: x\n")}
	var b bytes.Buffer
	if err := store.Write(t.Context(), &b, key, store.BuildOptions{}, src); !errors.Is(err, store.ErrChanged) {
		t.Errorf("got %v", err)
	}
}
