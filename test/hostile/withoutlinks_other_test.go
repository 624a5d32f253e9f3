//go:build !linux

package hostile

import (
	"os/exec"
	"testing"
)

func runWithoutLinks() {}

func withoutLinks(*exec.Cmd) {}

func requireWithoutLinks(t *testing.T) {
	t.Helper()
	t.Skip("needs Linux")
}
