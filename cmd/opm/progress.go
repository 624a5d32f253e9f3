package main

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// newStderr returns standard error for text, through a console if it is a terminal.
func newStderr() io.Writer {
	if console.IsTerminal(os.Stderr) {
		return legible.NewWriter(console.New(os.Stderr))
	}
	return legible.NewWriter(os.Stderr)
}

// consoleOf returns the console that standard error of a command goes to, nil if it is no terminal.
func consoleOf(cmd *cobra.Command) *console.Console {
	c, _ := legible.Unwrap(cmd.ErrOrStderr()).(*console.Console)
	return c
}

// progress shows the activity of the command on a terminal; see [console.Console.Start].
func progress(cmd *cobra.Command, what string) (done func()) {
	if c := consoleOf(cmd); c != nil {
		return c.Start(what)
	}
	return func() {}
}

// workOf returns the progress counters of the command. They are not shown if standard error is not a terminal.
func workOf(cmd *cobra.Command) *console.Work {
	if c := consoleOf(cmd); c != nil && c.Work() != nil {
		return c.Work()
	}
	return new(console.Work)
}

// showOpening makes opts count the opened references and the bytes read.
func showOpening(cmd *cobra.Command, opts *render.Options, refs []string) {
	w := workOf(cmd)
	w.Count(len(refs), "references")
	w.Go(func(stopped func() bool) { w.Size(sizeOfFiles(refs, stopped)) })
	opts.Opened = w.Did
	opts.Read = w.Read
}

// sizeOfFiles returns the number of bytes of the references to directories and files, as far as it got until it was
// stopped.
func sizeOfFiles(refs []string, stopped func() bool) (size int64) {
	for _, ref := range refs {
		if k := reference.Of(ref).Kind; k != reference.Directory && k != reference.File {
			continue
		}
		_ = filepath.WalkDir(ref, func(_ string, e fs.DirEntry, err error) error {
			if stopped() {
				return fs.SkipAll
			}
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
	if consoleOf(cmd) == nil {
		return
	}
	count := func(n int) { workOf(cmd).Downloaded(n) } // of what is being done then
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
