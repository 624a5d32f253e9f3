package image

import "github.com/opm-toolchain/opm/internal/spool"

// SpoolOptions say where input is held that cannot be read twice, such as standard input, and what is unpacked from
// compressed archives. The zero value holds up to 64 MB in memory and more in the directory for temporary files.
type SpoolOptions struct {
	// Dir is tried first for the file that holds what does not fit into memory; os.TempDir is next.
	Dir string
	// MemoryLimit is how many compressed bytes are held in memory. Zero means 64 MB; a negative limit puts everything
	// above 512 KB into the file.
	MemoryLimit int64
	// FileLimit is how many compressed bytes are held in the file. Zero means 2 GB; more is an error.
	FileLimit int64
	// Warn is called once if no file can be written, so that more than the limit is held in memory. Nil drops the
	// warning.
	Warn func(message string)
}

func (o SpoolOptions) internal() spool.Options { return spool.Options(o) }
