#!/bin/sh
# Takes the examples all the way, from a bundle to a client of a served catalog, with a registry on this machine. Run it
# in the root of the repository.
#
#	scripts/demo.sh PROGRAM
set -eu
opm=$(realpath "$1")
out=$(mktemp -d)
pids=
stop() {
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	rm -rf "$out"
}
trap stop EXIT

# wait_for FILE PID waits until a program has written a file.
wait_for() {
	while [ ! -s "$1" ] && kill -0 "$2" 2>/dev/null; do
		sleep 0.1
	done
}

step() { printf '\n# %s\n' "$*"; }

show() {
	printf '$ opm %s\n' "$*"
	"$opm" "$@"
}

go build -o "$out" github.com/google/go-containerregistry/cmd/registry ./examples/client
cp -r examples "$out"
cd "$out/examples"

step "A registry, in place of registry.example"
"$out/registry" -port 0 2>"$out/registry.log" &
pids=$!
wait_for "$out/registry.log" "$pids"
registry=localhost:$(sed -n 's/.* port //p' "$out/registry.log")
printf '[[registry]]\nlocation = "registry.example"\n[[registry.mirror]]\nlocation = "%s"\ninsecure = true\n' \
	"$registry" >"$out/registries.conf"
export CONTAINERS_REGISTRIES_CONF="$out/registries.conf"
echo "$registry"

step "A bundle becomes an image"
show bundle validate bundle
echo "(no problems)"
show bundle build -d bundle -b none -t "$registry/pottery/kiln-bundle:v2.0.0" --use-http

step "A template becomes a catalog"
echo '$ opm render-template templates/semver.yaml -o yaml > kiln.yaml'
"$opm" render-template templates/semver.yaml -o yaml >kiln.yaml
show list channels kiln.yaml

step "Its package joins another one in a composite catalog"
sed 's|catalog/kiln .*|kiln.yaml|' crafts.yaml >demo.yaml
echo '$ cat demo.yaml'
cat demo.yaml
show compose demo.yaml

step "Is it valid? What does OLM install? Where do users of the published catalog update to?"
show validate crafts
show resolve crafts --package kiln --olm classic
show updates catalog --package kiln --channel stable --all

step "What is wrong is reported with its place"
if show validate broken; then
	echo 'a broken catalog passed validation' >&2
	exit 1
fi

step "The catalog becomes an image, without a container engine, and is pushed"
show build crafts -t "$registry/pottery/crafts:v1" --push --use-http
show list packages registry.example/pottery/crafts:v1

step "It is served from the image, and queried"
echo '$ opm serve registry.example/pottery/crafts:v1 &'
"$opm" serve registry.example/pottery/crafts:v1 --addr localhost:0 --port-file "$out/port" 2>"$out/log" &
server=$!
pids="$pids $server"
wait_for "$out/port" "$server"
echo '$ go run ./examples/client localhost:50051'
"$out/client" "localhost:$(cat "$out/port")"
kill "$server"
wait "$server"
