package crdcheck

import (
	_ "embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

//go:embed rules.txt
var rulesText string

// Rules returns the table of all rules: those of both versions of OLM, and why an update cannot be checked.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.ParseRules(rulesText) })
