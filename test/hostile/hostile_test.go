// Package hostile attacks opm with input that wants more time or memory than it deserves, and with peers that do.
// Every attack has a bound on both.
package hostile

import (
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) { program.Main(m, "../..") }
