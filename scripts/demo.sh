#!/bin/sh
# Shows what opm does with the catalogs of examples/. Run it in the root of the repository.
#
#	scripts/demo.sh PROGRAM
set -eu
opm=$1
out=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$out"
}
trap stop EXIT

show() {
	printf '\n$ opm %s\n' "$*"
	"$opm" "$@"
}

show validate examples/catalog
echo '(no problems)'

show list packages examples/catalog
show list channels examples/catalog
show list bundles examples/catalog
show updates examples/catalog --package kiln --channel stable
show updates examples/catalog --package kiln --channel stable --explain 1.0.0 1.1.1

show bundle validate examples/bundle
echo '(no problems)'

printf '\n$ opm render examples/catalog -o yaml\n'
"$opm" render examples/catalog -o yaml >"$out/yaml"
head -n 24 "$out/yaml"
echo "... ($(wc -l <"$out/yaml") lines in all)"

printf '\n$ opm validate examples/broken\n'
if "$opm" validate examples/broken; then
	echo 'a broken catalog passed validation' >&2
	exit 1
fi

show build examples/catalog --archive "$out/catalog.tar"
show list packages "$out/catalog.tar"

printf '\n$ opm serve examples/catalog --port 0 &\n'
"$opm" serve examples/catalog --addr localhost:0 --port-file "$out/port" 2>"$out/log" &
server=$!
while [ ! -f "$out/port" ] && kill -0 "$server" 2>/dev/null; do
	sleep 0.1
done
printf '\n$ go run ./examples/client localhost:%s\n' "$(cat "$out/port")"
go run ./examples/client "localhost:$(cat "$out/port")"
kill "$server"
wait "$server"
server=
