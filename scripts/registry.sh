#!/bin/sh
# Serves the published catalogs of SHARED, asks everything that can be asked, and fails if an answer differs from upstream's
# in SHARED/conformance/registry. Without SHARED it is skipped.
#
#	scripts/registry.sh PROGRAM SHARED
set -eu
opm=$1
shared=$2
dumps=$shared/conformance/registry

if [ ! -d "$shared" ]; then
	echo "registry: skipped, no $shared"
	exit
fi

tmp=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$tmp"
}
trap stop EXIT

# The tool is a module of its own.
go build -C "$shared/tools/regdump" -mod=readonly -buildvcs=false -o "$tmp/regdump" .

# serve starts a server of a catalog and waits until its port is open.
serve() {
	rm -f "$tmp/port"
	"$opm" serve "$1" --addr localhost:0 --port-file "$tmp/port" 2>"$tmp/log" &
	server=$!
	while kill -0 "$server" 2>/dev/null; do
		[ ! -f "$tmp/port" ] || return 0
		sleep 0.1
	done
	cat "$tmp/log"
	exit 1
}

for dump in "$dumps"/*.jsonl.gz; do
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
		echo "registry: opm serve answers for $version differ from upstream" >&2
		exit 1
	fi
	echo "registry: $(wc -l <"$tmp/got") answers for $version equal those of upstream"
done
