// Package hostile attacks opm with input and peers that could make it use too much time or memory. Every attack has a
// limit on both.
package hostile

import (
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) {
	runWithoutLinks()
	program.Main(m, "../..")
}
