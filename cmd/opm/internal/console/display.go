package console

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/reference"
)

// NewStderr returns standard error for text, through a console.
func NewStderr(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return legible.NewWriter(New(w))
	}
	return legible.NewWriter(NewLog(w))
}

// File returns what NewStderr got, for a program that may use it as a terminal.
func File(stderr io.Writer) io.Writer {
	if c := of(stderr); c != nil {
		return c.Terminal()
	}
	return legible.Unwrap(stderr)
}

// of returns the console of standard error, or nil if it has none.
func of(stderr io.Writer) *Console {
	c, _ := legible.Unwrap(stderr).(*Console)
	return c
}

// A Display shows the progress of a command on its standard error, if that is a terminal.
type Display struct{ Stderr io.Writer }

// OnTerminal reports whether progress is shown.
func (d Display) OnTerminal() bool {
	c := of(d.Stderr)
	return c != nil && c.OnTerminal()
}

// Start shows the name of the work until done is called; see [Console.Start]. The number of bytes to read is the total
// size of the directories and files among refs.
func (d Display) Start(what string, refs ...string) (done func()) {
	if !d.OnTerminal() {
		return func() {}
	}
	done = d.StartLogged(what)
	d.Size(refs)
	return done
}

// StartLogged is like Start, and also shows the progress if standard error is no terminal: a line a minute.
func (d Display) StartLogged(what string) (done func()) {
	if c := of(d.Stderr); c != nil {
		return c.Start(what)
	}
	return func() {}
}

// work returns the counters of the work started last, or nil if no progress is shown.
func (d Display) work() *Work { return of(d.Stderr).Work() }

// Size sets the number of bytes to read to the total size of the directories and files among refs.
func (d Display) Size(refs []string) {
	w := d.work()
	w.Go(func(stopped func() bool) { w.Size(sizeOfFiles(refs, stopped)) })
}

// Count sets the number of items that Did will count.
func (d Display) Count(total int, noun string) { d.work().Count(total, noun) }

// Expect adds to the number of bytes to copy.
func (d Display) Expect(bytes int64) { d.work().Expect(bytes) }

// Copied counts copied bytes of images.
func (d Display) Copied(bytes int64) { d.work().Copied(bytes) }

// Did counts an item.
func (d Display) Did(item string) { d.work().Did(item) }

// Read counts bytes of catalogs.
func (d Display) Read(bytes int64) { d.work().Read(bytes) }

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
