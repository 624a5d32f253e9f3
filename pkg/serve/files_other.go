//go:build !unix

package serve

// openFiles returns the number of files and connections that the process may have open.
func openFiles() uint64 { return maxOpenFiles }
