#!/bin/sh
# Runs every fuzz target, one after the other. All are in the main module.
#
#	scripts/fuzz.sh TIME-FOR-EACH
set -eu

list=$(go test -list '^Fuzz' ./...)
echo "$list" | awk '/^Fuzz/ { names[n++] = $1 } /^ok/ { while (n) print $2, names[--n] }' |
	while read -r package target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 1s "$package" </dev/null
	done
