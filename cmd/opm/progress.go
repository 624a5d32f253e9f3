package main

import (
	"io"
	"io/fs"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// newStderr returns standard error for text, through a console.
func newStderr(w io.Writer) io.Writer {
	if console.IsTerminal(w) {
		return legible.NewWriter(console.New(w))
	}
	return legible.NewWriter(console.NewLog(w))
}

// stderrFile returns standard error itself, for a program that may use it as a terminal.
func stderrFile(cmd *cobra.Command) io.Writer {
	if c := anyConsole(cmd); c != nil {
		return c.Terminal()
	}
	return legible.Unwrap(cmd.ErrOrStderr())
}

// consoleOf returns the console of a command's standard error, or nil if standard error is not a terminal.
func consoleOf(cmd *cobra.Command) *console.Console {
	if c := anyConsole(cmd); c != nil && c.OnTerminal() {
		return c
	}
	return nil
}

// anyConsole returns the console of a command's standard error, or nil if it has none.
func anyConsole(cmd *cobra.Command) *console.Console {
	c, _ := legible.Unwrap(cmd.ErrOrStderr()).(*console.Console)
	return c
}

// A display shows the progress of a command if standard error is a terminal.
type display struct{ cmd *cobra.Command }

// Start shows the name of the work until done is called; see [console.Console.Start]. The number of bytes to read is
// the total size of the directories and files among refs.
func (d display) Start(what string, refs ...string) (done func()) {
	c := consoleOf(d.cmd)
	if c == nil {
		return func() {}
	}
	done = c.Start(what)
	d.size(refs)
	return done
}

// StartLogged is like Start, and also shows the progress if standard error is no terminal: a line a minute.
func (d display) StartLogged(what string) (done func()) {
	if c := anyConsole(d.cmd); c != nil {
		return c.Start(what)
	}
	return func() {}
}

func (d display) size(refs []string) {
	w := d.work()
	w.Go(func(stopped func() bool) { w.Size(sizeOfFiles(refs, stopped)) })
}

// work returns the counters of the work started last, or nil if no progress is shown.
func (d display) work() *console.Work { return anyConsole(d.cmd).Work() }

// Count sets the number of items that Did will count.
func (d display) Count(total int, noun string) { d.work().Count(total, noun) }

// Expect adds to the number of bytes to copy.
func (d display) Expect(bytes int64) { d.work().Expect(bytes) }

// Copied counts copied bytes of images.
func (d display) Copied(bytes int64) { d.work().Copied(bytes) }

// Did counts an item.
func (d display) Did(item string) { d.work().Did(item) }

// Read counts bytes of catalogs.
func (d display) Read(bytes int64) { d.work().Read(bytes) }

// showOpening makes opts count the opened references and the bytes read.
func (d display) showOpening(opts *render.Options, refs []string) {
	if consoleOf(d.cmd) == nil {
		return
	}
	d.Count(len(refs), "references")
	d.size(refs)
	opts.Opened, opts.Read = d.Did, d.Read
}

// sizeOfFiles returns the total size in bytes of the directories and files among refs. If it is stopped, it returns the
// size so far.
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
			return nil // the command itself reports unreadable files
		})
	}
	return size
}

// showTransfers makes opts count the bytes received from registries and sent to them.
func showTransfers(cmd *cobra.Command, opts *image.Options) {
	if consoleOf(cmd) == nil {
		return
	}
	received := func(n int) { display{cmd}.work().Downloaded(n) } // of the work started last
	sent := func(n int) { display{cmd}.work().Uploaded(n) }
	opts.Transport = countingTransport{opts.Transport, received, sent}
	opts.InsecureTransport = countingTransport{opts.InsecureTransport, received, sent}
}

// A countingTransport counts the bytes of the bodies of responses and requests.
type countingTransport struct {
	http.RoundTripper
	received, sent func(int)
}

func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body := countingBody{r.Body, t.sent}
		r = r.Clone(r.Context())
		r.Body = body
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = countingBody{response.Body, t.received}
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
