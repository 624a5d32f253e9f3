package render_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/tartest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// write creates a file below dir, and returns its path.
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

// archived returns files, given as alternating names and contents, as an archive.
func archived(t testing.TB, compress bool, namesAndContents ...string) string {
	t.Helper()
	var entries []string
	for pair := range slices.Chunk(namesAndContents, 2) {
		entries = append(entries, pair[0]+"="+pair[1])
	}
	data := tartest.Tar(t, entries...)
	if compress {
		data = tartest.Gzip(t, data)
	}
	return string(data)
}

// rendered returns the result of rendering references, or the error.
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
