#!/bin/sh
# Prints what CHANGELOG.md says about VERSION, such as v1.2.3: the section with the heading "## v1.2.3".
#
#	scripts/notes.sh VERSION
set -eu
notes=$(awk -v version="$1" '/^## / { found = $2 == version; next } found' CHANGELOG.md)
if [ -z "$notes" ]; then
	echo "CHANGELOG.md has no section \"## $1\": rename \"Unreleased\" before the release" >&2
	exit 1
fi
printf '%s\n' "$notes"
