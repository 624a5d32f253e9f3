package crdcheck

import (
	_ "embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

//go:embed rules.txt
var rulesText string

// Rules returns all rules: the reasons why either version of OLM refuses an update, and why an update cannot be
// checked.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.ParseRules(rulesText) })
