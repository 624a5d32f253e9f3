// Package clusters attacks opm with the objects of clusters, and with questions about them.
package clusters

import (
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) { program.Main(m, "../../..") }
