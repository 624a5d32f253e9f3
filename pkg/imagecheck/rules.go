package imagecheck

import (
	_ "embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

//go:embed rules.txt
var rulesText string

// Rules returns all rules: the reasons why an image of a catalog cannot be pulled.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.ParseRules(rulesText) })
