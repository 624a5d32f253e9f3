#!/bin/sh
# Shows what opm does with the catalogs of examples/, and fails where it does not.
#
#	scripts/demo.sh PROGRAM
set -eu
opm=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT

show() {
	printf '\n$ opm %s\n' "$*"
	"$opm" "$@"
}

show validate examples/catalog
echo '(nothing to say: the catalog is fine)'

show list packages examples/catalog
show list channels examples/catalog
show list bundles examples/catalog
show updates examples/catalog --package kiln --channel stable
show updates examples/catalog --package kiln --channel stable --explain 1.0.0 1.1.1

show bundle validate examples/bundle
echo '(nothing to say: the bundle is fine)'

printf '\n$ opm render examples/catalog -o yaml\n'
"$opm" render examples/catalog -o yaml >"$out"
head -n 24 "$out"
echo "... ($(wc -l <"$out") lines in all)"

printf '\n$ opm validate examples/broken\n'
if "$opm" validate examples/broken; then
	echo 'a broken catalog was taken for a good one' >&2
	exit 1
fi
