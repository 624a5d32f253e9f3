package imagecheck

import (
	_ "embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

//go:embed rules.txt
var rulesText string

// Rules returns the table of all rules: why an image that a catalog names cannot be pulled.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.ParseRules(rulesText) })
