package image

import (
	"cmp"
	"fmt"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// ErrLimit is wrapped by errors about images that exceed the Limits.
var ErrLimit = tarfs.ErrLimit

// Limits bound the size of an untrusted image. Zero means the default. Unpacked and Files apply to archives too.
type Limits struct {
	Manifest int64 // bytes of a manifest, an index or a config; default 4 MB
	Layers   int   // layers of an image; default 1,000
	Unpacked int64 // uncompressed bytes of all layers, including holes of sparse files; default 8 GB
	Files    int   // files, directories and links in all layers; default 200,000
}

func (l Limits) manifest() int64 { return cmp.Or(l.Manifest, 4<<20) }
func (l Limits) layers() int     { return cmp.Or(l.Layers, 1000) }
func (l Limits) unpacked() int64 { return cmp.Or(l.Unpacked, 8<<30) }

// Archive returns the limits for reading layers or an archive.
func (l Limits) Archive() tarfs.Limits {
	return tarfs.Limits{Unpacked: l.unpacked(), Entries: cmp.Or(l.Files, 200_000), Names: 32 << 20}
}

// limitError returns an error that wraps ErrLimit.
func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

func bytesText(n int64) string { return plural.Bytes(n) }
