// Package peers attacks opm with peers: clients of opm serve, and registries.
package peers

import (
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) { program.Main(m, "../../..") }
