// Package hostile attacks opm with files that could make it use too much time or memory. Every attack has a limit on both.
// The packages below attack it with peers and with objects of clusters. They are apart because tests that measure memory
// run one at a time in a package, and packages run beside each other.
package hostile

import (
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) {
	runWithoutLinks()
	program.Main(m, "../..")
}
