#!/bin/sh
# Reports what the init functions of a program's packages cost, since every command pays for them: the best of twenty
# runs, as a busy machine only adds to it. It fails only if all packages, or ours, allocate more than a limit there, which is the
# same on every machine.
#
#	scripts/startup.sh PROGRAM
set -eu
limit=7200000
own=300000

for _ in $(seq 20); do
	# init PACKAGE @0.1 ms, 0.2 ms clock, 300 bytes, 4 allocs
	GODEBUG=inittrace=1 "$1" version 2>&1 >/dev/null | awk '
		$1 == "init" { ms += $5; bytes += $8 }
		$1 == "init" && ($2 == "main" || $2 ~ /opm-toolchain/) { ours += $5; own += $8 }
		END { if (ms) print ms, bytes, ours, own }'
done | sort -n | awk -v limit="$limit" -v own="$own" '
	NR == 1 {
		printf "all packages are initialized in %.1f ms (%d kB allocated, limit %d kB), ours in %.1f ms (%d kB, limit %d kB)\n",
			$1, $2 / 1000, limit / 1000, $3, $4 / 1000, own / 1000
		over = $2 > limit || $4 > own
	}
	END { exit NR != 20 || over }'
ls -l "$1" | awk '{ printf "the binary has %.1f MB\n", $5 / 1e6 }'
