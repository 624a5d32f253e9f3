package hostile

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// TestDeepValues checks the memory to render objects with thousands of levels, whose indentation would take gigabytes.
func TestDeepValues(t *testing.T) {
	const depth = 4900
	dir := t.TempDir()
	attack.Write(t, filepath.Join(dir, "c.json"), func(w *bufio.Writer) {
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		fmt.Fprintf(w, `{"schema": "x", "name": "n", "values": [%s1]}`, strings.Repeat(deep+", ", 100))
	})
	for _, format := range []string{"json", "yaml"} {
		call := program.Call{Args: []string{"render", "c.json", "-o", format}, Dir: dir, Limit: attack.TooLong}
		r := call.Bounded(t, attack.FewBytes+40*attack.MB)
		if r.Code != 0 || !strings.Contains(r.Stdout, `"a"`) || len(r.Stdout) > 20*attack.MB {
			t.Errorf("%s: exit status %d, %d bytes, stderr %.300s", format, r.Code, len(r.Stdout), r.Stderr)
		}
	}
}
