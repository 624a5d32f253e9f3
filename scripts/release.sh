#!/bin/sh
# Builds the programs of a release into DIRECTORY, each with a bill of materials (SBOM), the man pages, and checksums. The
# files have the names that goreleaser gives those of upstream: linux-amd64-opm, windows-amd64-opm.exe, checksums.txt.
#
#	scripts/release.sh DIRECTORY VERSION LDFLAGS OS/ARCH...
set -eu
out=$1
version=$2
ldflags=$3
shift 3

mkdir -p "$out"
rm -f "$out"/*-opm "$out"/*-opm.exe "$out"/*.sbom.json "$out"/checksums.txt
for platform; do
	name=${platform%/*}-${platform#*/}-opm
	case $platform in windows/*) name=$name.exe ;; esac
	echo "$out/$name"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
		go build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$out/$name" ./cmd/opm
done

out=$(cd "$out" && pwd)
go -C tools run ./sbom "$version" "$out"/*-opm*
git -C docs/man archive --format=tar.gz --prefix=man1/ -o "$out/opm-man.tar.gz" HEAD .
cd "$out"
sha256sum -- *-opm* opm-man.tar.gz >checksums.txt
