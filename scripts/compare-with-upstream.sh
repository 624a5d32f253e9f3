#!/bin/sh
# Runs two programs, upstream's opm and ours, on copies of a catalog, and compares exit status, standard output and written
# files. Each line is a command with "same" or "differs". If something differs, it fails and keeps the differences.
#
#	scripts/compare-with-upstream.sh UPSTREAM OURS CATALOG-DIRECTORY
set -eu
if [ $# -ne 3 ] || [ ! -d "$3" ]; then
	echo "usage: $0 UPSTREAM OURS CATALOG-DIRECTORY" >&2
	exit 2
fi

out=$(mktemp -d "${TMPDIR:-/tmp}/compare-opm.XXXXXX")
failed=

# prepare makes the directory of one side, with its program and a copy of the catalog.
prepare() {
	program=$(command -v "$2") || {
		echo "$2: no such program" >&2
		rm -r "$out"
		exit 2
	}
	mkdir "$out/$1"
	ln -s "$(cd "$(dirname "$program")" && pwd)/$(basename "$program")" "$out/$1/opm"
	cp -R "$3" "$out/$1/catalog"
}

# both runs a command of both programs and compares a file that it writes: both FILE COMMAND...
both() {
	file=$1
	shift
	for side in upstream ours; do
		(
			cd "$out/$side"
			status=0
			./opm "$@" >stdout 2>stderr || status=$?
			echo "exit status $status" >>stdout
			mkdir "$file.result"
			mv stdout stderr "$file.result"
			[ ! -e "$file" ] || mv "$file" "$file.result"
		)
	done
	if diff -r -x stderr "$out/upstream/$file.result" "$out/ours/$file.result" >"$out/$file.diff"; then
		echo "same     opm $*"
	else
		echo "differs  opm $*: see $out/$file.diff"
		failed=1
	fi
}

prepare upstream "$1" "$3"
prepare ours "$2" "$3"
both validate validate catalog
both render-json render catalog -o json
both render-yaml render catalog -o yaml
both packages alpha list packages catalog
both channels alpha list channels catalog
both bundles alpha list bundles catalog
both graph alpha render-graph catalog
both migrated migrate catalog migrated
both catalog.Dockerfile generate dockerfile catalog

if [ -n "$failed" ]; then
	exit 1
fi
rm -r "$out"
