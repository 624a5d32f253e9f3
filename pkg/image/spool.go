package image

import "github.com/opm-toolchain/opm/internal/spool"

// SpoolOptions configure the buffer for input that cannot be read twice, such as standard input, and for the content
// of compressed archives. The zero value keeps up to 64 MB in memory and the rest in the directory for temporary
// files.
type SpoolOptions struct {
	// Dir is the preferred directory for the buffer file; os.TempDir is tried next.
	Dir string
	// MemoryLimit is the maximum number of compressed bytes in memory. Zero means 64 MB; a negative limit puts
	// everything above 512 KB into the file.
	MemoryLimit int64
	// FileLimit is the maximum number of compressed bytes in the file. Zero means 2 GB; more is an error.
	FileLimit int64
	// Warn is called once if no file can be written, so that more than the limit is kept in memory. Nil discards the
	// warning.
	Warn func(message string)
}

func (o SpoolOptions) internal() spool.Options { return spool.Options(o) }
