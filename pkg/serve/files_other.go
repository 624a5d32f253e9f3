//go:build !unix

package serve

// openFiles returns how many files and connections the process may have open.
func openFiles() uint64 { return maxOpenFiles }
