package test

import (
	"bytes"
	"os/exec"
	"testing"
)

// TestDemo checks the output of make demo, which ends with the bundle that a client finds in the served image.
func TestDemo(t *testing.T) {
	t.Parallel()
	opm, err := exec.LookPath("opm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "scripts/demo.sh", opm)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("\nloom, channel weekly: loom.v0.5.0\n")) {
		t.Errorf("%v: %s", err, out)
	}
}
