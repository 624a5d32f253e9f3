#!/bin/sh
# Runs tests under the race detector, which makes them up to ten times slower: those of the packages that start
# goroutines or guard against them, as their imports tell, and with -short. Left out are tests that start opm hundreds of
# times, one command after the other: what runs at once in it is tested by the packages that it calls.
set -eu
module=$(go list -m)
concurrent="sync|sync/atomic|golang.org/x/sync/[a-z]+|$module/internal/parallel"

packages=$(go list -f '{{.ImportPath}} {{join .Imports " "}} ' ./... | grep -E " ($concurrent) " | cut -d ' ' -f 1)
# shellcheck disable=SC2086 # one argument for each package
go test -race -short -skip '^(TestScripts|TestExamples|TestReadme)$' $packages
