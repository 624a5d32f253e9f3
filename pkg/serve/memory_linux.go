package serve

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// inMemory makes the store in a file that is in no directory.
func inMemory(
	ctx context.Context, key store.Key, opts store.BuildOptions, sources []declcfg.Source,
) (*store.Store, error) {
	fd, err := unix.MemfdCreate("opm-serve", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "opm-serve")
	if err := store.Write(ctx, f, key, opts, sources...); err != nil {
		f.Close()
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return store.New(f, info.Size(), key)
}
