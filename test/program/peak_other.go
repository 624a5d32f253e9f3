//go:build !unix

package program

import "os"

func forgetPeak() {}

// peak returns 0: this system does not report it.
func peak(*os.ProcessState) int64 { return 0 }
