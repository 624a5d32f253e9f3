package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// pushFiles pushes an image with the given files. The content of a link is an arrow and its target.
func pushFiles(t *testing.T, ref string, files [][2]string) {
	t.Helper()
	var entries []string
	for _, f := range files {
		if target, ok := strings.CutPrefix(f[1], "-> "); ok {
			entries = append(entries, f[0]+"->"+target)
		} else {
			entries = append(entries, f[0]+"="+f[1])
		}
	}
	layer := tartest.Tar(t, entries...)
	opened, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, opened)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, img); err != nil {
		t.Fatal(err)
	}
}

// TestUnpackHostile checks that no file or link of an image is written outside the directory that it is unpacked into.
func TestUnpackHostile(t *testing.T) {
	host := newRegistry(t)
	const file = "manifests/a.yaml"
	for _, test := range []struct {
		name   string
		files  [][2]string
		stderr string // part of it; "" is for what succeeds
	}{
		{"links", [][2]string{{file, "a"}, {"more/link", "-> ../" + file}}, ""},
		{"absolute", [][2]string{{file, "a"}, {"link", "-> /etc/passwd"}}, ""}, // as from the root of the image
		{"up", [][2]string{{file, "a"}, {"more/link", "-> ../../b"}}, `more/link: a link to "../../b"`},
		{"in-two-steps", [][2]string{{"a/up", "-> .."}, {"a/out", "-> up/../b"}}, `a/out: a link to "up/../b"`},
		{"through-a-link", [][2]string{{"out", "-> ../outside"}, {"out/b", "b"}}, ""},
		{"climbs", [][2]string{{file, "a"}, {"../outside/b", "b"}}, ""},
		{"rooted", [][2]string{{"/" + file, "a"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ref := host + "/" + test.name + ":v1"
			pushFiles(t, ref, test.files)
			dir := t.TempDir()
			outside := filepath.Join(dir, "outside")
			if err := os.Mkdir(outside, 0o777); err != nil {
				t.Fatal(err)
			}
			got := opm(t, dir, "bundle unpack --skip-validation --use-http --out out "+ref)
			if !strings.Contains(got.stderr, test.stderr) || test.stderr != "" && got.code != 1 {
				t.Errorf("got code %d, stderr %s, want %q", got.code, got.stderr, test.stderr)
			}
			if target, _ := os.Readlink(filepath.Join(dir, "out", "link")); filepath.IsAbs(target) {
				t.Errorf("a link to %s", target)
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
				t.Errorf("outside of the directory: %v, %v", entries, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); (err == nil) != (got.code == 0) {
				t.Errorf("code %d, directory: %v", got.code, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 2 {
				t.Errorf("beside the directory: %v, %v", entries, err)
			}
		})
	}
}

// TestUnpackTLS checks which TLS flags allow plain HTTP; the flags have the same meaning as in upstream.
func TestUnpackTLS(t *testing.T) {
	for _, test := range []struct {
		flag     string
		insecure bool // plain HTTP is allowed
	}{
		{"--skip-tls-verify", false},
		{"--use-http", true},
		{"--skip-tls", true},
		{"-s", true},
		{"-v", false},
	} {
		root := rootCmd(nil, "")
		root.SetErr(io.Discard)
		cmd, args, err := root.Find([]string{"bundle", "unpack", test.flag})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Flags().SetOutput(io.Discard)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		f := imageFlags{verifyOnly: true}
		if opts, err := f.options(cmd); err != nil || opts.Insecure != test.insecure {
			t.Errorf("%s: got %v, %v, want %v", test.flag, opts.Insecure, err, test.insecure)
		}
	}
}
