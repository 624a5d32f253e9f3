#!/bin/sh
# Fails if `go generate` changes, adds or removes a file of the working tree, committed or not.
set -eu

sums() { git ls-files -z --cached --others --exclude-standard | sort -zu | xargs -0r sha256sum 2>/dev/null || true; }

before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
sums >"$before"
go generate ./...
sums >"$after"
if ! diff "$before" "$after"; then
	echo 'these files are not what go generate makes: run make generate' >&2
	exit 1
fi
