package main

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// A work is what the command is doing, for the progress line. Its counters may change at any time.
type work struct {
	what string // such as "rendering"

	done, total      atomic.Int64 // of what is counted
	noun             atomic.Value // what is counted, in the plural
	current          atomic.Value // what was done last
	read, downloaded atomic.Int64 // bytes of catalogs and from registries
	size             atomic.Int64 // bytes of all files, once that is known
}

// count says that there are total things to do.
func (w *work) count(total int, noun string) {
	w.noun.Store(noun)
	w.total.Store(int64(total))
}

// did counts one of them.
func (w *work) did(current string) {
	w.current.Store(current)
	w.done.Add(1)
}

// line returns the progress line after some time, with at most so many columns.
func (w *work) line(after time.Duration, columns int) string {
	parts := []string{"opm: " + w.what}
	seconds := int(after.Seconds())
	if total := w.total.Load(); total > 1 {
		done := int(w.done.Load())
		parts[0] += fmt.Sprintf(" %s of %s %s", plural.Number(done), plural.Number(int(total)), w.noun.Load())
		if rate := done / max(seconds, 1); rate > 0 {
			parts = append(parts, plural.Number(rate)+"/s")
		}
	}
	switch n, size := w.read.Load(), w.size.Load(); {
	case n > 0 && n <= size: // and not read again to be written
		parts = append(parts, fmt.Sprintf("%s of %s read", plural.Bytes(n), plural.Bytes(size)))
	case n > 0:
		parts = append(parts, plural.Bytes(n)+" read")
	}
	if n := w.downloaded.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s downloaded, %s/s", plural.Bytes(n), plural.Bytes(n/int64(max(seconds, 1)))))
	}
	parts = append(parts, plural.Number(seconds)+" s")
	if current, ok := w.current.Load().(string); ok {
		parts = append(parts, legible.Name(current))
	}
	line := []rune(strings.Join(parts, ", "))
	if len(line) > columns {
		line = append(line[:max(columns-1, 0)], '…')
	}
	return string(line)
}

// workOf returns what the command is doing. Nobody sees what is counted if standard error is not a terminal.
func workOf(cmd *cobra.Command) *work {
	if c, ok := cmd.ErrOrStderr().(*console); ok {
		if w := c.work.Load(); w != nil {
			return w
		}
	}
	return &work{}
}

// showOpening makes opts count the references of the command and what is read of them.
func showOpening(cmd *cobra.Command, opts *render.Options, refs []string) {
	w := workOf(cmd)
	w.count(len(refs), "references")
	if _, ok := cmd.ErrOrStderr().(*console); ok {
		go func() { w.size.Store(sizeOfFiles(refs)) }()
	}
	opts.Opened = w.did
	opts.Read = func(bytes int64) { w.read.Add(bytes) }
}

// sizeOfFiles returns how many bytes the references have, as far as they are to directories and files.
func sizeOfFiles(refs []string) (size int64) {
	for _, ref := range refs {
		if k := reference.Of(ref).Kind; k != reference.Directory && k != reference.File {
			continue
		}
		_ = filepath.WalkDir(ref, func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if info, err := e.Info(); err == nil {
					size += info.Size()
				}
			}
			return nil // reading says what cannot be read
		})
	}
	return size
}

// showDownloads makes opts count what registries send.
func showDownloads(cmd *cobra.Command, opts *image.Options) {
	if _, ok := cmd.ErrOrStderr().(*console); !ok {
		return
	}
	count := func(n int) { workOf(cmd).downloaded.Add(int64(n)) }
	opts.Transport = countingTransport{opts.Transport, count}
	opts.InsecureTransport = countingTransport{opts.InsecureTransport, count}
}

// A countingTransport counts the bytes of bodies.
type countingTransport struct {
	http.RoundTripper
	count func(int)
}

func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = countingBody{response.Body, t.count}
	}
	return response, err
}

type countingBody struct {
	io.ReadCloser
	count func(int)
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count(n)
	return n, err
}
