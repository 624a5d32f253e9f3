package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A slimCheck keeps and changes the values that it is given, as checks may.
type slimCheck struct {
	added, failed int
	err           error
}

func (c *slimCheck) Object(_ int, _ *declcfg.Object, value any, _ error) any {
	return declcfg.Slim(value)
}

func (c *slimCheck) Add(_ int, _ *declcfg.Meta, _ any, err error) {
	if err != nil {
		c.failed++
		return
	}
	c.added++
}

func (c *slimCheck) Done(context.Context) error { return c.err }

// TestCheck checks that a Check is called with all objects and does not affect the store.
func TestCheck(t *testing.T) {
	want, key := smallStore(t)
	src := declcfg.Source{Name: "c", FS: fstest.MapFS{"a.json": {Data: []byte(small)}}}
	check := &slimCheck{}
	var got bytes.Buffer
	err := Write(t.Context(), &got, key, BuildOptions{HTTP: true, Check: check}, src)
	if err != nil || !bytes.Equal(got.Bytes(), want) || check.added != 6 || check.failed != 0 {
		t.Errorf("%v, %d bytes, %d added, %d failed, want %d bytes, 6 added", err, got.Len(), check.added, check.failed, len(want))
	}
	broken := declcfg.Source{Name: "c", FS: fstest.MapFS{"a.json": {Data: []byte(`{"schema":"olm.package"}{`)}}}
	check = &slimCheck{err: errors.New("invalid")}
	if err := Write(t.Context(), io.Discard, key, BuildOptions{Check: check}, broken); !errors.Is(err, check.err) {
		t.Errorf("got %v, want that of the check", err)
	}
	if check.added != 1 || check.failed != 1 {
		t.Errorf("%d added, %d failed, want one each", check.added, check.failed)
	}
}
