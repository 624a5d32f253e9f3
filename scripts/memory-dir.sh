#!/bin/sh
# Print a directory in memory for the temporary files of tests, which a file system on a disk slows down, or nothing: for
# systems without /dev/shm, with little room there, or which run no programs from there. Usage: memory-dir.sh
set -eu

dir=/dev/shm
free=$(df -Pk "$dir" 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${free:-0}" -ge 4000000 ] || exit 0
probe=$(mktemp "$dir/opm-probe-XXXXXX" 2>/dev/null) || exit 0
trap 'rm -f "$probe"' EXIT
printf '#!/bin/sh\n' >"$probe"
chmod +x "$probe"
if "$probe" 2>/dev/null; then
	echo "$dir"
fi
