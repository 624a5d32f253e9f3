package image

import (
	"cmp"
	"fmt"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// ErrLimit is in the chain of errors that say that an image is larger than Limits allow.
var ErrLimit = tarfs.ErrLimit

// Limits bound the size of an image, which may come from anybody. Zero means the default. Archives have those of files.
type Limits struct {
	Manifest int64 // bytes of a manifest, an index or a config; 4 MB
	Layers   int   // layers of an image; 1,000
	Unpacked int64 // bytes that all layers of an image decompress to, holes of sparse files included; 8 GB
	Files    int   // files, directories and links of all layers of an image; 200,000
}

func (l Limits) manifest() int64 { return cmp.Or(l.Manifest, 4<<20) }
func (l Limits) layers() int     { return cmp.Or(l.Layers, 1000) }
func (l Limits) unpacked() int64 { return cmp.Or(l.Unpacked, 8<<30) }

// Archive returns the limits of reading the layers, or an archive.
func (l Limits) Archive() tarfs.Limits {
	return tarfs.Limits{Unpacked: l.unpacked(), Entries: cmp.Or(l.Files, 200_000), Names: 32 << 20}
}

// limitError returns an ErrLimit with a text.
func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, args...))
}

func bytesText(n int64) string { return plural.Bytes(n) }
