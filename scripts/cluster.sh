#!/bin/sh
# Builds kube-apiserver from its Go module, unless it is there, and asks it with opm (test/cluster). Needs etcd.
#
#	scripts/cluster.sh DIR
set -eu
version=1.36.3

command -v etcd >/dev/null || {
	echo 'cluster: etcd is missing: apt-get install etcd-server' >&2
	exit 1
}
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if ! [ -x "$dir/kube-apiserver-$version" ]; then
	cd "$dir"
	printf 'module cluster\n\ngo 1.26\n' >go.mod
	# The module names its parts without their versions, which follow from its own.
	gomod=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	go mod edit -require="k8s.io/kubernetes@v$version"
	awk '$2 == "v0.0.0" { print $1 }' "$gomod" | while read -r part; do
		go mod edit -require="$part@v0.${version#1.}"
	done
	GOFLAGS=-mod=mod CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "kube-apiserver-$version" \
		k8s.io/kubernetes/cmd/kube-apiserver
	cd - >/dev/null
fi
OPM_KUBE_APISERVER="$dir/kube-apiserver-$version" go -C test test -tags cluster -vet=off -count=1 ./cluster
