//go:build !unix

package regular_test

import "testing"

// special adds nothing, because the file system has no special files.
func special(*testing.T, string, map[string]string) {}
