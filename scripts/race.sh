#!/bin/sh
# Runs all tests of the main module once, under the race detector where that can find something. It makes tests up to ten
# times slower, so they run with -short, which reads less of the same. What -short shortens, and the tests that start opm
# again and again as a program of its own, then run in full without the race detector, as does the one that counts
# allocations. The argument is their time limit.
set -eu
programs='TestScripts|TestExamples|TestDocs|TestComposeKilled'
go test -race -short -skip "^($programs)\$" "$1" ./...

# The tests with a call of testing.Short, and their packages.
long=$(git grep -hE '^func Test|testing\.Short\(\)' -- '*_test.go' ':!test' ':!bench' |
	awk -F '[ (]' '/^func/ { name = $2 } /testing.Short/ { print name }' | sort -u | paste -sd '|')
packages=$(git grep -l 'testing\.Short()' -- '*_test.go' ':!test' ':!bench' | sed 's|^|./|; s|/[^/]*$||' | sort -u)
# shellcheck disable=SC2086 # one argument for each package
go test "$1" -run "^($programs|TestCounts|$long)\$" ./cmd/opm $packages
