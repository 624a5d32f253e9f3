#!/bin/sh
# Makes packages of the programs that release.sh left in DIRECTORY, and adds their checksums to checksums.txt: an archive for
# each platform, and deb, rpm and apk for those of Linux. Then writes a formula for Homebrew (opm.rb) and a manifest for krew
# (opm.krew.yaml), which name the archives of the release VERSION. OPM is a program of the same version for this machine.
#
#	scripts/packages.sh DIRECTORY VERSION OPM
set -eu
out=$(cd "$1" && pwd)
version=$2
opm=$3
nfpm="go tool -modfile=tools/go.mod nfpm"
home=https://github.com/opm-toolchain/opm
short='Toolchain for file-based catalogs of Kubernetes Operators'

# One commit makes the same packages each time.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022

# The version of packages is a semantic version, also between releases.
case $version in
v[0-9]*) number=${version#v} ;;
*) number=0.0.0+$(printf %s "$version" | tr -c '0-9A-Za-z' .) ;;
esac

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
rm -f "$out"/*.deb "$out"/*.rpm "$out"/*.apk "$out"/opm-*-*.tar.gz "$out/opm.rb" "$out/opm.krew.yaml"

archive() { # archive OS ARCH PROGRAM
	dir=$stage/$1-$2
	name=opm
	[ "$1" != windows ] || name=opm.exe
	install -D -m 755 "$3" "$dir/$name"
	install -m 644 LICENSE "$dir/LICENSE"
	install -d "$dir/man1"
	install -m 644 docs/man/*.1 "$dir/man1"
	tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=ustar -cf - \
		LICENSE man1 "$name" | gzip -9n >"$out/opm-$1-$2.tar.gz"
}

packages() { # packages ARCH PROGRAM
	root=$stage/root-$1
	sh scripts/install.sh "$2" "$opm" "$root"
	cat >"$stage/nfpm.yaml" <<-END
		name: opm
		arch: $1
		version: "$number"
		section: utils
		maintainer: opm maintainers <opm-toolchain@users.noreply.github.com>
		homepage: $home
		license: Apache-2.0
		description: |
		  $short
		  Validate, render, compare, draw and publish catalogs, and serve them
		  to the Operator Lifecycle Manager.
		contents:
		- {src: $root/bin, dst: /usr/bin, type: tree}
		- {src: $root/share/man, dst: /usr/share/man, type: tree}
		- {src: $root/share/bash-completion, dst: /usr/share/bash-completion, type: tree}
		- {src: $root/share/fish, dst: /usr/share/fish, type: tree}
		- {src: $root/share/zsh, dst: /usr/share/zsh, type: tree, packager: rpm}
		- {src: $root/share/zsh, dst: /usr/share/zsh, type: tree, packager: apk}
		- {src: $root/share/zsh/site-functions/_opm, dst: /usr/share/zsh/vendor-completions/_opm, packager: deb}
		- {src: LICENSE, dst: /usr/share/doc/opm/copyright, packager: deb}
		- {src: LICENSE, dst: /usr/share/licenses/opm/LICENSE, packager: rpm}
	END
	for packager in deb rpm apk; do
		$nfpm package --config "$stage/nfpm.yaml" --packager "$packager" --target "$out" >/dev/null
	done
}

for file in "$out"/*-opm "$out"/*-opm.exe; do
	[ -f "$file" ] || continue
	platform=${file##*/}
	os=${platform%%-*}
	arch=${platform#*-}
	arch=${arch%%-*}
	archive "$os" "$arch" "$file"
	[ "$os" != linux ] || packages "$arch" "$file"
done

cd "$out"
grep -Ev ' (.*\.(deb|rpm|apk)|opm-[a-z0-9]*-[a-z0-9]*\.tar\.gz)$' checksums.txt >"$stage/checksums.txt"
sha256sum -- *.deb *.rpm *.apk opm-*-*.tar.gz >>"$stage/checksums.txt"
cat "$stage/checksums.txt" >checksums.txt

# archives OS prints ARCH SHA256 for each archive for OS in checksums.txt.
archives() { sed -n "s/^\([0-9a-f]*\)  opm-$1-\([a-z0-9]*\)\.tar\.gz\$/\2 \1/p" checksums.txt; }

formula_of() { # formula_of BLOCK OS prints the part of the formula about an operating system
	echo "  on_$1 do"
	archives "$2" | while read -r arch sum; do
		case $arch in amd64) arch_block=on_intel ;; arm64) arch_block=on_arm ;; *) continue ;; esac
		printf '    %s do\n      url "%s"\n      sha256 "%s"\n    end\n' \
			"$arch_block" "$home/releases/download/$version/opm-$2-$arch.tar.gz" "$sum"
	done
	echo "  end"
}

cat >opm.rb <<END
class Opm < Formula
  desc "$short"
  homepage "$home"
  version "$number"
  license "Apache-2.0"

$(formula_of macos darwin)

$(formula_of linux linux)

  def install
    bin.install "opm"
    bin.install_symlink "opm" => "kubectl-opm"
    man1.install Dir["man1/*"]
    generate_completions_from_executable(bin/"opm", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/opm --version")
  end
end
END

{
	cat <<-END
		apiVersion: krew.googlecontainertools.github.com/v1alpha2
		kind: Plugin
		metadata:
		  name: opm
		spec:
		  version: v$number
		  homepage: $home
		  shortDescription: $short
		  description: |
		    Validate, render, compare, draw and publish the catalogs of Operators, and
		    serve them to the Operator Lifecycle Manager (OLM).
		  platforms:
	END
	for os in darwin linux windows; do
		name=opm
		[ "$os" != windows ] || name=opm.exe
		archives "$os" | while read -r arch sum; do
			cat <<-END
				  - selector:
				      matchLabels:
				        os: $os
				        arch: $arch
				    uri: $home/releases/download/$version/opm-$os-$arch.tar.gz
				    sha256: $sum
				    bin: $name
				    files:
				    - from: $name
				      to: .
				    - from: LICENSE
				      to: .
			END
		done
	done
} >opm.krew.yaml
