#!/bin/sh
# Runs tests under the race detector, which makes them up to ten times slower: with -short, those of the packages whose
# imports show that they start goroutines or protect data from them. Tests that start opm hundreds of times are skipped: the
# packages that it calls have tests of their own.
set -eu
module=$(go list -m)
concurrent="sync|sync/atomic|golang.org/x/sync/[a-z]+|$module/internal/parallel"

packages=$(go list -f '{{.ImportPath}} {{join .Imports " "}} ' ./... | grep -E " ($concurrent) " | cut -d ' ' -f 1)
# shellcheck disable=SC2086 # one argument for each package
go test -race -short -skip '^(TestScripts|TestExamples|TestReadme)$' $packages
