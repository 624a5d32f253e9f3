package tarfs

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/spool"
)

// ErrLimit is wrapped by errors about an archive that is larger than its Limits.
var ErrLimit = spool.ErrLimit

// Limits bound the size of an untrusted archive, or of all layers of a union. Zero means no limit.
type Limits struct {
	Unpacked int64 // decompressed bytes, including holes of sparse files
	Entries  int   // files, directories and links
	Names    int64 // bytes of all names and link targets
}

// A budget is the used part of the limits. Several goroutines may share it.
type budget struct {
	limits   Limits
	unpacked atomic.Int64
	entries  atomic.Int64
	names    atomic.Int64
}

// unpack counts n decompressed bytes.
func (b *budget) unpack(n int64) error {
	total, limit := b.unpacked.Add(n), b.limits.Unpacked
	if limit > 0 && (total > limit || total < 0) {
		return fmt.Errorf("%w: more than %s in total when decompressed", ErrLimit, plural.Bytes(limit))
	}
	return nil
}

// add counts one entry, with names of the given size in bytes.
func (b *budget) add(name int) error {
	names, entries := b.names.Add(int64(name)), b.entries.Add(1)
	if limit := b.limits.Names; limit > 0 && names > limit {
		return fmt.Errorf("%w: the names of files and links have more than %s in total", ErrLimit, plural.Bytes(limit))
	}
	if limit := b.limits.Entries; limit > 0 && entries > int64(limit) {
		return fmt.Errorf("%w: more than %d files, directories and links", ErrLimit, limit)
	}
	return nil
}

// reader counts the bytes read from r, and stops when the context is done.
func (b *budget) reader(ctx context.Context, r io.Reader) io.Reader { return budgetReader{ctx, b, r} }

type budgetReader struct {
	ctx    context.Context
	budget *budget
	r      io.Reader
}

func (r budgetReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if limit := r.budget.unpack(int64(n)); limit != nil {
		return 0, limit
	}
	return n, err
}
