package render_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// write makes a file below dir, and returns its path.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// archived returns files, given as name and content by turns, as an archive.
func archived(t testing.TB, compress bool, namesAndContents ...string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.Writer = &out
	closers := []func() error{}
	if compress {
		z := gzip.NewWriter(&out)
		w, closers = z, append(closers, z.Close)
	}
	a := tar.NewWriter(w)
	closers = append(closers, a.Close)
	for i := 0; i < len(namesAndContents); i += 2 {
		content := namesAndContents[i+1]
		header := &tar.Header{Name: namesAndContents[i], Mode: 0o644, Size: int64(len(content))}
		if err := a.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(a, content); err != nil {
			t.Fatal(err)
		}
	}
	for _, closer := range slices.Backward(closers) {
		if err := closer(); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// rendered returns what references render to, or the error.
func rendered(ctx context.Context, refs []string, opts render.Options, level render.Migration, format declcfg.Format) (string, error) {
	opts.Changes.Migration = level
	c, err := render.Open(ctx, refs, opts)
	if err != nil {
		return "", err
	}
	defer c.Close()
	metas, err := c.Metas(ctx)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = declcfg.Write(ctx, &out, metas, declcfg.WriteOptions{Format: format, Edit: c.Edit})
	return out.String(), err
}
