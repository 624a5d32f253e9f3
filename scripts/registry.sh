#!/bin/sh
# Serves the published catalogs, asks everything that they can be asked, and fails where an answer is not that of
# DIRECTORY/registry, which README.md there explains.
#
#	scripts/registry.sh PROGRAM DIRECTORY
set -eu
opm=$1
dir=$(cd "$2" && pwd)
shared=$(dirname "$dir")

if [ ! -d "$dir/registry" ] || [ ! -d "$shared/tools/regdump" ]; then
	echo "registry: skipped, $dir/registry or $shared/tools/regdump is not there"
	exit 0
fi

tmp=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$tmp"
}
trap stop EXIT

# The tool is a module of its own, and stays as it is.
go build -C "$shared/tools/regdump" -mod=readonly -buildvcs=false -o "$tmp/regdump" .

# serve starts a server of a catalog and waits until its port is open, which is before it is ready.
serve() {
	"$opm" serve "$1" --addr localhost:0 --port-file "$tmp/port" 2>"$tmp/log" &
	server=$!
	for _ in $(seq 100); do
		[ ! -f "$tmp/port" ] || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$tmp/log"
	exit 1
}

for dump in "$dir"/registry/*.jsonl.gz; do
	version=$(basename "$dump" .jsonl.gz)
	serve "$shared/data/catalogs/$version"
	"$tmp/regdump" -hash "localhost:$(cat "$tmp/port")" >"$tmp/got"
	kill "$server"
	if ! wait "$server"; then
		cat "$tmp/log"
		exit 1
	fi
	server=
	gunzip -c "$dump" >"$tmp/want"
	if ! diff "$tmp/want" "$tmp/got" >"$tmp/diff"; then
		head -c 4000 "$tmp/diff"
		echo "registry: opm serve does not answer for $version as it should" >&2
		exit 1
	fi
	echo "registry: $(wc -l <"$tmp/got") answers for $version are as they should be"
done
