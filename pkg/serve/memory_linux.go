package serve

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/opm-toolchain/opm/internal/serve/store"
)

// inMemory builds the store in an anonymous file in memory.
func inMemory(ctx context.Context, c content) (*store.Store, error) {
	fd, err := unix.MemfdCreate("opm-serve", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "opm-serve")
	if err := store.Write(ctx, f, c.key, c.opts, c.sources...); err != nil {
		f.Close()
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return store.New(f, info.Size(), c.key)
}
