#!/bin/sh
# Makes the image of opm, without a container engine, out of the programs that release.sh left in DIRECTORY: for each
# platform of Linux there. It goes to DIRECTORY/opm-image.tar or, if REFS is not empty, to each of these references,
# separated by spaces.
#
#	scripts/image.sh PROGRAM DIRECTORY REFS
set -eu
opm=$1
dir=$2
refs=$3

# The time of the commit, so that one commit makes one image.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

set --
for file in "$dir"/linux-*-opm; do
	arch=${file##*/linux-}
	set -- "$@" --platform "linux/${arch%-opm}" --opm-binary "linux/${arch%-opm}=$file"
done
for ref in $refs; do
	set -- "$@" --tag "$ref"
done
if [ -n "$refs" ]; then
	"$opm" build --only-opm "$@" --push
else
	"$opm" build --only-opm "$@" --archive "$dir/opm-image.tar"
fi
