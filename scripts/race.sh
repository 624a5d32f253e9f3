#!/bin/sh
# Runs all tests of the main module under the race detector, which makes them up to ten times slower: with -short, which reads
# less of the same. What -short shortens or skips is then run in full, without the race detector.
set -eu
go test -race -short -timeout=25m ./...

# The tests with a call of testing.Short, and their packages.
long=$(git grep -hE '^func Test|testing\.Short\(\)' -- '*_test.go' ':!test' ':!bench' |
	awk -F '[ (]' '/^func/ { name = $2 } /testing.Short/ { print name }' | sort -u | paste -sd '|')
packages=$(git grep -l 'testing\.Short()' -- '*_test.go' ':!test' ':!bench' | sed 's|^|./|; s|/[^/]*$||' | sort -u)
# shellcheck disable=SC2086 # one argument for each package
go test -run "^($long)\$" $packages
