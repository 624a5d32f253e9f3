package image

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// ErrLimit is in the chain of errors that say that an image is larger than Limits allow.
var ErrLimit = errors.New("larger than allowed")

// Limits bound what an image may cost, since anybody can write one. A zero field stands for its default.
type Limits struct {
	Manifest int64 // bytes of a manifest, an index or a config; 4 MB
	Layers   int   // layers of an image; 1,000
	Unpacked int64 // bytes that all layers of an image decompress to, holes of sparse files included; 8 GB
	Files    int   // files, directories and links that are held of an image; 200,000
}

func (l Limits) manifest() int64 { return cmp.Or(l.Manifest, 4<<20) }
func (l Limits) layers() int     { return cmp.Or(l.Layers, 1000) }
func (l Limits) unpacked() int64 { return cmp.Or(l.Unpacked, 8<<30) }
func (l Limits) files() int      { return cmp.Or(l.Files, 200_000) }

// limitError says which limit, in words that go after the name of what is too large.
func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

// A budget is what is left of the limits while layers are read, by several goroutines at once.
type budget struct {
	limits   Limits
	unpacked atomic.Int64
	files    atomic.Int64
	names    atomic.Int64
}

// maxNames bounds the bytes that the names of what is held, and what links lead to, have together.
const maxNames = 32 << 20

// unpack takes n bytes out of the budget.
func (b *budget) unpack(n int64) error {
	if total := b.unpacked.Add(n); total > b.limits.unpacked() || total < 0 {
		return limitError("the layers decompress to more than %s", bytesText(b.limits.unpacked()))
	}
	return nil
}

// hold takes one file out of the budget, with a name of so many bytes.
func (b *budget) hold(name int) error {
	if b.names.Add(int64(name)) > maxNames {
		return limitError("the names of the files and links that would have to be held have more than %s",
			bytesText(maxNames))
	}
	if b.files.Add(1) > int64(b.limits.files()) {
		return limitError("more than %d files and links would have to be held", b.limits.files())
	}
	return nil
}

// reader counts what is read from r.
func (b *budget) reader(r io.Reader) io.Reader { return budgetReader{b, r} }

type budgetReader struct {
	budget *budget
	r      io.Reader
}

func (r budgetReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if limit := r.budget.unpack(int64(n)); limit != nil {
		return 0, limit
	}
	return n, err
}

// bytesText prints a number of bytes for people.
func bytesText(n int64) string {
	const units = " KMGTPE"
	i, whole := 0, n
	for whole >= 1024 && whole%1024 == 0 {
		whole /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d %cB", whole, units[i])
}
